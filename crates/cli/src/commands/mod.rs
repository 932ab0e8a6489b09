//! One file per command: its flags and what it prints.

pub mod artifact;
pub mod cancel;
pub mod completions;
pub mod doctor;
pub mod explain;
pub mod gc;
pub mod init;
pub mod logs;
pub mod machines;
pub mod outbox;
pub mod plan;
pub mod rerun;
pub mod run;
pub mod runner;
pub mod runs;
pub mod schema;
pub mod server;
pub mod show;
pub mod tenant;
pub mod token;
pub mod trigger;
pub mod version;
pub mod webhook;

mod named;
mod slots;
mod started;
