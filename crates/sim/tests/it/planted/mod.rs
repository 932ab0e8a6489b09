//! Mistakes planted around the decisions and the store, each found by the rule that it breaks. A checker that finds none of
//! its bugs is broken.

pub mod altered;
mod leases;
mod outbox;
mod runs;

use std::time::Duration;

use decisions::{Book, Changes, Command, Decision, Policy, Refusal, decide};
use sim::models::play::{Parts, Play};
use sim::models::search::{Stage, find};
use wire::Time;

type Decided = Result<Decision, Refusal>;

const SECOND: Duration = Duration::from_secs(1);

fn deciding(decide: fn(&Book, &Command, Time, &Policy) -> Decided) -> Parts {
    Parts { decide, ..Parts::REAL }
}

/// Two servers that do not look whether what they decided on still holds.
const NO_CONFLICT_CHECK: Parts = Parts { conflicts: |_, _| false, ..Parts::REAL };

/// A save that is acknowledged and never happened.
const LOST_SAVE: Parts = Parts { write: |_, _| {}, ..Parts::REAL };

/// The decision as it should be, and then spoilt.
fn spoilt(
    (book, command, now, policy): (&Book, &Command, Time, &Policy),
    spoil: impl FnOnce(&Book, &mut Changes),
) -> Decided {
    let mut decision = decide(book, command, now, policy)?;
    spoil(book, &mut decision.changes);
    Ok(decision)
}

/// The mistake breaks this rule, and the way to it is told.
fn found(mistake: &str, play: impl Play, parts: Parts, rule: &'static str) {
    let story = find(Stage { play, parts }, rule).unwrap_or_else(|| panic!("not found: {mistake}"));
    println!("{mistake}\n{story}\n");
    assert!(!story.steps.is_empty(), "{mistake}: no story");
}
