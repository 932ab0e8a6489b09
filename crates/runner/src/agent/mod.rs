//! The agent: asks for work, drives a session per lease, and does what the session wants done.
//!
//! Each slot is a runner of its own, with an id of its own and one job at a time. `run.rs` starts them, `slot.rs` is the
//! loop of one, `drive.rs` a lease from grant to end, `hold.rs` the side of it that deals with the keeper,
//! `gather.rs` the one that deals with what the job made.
//!
//! Never: a decision about the protocol, which is the session's; a job's process, which is the keeper's.

mod drive;
mod gather;
mod hands;
mod hold;
mod keepers;
mod messages;
mod orphans;
mod prepare;
mod run;
mod settings;
mod slot;
mod spec;
mod stop;
mod tap;

pub use hands::{Hands, Hire};
pub use keepers::Keepers;
pub use run::{Left, run};
pub use settings::{Ground, Network, Settings, default_name, runner_ids};
pub use stop::{Stop, on_signals};
pub use tap::{Seen, What};
