//! The runner is known to be dead: its lease ends now, as if its time had run out. Whoever says so must know, because the
//! job may be leased again at once.

use machines::lease;
use wire::ExecId;

use crate::leases::{ack_window, expiry, recovery};
use crate::records::{Attempt, Execution};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct RunnerGone {
    pub execution: ExecId,
}

const CAUSE: &str = "the runner is known to be dead";

/// It may live, and just not have heard of the lease.
const CAUSE_UNHEARD: &str = "the runner had gone before it acknowledged";

impl Decide for RunnerGone {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Execution(self.execution));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let execution = draft.get::<Execution>(&self.execution).cloned();
        let Some(mut execution) = execution.filter(|execution| execution.lease.get().is_live()) else {
            return Ok(Answer::Settled { moved: false }); // said twice, or it ended by itself
        };
        execution.expires_at = execution.expires_at.min(draft.now);
        let attempt: Attempt = draft.copy(&execution.attempt);
        if execution.status.get().has_committed() {
            recovery::recover(draft, execution, attempt);
        } else if execution.lease.get() == lease::State::Granted {
            ack_window::take_back(draft, execution, attempt, CAUSE_UNHEARD);
        } else {
            expiry::expire(draft, execution, attempt, CAUSE);
        }
        Ok(Answer::Settled { moved: true })
    }
}
