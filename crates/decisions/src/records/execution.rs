//! Execution: a lease and what durably happened under it. One record, two machines.

use machines::{execution, lease};
use wire::runner::CompleteStatus;
use wire::{ExecId, JobId, LeaseHash, RunId, RunnerId, TenantId, Time};

use crate::draft::Stated;
use crate::records::attempt::AttemptKey;
use crate::records::runner::RunnerKey;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    pub id: ExecId,
    pub attempt: AttemptKey,
    pub run: Option<RunId>,
    /// Rises with every lease of the job.
    pub token: u32,
    pub runner: RunnerId,
    /// The runner serves all tenants; otherwise it is one of the job's tenant.
    pub runner_shared: bool,
    pub lease_hash: LeaseHash,
    pub lease: Stated<lease::State>,
    pub status: Stated<execution::State>,
    pub granted_at: Time,
    /// The end of the acknowledgement window, then of the TTL. Late is late, marked or not.
    pub expires_at: Time,
    /// The job's own deadline, from the acknowledgement on.
    pub timeout_at: Option<Time>,
    /// When a requested cancel is forced.
    pub cancel_by: Option<Time>,
    /// When a tick must look at this lease; never later than its nearest deadline, and not moved by heartbeats. One that was
    /// taken away is looked at once more when its time would have been over.
    pub due_at: Option<Time>,
    pub started_at: Option<Time>,
    pub finished_at: Option<Time>,
    /// `Commit` was said and taken, kept to recognise a repeat.
    pub commit_said: bool,
    /// What `Complete` said, kept likewise.
    pub outcome: Option<Outcome>,
    pub summary: String,
    /// References the runner sent, as JSON.
    pub artifacts: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    pub status: CompleteStatus,
    pub exit_code: i32,
}

impl Execution {
    pub fn job(&self) -> JobId {
        self.attempt.job
    }

    /// The runner it was granted to, given the tenant of its job.
    pub fn runner_key(&self, tenant: TenantId) -> RunnerKey {
        RunnerKey { tenant: (!self.runner_shared).then_some(tenant), id: self.runner.clone() }
    }

    /// The nearest moment at which something happens to this lease by itself.
    pub fn deadline(&self) -> Time {
        [self.timeout_at, self.cancel_by].into_iter().flatten().fold(self.expires_at, Time::min)
    }
}

/// An effect that was applied when its execution committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectRow {
    pub job: JobId,
    pub execution: ExecId,
    pub position: u32,
    pub kind: &'static str,
    /// The effect as the runner sent it, as JSON.
    pub body: String,
}
