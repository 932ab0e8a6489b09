//! Attempt: one try at a job, and its place in a queue.

use machines::attempt;
use wire::{ExecId, JobId, Time};

use crate::draft::Stated;
use crate::failures::FailureClass;
use crate::records::queue::QueueId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptKey {
    pub job: JobId,
    pub index: u32,
}

impl std::fmt::Display for AttemptKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.job, self.index)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub key: AttemptKey,
    pub state: Stated<attempt::State>,
    pub queue: QueueId,
    pub priority: i32,
    /// Age for the queue's order: a requeued attempt keeps its place.
    pub since: Time,
    /// Leases lost after their acknowledgement.
    pub lost_leases: u32,
    /// The execution under its latest lease.
    pub execution: Option<ExecId>,
    pub failure_class: Option<FailureClass>,
    /// Why it ended as it did, for a person.
    pub explanation: String,
    pub created_at: Time,
    pub updated_at: Time,
    pub finished_at: Option<Time>,
}

impl Attempt {
    /// Its place in the queue, while it waits there.
    pub fn ready_key(&self) -> Option<ReadyKey> {
        (self.state.get() == attempt::State::Queued).then_some(ReadyKey {
            queue: self.queue,
            rank: -i64::from(self.priority),
            since: self.since,
            attempt: self.key,
        })
    }
}

/// Order within a queue: higher priority first, then older, then by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadyKey {
    pub queue: QueueId,
    /// The priority, negated: the smallest rank is served first.
    pub rank: i64,
    pub since: Time,
    pub attempt: AttemptKey,
}
