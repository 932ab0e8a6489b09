//! A pipeline on this machine, without a server: the engine inside this process, and a runner beside it.
//!
//! `run.rs` is a run from its plan to its end, `follow.rs` tells what happens in it, `interrupted.rs` deals with what a
//! process that died left open. `pipeline.rs` and `ground.rs` are where folders become plans and copies.
//!
//! Never: a port; two processes at work on one data directory; a process of a job after the end.

mod course;
pub mod data;
mod embedded;
mod follow;
mod ground;
pub mod happening;
mod interrupted;
pub mod pipeline;
pub mod reading;
mod run;
mod signals;
mod staff;

pub use interrupted::Resume;
pub use run::{Wanted, described, run};
