//! CancelAck: the runner has stopped because it was asked to.

use machines::{attempt, lease};
use wire::runner::StaleReason;
use wire::{LeaseKey, RunnerId};

use crate::leases::complete::acknowledge_cancel;
use crate::leases::fence::{execution_of, family_of, require_active, stale};
use crate::policy::{TEXT_BYTES_MAX, shortened};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct CancelAck {
    pub lease: LeaseKey,
    pub runner: RunnerId,
    pub summary: String,
    /// References, as JSON.
    pub artifacts: String,
}

impl Decide for CancelAck {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Execution(self.lease.execution));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut execution = execution_of(draft, self.lease, &self.runner)?;
        if execution.lease.get() == lease::State::Canceled {
            return Ok(Answer::CancelAcked); // said twice
        }
        require_active(&execution, draft.now)?;
        let family = family_of(draft, &execution);
        family.require_open_run()?;
        if !family.is_canceled() {
            return Err(Refusal::CancelNotRequested);
        }
        if execution.status.get().has_committed() {
            return Err(stale(StaleReason::LeaseCompleted)); // the effect has happened; it ends as a success
        }
        execution.summary = shortened(&self.summary, TEXT_BYTES_MAX).into();
        execution.artifacts = self.artifacts.clone();
        let by_run = family.run.as_ref().is_some_and(|run| run.is_stopping());
        debug_assert!(family.attempt.state.get() != attempt::State::Leased);
        acknowledge_cancel(draft, execution, family.attempt, by_run);
        Ok(Answer::CancelAcked)
    }
}
