//! Heartbeat: the runner lives; the lease is extended and a cancel is passed on. Never answered from memory.

use machines::attempt;
use wire::runner::Phase;
use wire::{LeaseKey, RunnerId, Time};

use crate::jobs::{Force, stop_job};
use crate::leases::fence::{execution_of, family_of, require_active};
use crate::records::{Attempt, Execution};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct Heartbeat {
    pub lease: LeaseKey,
    pub runner: RunnerId,
    pub phase: Option<Phase>,
}

impl Decide for Heartbeat {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Execution(self.lease.execution));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut execution = execution_of(draft, self.lease, &self.runner)?;
        require_active(&execution, draft.now)?;
        let family = family_of(draft, &execution);
        family.require_open_run()?;
        execution.expires_at = draft.now.plus(draft.policy.lease_ttl);
        // Moves nothing, unless the TTL has become shorter since the lease was granted.
        execution.due_at = execution.due_at.map(|due_at| due_at.min(execution.expires_at));
        draft.put(execution.clone());
        if family.is_canceled() && !execution.status.get().has_committed() {
            stop_job(draft, execution.job(), Force::AfterGrace, true, "the run was cancelled");
        } else {
            self.follow_phase(draft, family.attempt);
        }
        let execution: Execution = draft.copy(&execution.id);
        let cancel = execution.cancel_by.map(|by: Time| by.since(draft.now));
        Ok(Answer::Beaten { lease_ttl: draft.policy.lease_ttl, cancel })
    }
}

impl Heartbeat {
    /// `STARTING → RUNNING` with the first heartbeat, `→ UPLOADING` when the runner says so.
    fn follow_phase(&self, draft: &mut Draft<'_>, mut attempt: Attempt) {
        let before = attempt.state.get();
        if before == attempt::State::Starting {
            draft.advance(&mut attempt, attempt::Event::FirstHeartbeat, "first heartbeat");
        }
        if attempt.state.get() == attempt::State::Running && self.phase == Some(Phase::Uploading) {
            draft.advance(&mut attempt, attempt::Event::BeginUpload, "the runner uploads");
        }
        if attempt.state.get() != before {
            attempt.updated_at = draft.now;
            draft.put(attempt);
        }
    }
}
