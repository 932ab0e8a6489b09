//! One file per command: its flags and what it prints.

pub mod doctor;
pub mod explain;
pub mod machines;
pub mod runner;
pub mod server;
pub mod version;
