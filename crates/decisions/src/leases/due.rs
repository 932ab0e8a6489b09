//! A lease's deadlines, and the tick that looks at them. `due_at` is never later than the nearest; when nothing has
//! passed yet, because heartbeats came, it is moved on.

use machines::lease;
use wire::ExecId;

use crate::leases::{ack_window, cancel_deadline, expiry, job_timeout, recovery, unheard};
use crate::records::{Attempt, Execution};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct ExecutionDue {
    pub execution: ExecId,
}

impl Decide for ExecutionDue {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Execution(self.execution));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let Some(mut execution) = draft.get::<Execution>(&self.execution).cloned() else {
            return Ok(Answer::Settled { moved: false });
        };
        let now = draft.now;
        if execution.due_at.is_none_or(|due_at| due_at > now) {
            return Ok(Answer::Settled { moved: false }); // somebody was faster
        }
        if !execution.lease.get().is_live() {
            unheard::end(draft, execution);
            return Ok(Answer::Settled { moved: true });
        }
        let attempt: Attempt = draft.copy(&execution.attempt);
        let passed = |deadline: Option<wire::Time>| deadline.is_some_and(|deadline| deadline <= now);
        let expired = execution.expires_at <= now;
        if execution.status.get().has_committed() && (expired || passed(execution.timeout_at)) {
            recovery::recover(draft, execution, attempt);
        } else if execution.lease.get() == lease::State::Granted && expired {
            ack_window::close(draft, execution, attempt);
        } else if passed(execution.cancel_by) {
            cancel_deadline::force(draft, execution, attempt);
        } else if passed(execution.timeout_at) {
            job_timeout::time_out(draft, execution, attempt);
        } else if expired {
            expiry::expire(draft, execution, attempt, expiry::NO_HEARTBEAT);
        } else {
            execution.due_at = Some(execution.deadline());
            draft.put(execution);
        }
        Ok(Answer::Settled { moved: true })
    }
}
