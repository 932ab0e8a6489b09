//! What clients saw: each thing they asked for, and whether it was done, was not done, or nobody can say.
//!
//! Whoever tries a system (the simulation, real processes under chaos) writes a [`History`] while it goes: [`History::invoke`]
//! before a request leaves, then [`History::ok`], [`History::fail`] or [`History::unknown`]. A timeout is *unknown*, never a
//! failure: it may have happened, then or later. [`check`] tells which promises the history breaks.
//!
//! Never: a look into the system's own records, a clock, a rule of a decision. A checker knows what a queue, a lease or a
//! counter promises, and nothing of how ours are made. One file per promise; all of them take one pass over the history.

mod counter;
mod growing;
mod lease;
mod op;
mod queue;
mod record;
mod set;
mod unique;

pub use op::Op;
pub use record::{Entry, History, OpId, Outcome};

use std::fmt;

/// A promise that was broken, and by what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Violation {
    pub rule: &'static str,
    pub what: String,
}

impl Violation {
    pub fn new(rule: &'static str, what: impl Into<String>) -> Violation {
        Violation { rule, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

/// The promises, in words.
pub mod rules {
    pub const INVENTED: &str = "nothing comes out of a queue that was not put in";
    pub const LOST: &str = "what was put into a queue comes out of it";
    pub const TOKENS_RISE: &str = "the tokens of a lease strictly rise";
    pub const STALE_WINS: &str = "who was followed by another holder changes nothing";
    pub const FINISHED_TWICE: &str = "at most one holder finishes";
    pub const LEASED_AFTER_END: &str = "what was finished is not leased again";
    pub const GIVEN_TWICE: &str = "a name is given out once";
    pub const COUNTED: &str = "a counter holds all that was counted, and nothing else";
    pub const SHRUNK: &str = "what grows never gets shorter";
    pub const FORGOTTEN: &str = "what was acknowledged is there";
    pub const NEVER_KEPT: &str = "what is there was handed in";
}

/// Every promise that the history breaks. One that was not tried is not broken.
pub fn check(history: &History) -> Vec<Violation> {
    let mut violations = queue::check(history);
    violations.extend(lease::check(history));
    violations.extend(unique::check(history));
    violations.extend(counter::check(history));
    violations.extend(growing::check(history));
    violations.extend(set::check(history));
    violations
}
