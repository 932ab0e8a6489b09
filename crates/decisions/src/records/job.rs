//! Job: what was asked for, and the projection of what became of it.

use std::time::Duration;

use machines::{attempt, execution, job};
use wire::{Digest, JobId, RunId, TenantId, Time};

use crate::failures::ClassSet;
use crate::records::queue::QueueId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: JobId,
    pub tenant: TenantId,
    /// `None` for a standalone job.
    pub run: Option<RunId>,
    pub name: String,
    /// The id a submitter chose for a standalone job; unique within the tenant.
    pub key: Option<String>,
    /// A projection of attempts and executions ([`derived_state`]); stored for queries, never an authority.
    pub state: job::State,
    pub required: bool,
    /// The effect may happen once: a lost lease asks a person instead of running again.
    pub effect_once: bool,
    pub priority: i32,
    pub queue: QueueId,
    /// Index of the latest attempt; attempts count from 1.
    pub attempts: u32,
    pub attempts_max: u32,
    pub retry_on: ClassSet,
    pub timeout: Duration,
    /// Leases granted so far; the next one's fencing token is one higher.
    pub tokens: u32,
    /// Needed jobs that have not released this one yet.
    pub needs_open: u32,
    pub has_dependents: bool,
    /// Its end was counted among its run's required failures.
    pub counted_failed: bool,
    /// The job is over and its dependents are being told, in chunks, up to and including `released_to`.
    pub releasing: bool,
    pub released_to: Option<JobId>,
    /// SHA-256 of the specification, to tell a repeated submission from a different one.
    pub spec_digest: [u8; 32],
    /// What the job's result depends on.
    pub input_key: Option<Digest>,
    /// It succeeded, and all that it made is still kept: a job with the same key need not run.
    pub reusable: bool,
    /// A lease was taken away before its time, and its runner may not have heard of it: until then nothing follows.
    pub free_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
}

impl Job {
    /// How runners and users name the job: the id its submitter chose, or ours.
    pub fn public_id(&self) -> String {
        self.key.clone().unwrap_or_else(|| self.id.to_string())
    }
}

/// The state of a job as its latest attempt and all of its executions make it (seed 001: derived, never guessed).
pub fn derived_state(
    latest: attempt::State,
    executions: impl IntoIterator<Item = execution::State>,
) -> job::State {
    if executions.into_iter().any(|status| status == execution::State::Done) {
        return job::State::Succeeded;
    }
    match latest {
        attempt::State::Created | attempt::State::Queued => job::State::Pending,
        attempt::State::Leased
        | attempt::State::Starting
        | attempt::State::Running
        | attempt::State::Uploading
        | attempt::State::CancelRequested => job::State::Running,
        attempt::State::Succeeded => job::State::Succeeded,
        attempt::State::Failed | attempt::State::TimedOut | attempt::State::Stale => job::State::Failed,
        attempt::State::Canceled => job::State::Canceled,
    }
}
