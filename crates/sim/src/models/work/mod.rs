//! Work: jobs that runners lease, acknowledge, complete, lose and are asked to stop, alone or as a run of two.

mod begin;
mod cast;
mod play;
mod rules;

use std::time::Duration;

use decisions::Policy;

use super::search::{Stage, explore};
use super::story::Story;

pub use begin::{audience, create_run, job, run, tenant};
pub use cast::{Message, Saying};
pub use rules::names;

/// Who takes part, and how much may go wrong. Bounded by what runners may ask for, not by the length of a path.
#[derive(Debug, Clone)]
pub struct Work {
    pub setup: Setup,
    /// How often each runner may ask for a lease.
    pub asks: Vec<u8>,
    pub servers: usize,
    /// What runners may say besides AckLease.
    pub sayings: Vec<Saying>,
    pub cancel: bool,
    /// A person may ask for one more attempt after the first, if that has ended the job.
    pub retry: bool,
    pub policy: Policy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    /// One job of two attempts at most.
    Job { effect_once: bool },
    /// Two jobs of one attempt; the second needs the first, or they stand side by side.
    Run { fail_fast: bool, chained: bool },
}

impl Work {
    /// Goes through all worlds. Made here rather than where it is asked for: this crate is optimised in every build.
    pub fn explore(self) -> Result<usize, Story> {
        explore(Stage::real(self))
    }

    /// Deadlines of a few seconds, so that each is met before, at and after its moment.
    pub fn policy() -> Policy {
        let seconds = Duration::from_secs;
        Policy {
            ack_timeout: seconds(1),
            lease_ttl: seconds(2),
            cancel_deadline: seconds(1),
            job_timeout: seconds(3),
            timeout_buffer: seconds(0),
            run_timeout: seconds(4),
            lost_leases_max: 1,
            acks_missed_max: 2,
            runner_bar: seconds(1),
            last_seen_step: seconds(1_000_000),
            ..Policy::default()
        }
    }
}
