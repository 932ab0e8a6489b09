//! The keeper: one process per job that runs its steps and outlives none of them.

pub mod order;

pub use order::{Checkout, Choice, ExecutorKind, Finish, Limits, Order, Report, Say};
