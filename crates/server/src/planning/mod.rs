//! Planning: runs that were triggered without a plan get one from their repository, or are told why not.
//!
//! Two at a time. A cancel wins over a plan that comes later; a planner that fails takes one run with it and no other.
//!
//! Never: holds up a command, or runs anything that a repository names. Start at `worker.rs`.

mod gather;
mod one;
mod think;
mod worker;

pub use worker::run;
