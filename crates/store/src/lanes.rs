//! Lanes as an index shows them: one entry each, the one that decides whether the lane has work.

use std::collections::BTreeSet;

use decisions::records::LaneKey;
use wire::Time;

#[derive(Debug)]
pub struct LaneHead {
    pub lane: LaneKey,
    pub due_at: Time,
    /// A worker has it; then nothing of the lane may be claimed.
    pub is_claimed: bool,
}

impl LaneHead {
    pub fn ready(self, now: Time) -> Option<LaneKey> {
        (!self.is_claimed && self.due_at <= now).then_some(self.lane)
    }
}

/// The first lanes of two lists, each once: a lane may hold both what is in order and what is not.
pub fn merged(waiting: Vec<LaneKey>, ordered: Vec<LaneKey>, limit: usize) -> Vec<LaneKey> {
    let all: BTreeSet<LaneKey> = waiting.into_iter().chain(ordered).collect();
    all.into_iter().take(limit).collect()
}
