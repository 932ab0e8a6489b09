//! The protocol session: what a runner says, when, and what it does with its job, for one lease. No I/O.
//!
//! Whoever drives it feeds what happened (`handle_*`), then takes what to do (`poll_action`) and when to come back
//! (`poll_timeout`). Time is an argument, and so is jitter.
//!
//! ```text
//! Acking ──ack──► Running ──the keeper has finished──► Flushing ──the log is out──► Speaking ──answer──► over
//!    │               │  └──► Collecting ──artifacts are up──► │                         │
//!    └───────────────┴── StaleLease, lease run out ───────────┴─────────────────────────┴──► Silent ──► over
//! ```
//!
//! Never: a job before its lease is acknowledged; a job, or a word, past the lease's own deadline; a word after
//! `StaleLease`; the lease id, which only the agent holds.

mod answers;
mod artifacts;
mod job;
mod lease;
mod line;
mod machine;
mod upload;
mod verdict;
mod words;

pub use machine::Session;
pub use upload::LOG_CHUNK_BYTES_MAX;
pub use verdict::{Outcome, Verdict};
pub use words::{Action, Answer, Beat, Call, Collected, End, Plan, Request, Terms, Wanted, Which};
