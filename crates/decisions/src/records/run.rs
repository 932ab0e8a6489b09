//! Run: its state, and the counters that spare every command a look at all of its jobs.

use machines::run;
use wire::{JobId, RunId, TenantId, Time};

use crate::draft::Stated;
use crate::records::group::GroupId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    pub tenant: TenantId,
    pub state: Stated<run::State>,
    /// The state the run ended in, kept after `REPORTED`.
    pub outcome: Option<run::State>,
    /// Why it is where it is, in words: the planner's error, the cancel's reason.
    pub status_message: String,
    /// 1, and one more for each rerun of the same trigger.
    pub attempt: u32,
    pub rerun_of: Option<RunId>,
    pub trigger_key: Option<String>,
    pub repository: Option<String>,
    pub git_ref: Option<String>,
    pub commit: Option<String>,
    pub base: Option<String>,
    pub fail_fast: bool,
    /// Whose code it executes.
    pub trust: Trust,
    /// Its concurrency group, from its plan.
    pub group: Option<String>,
    /// It supersedes older runs of its group.
    pub supersede: bool,
    /// Jobs that run; the plan lists the others too.
    pub jobs_total: u32,
    /// Jobs that are not over.
    pub jobs_open: u32,
    /// Required jobs that ended any other way than by success or by the run's own cancel.
    pub required_failed: u32,
    /// Final statuses still on their way out; the run is reported when none is left.
    pub reports_open: u32,
    /// Work on many jobs that is done in chunks, and how far it got.
    pub sweep: Option<Sweep>,
    pub swept_to: Option<JobId>,
    /// When the run itself must be looked at: its planning deadline, then its timeout.
    pub due_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
    pub finished_at: Option<Time>,
}

/// Whose code a run executes. What an untrusted run leaves behind (successes, caches) is never used by a trusted one.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    #[default]
    Trusted,
    /// A stranger's, such as a pull request from a fork.
    Untrusted,
}

impl Trust {
    pub const ALL: [Trust; 2] = [Trust::Trusted, Trust::Untrusted];

    pub fn as_str(self) -> &'static str {
        match self {
            Trust::Trusted => "trusted",
            Trust::Untrusted => "untrusted",
        }
    }

    pub fn parse(text: &str) -> Option<Trust> {
        Trust::ALL.into_iter().find(|trust| trust.as_str() == text)
    }
}

/// Why all jobs of a run are being stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    Canceled,
    TimedOut,
    FailFast,
}

impl Sweep {
    pub const ALL: [Sweep; 3] = [Sweep::Canceled, Sweep::TimedOut, Sweep::FailFast];

    pub fn as_str(self) -> &'static str {
        match self {
            Sweep::Canceled => "canceled",
            Sweep::TimedOut => "timed_out",
            Sweep::FailFast => "fail_fast",
        }
    }

    pub fn parse(text: &str) -> Option<Sweep> {
        Sweep::ALL.into_iter().find(|sweep| sweep.as_str() == text)
    }
}

impl Run {
    pub fn group_id(&self) -> Option<GroupId> {
        self.group_named(None)
    }

    /// The group of this name that the run would be in, or the one that it is in.
    pub fn group_named(&self, name: Option<&str>) -> Option<GroupId> {
        let name = name.or(self.group.as_deref())?;
        Some(GroupId::of(self.tenant, self.repository.as_deref(), self.trust, name))
    }

    /// The run waits for its plan.
    pub fn is_planning(&self) -> bool {
        matches!(self.state.get(), run::State::Created | run::State::Planning)
    }

    /// The run has an outcome; its jobs can no longer change it.
    pub fn is_over(&self) -> bool {
        match self.state.get() {
            run::State::Created
            | run::State::Planning
            | run::State::PlanFailed
            | run::State::Queued
            | run::State::Running
            | run::State::CancelRequested => false,
            run::State::Success
            | run::State::Failed
            | run::State::Canceled
            | run::State::Timeout
            | run::State::Reported => true,
        }
    }

    /// No attempt of this run may begin or commit any more.
    pub fn is_stopping(&self) -> bool {
        self.is_over() || self.state.get() == run::State::CancelRequested
    }
}
