//! The keeper: one process per job that runs its steps and outlives none of them.
//!
//! `order.rs` says what agent and keeper tell each other, `handle.rs` is the agent's side, `serve.rs` the keeper's own.
//!
//! Never: a word to the orchestrator; a secret of ours; a process of the job left behind when it says `Finished`.

mod caches;
mod checkout;
mod copy;
mod course;
pub(crate) mod environment;
mod frames;
mod handle;
mod link;
pub mod order;
mod places;
mod problem;
mod reaper;
mod serve;
mod sweep;
mod tree;

pub use handle::{Idle, Keeper};
pub use order::{CacheOrder, Checkout, Choice, CopyOf, ExecutorKind, Finish, Limits, Order, Report, Say};
pub use serve::main;

pub(crate) use frames::OUTPUT_BYTES_MAX;
pub(crate) use link::Reports;
pub(crate) use places::Places;
pub(crate) use problem::Problem;
pub(crate) use reaper::Reaper;
pub(crate) use tree::{Tree, is_alive, own_start};
