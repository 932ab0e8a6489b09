//! AckLease: the runner accepts; the TTL and the job's own clock begin.

use machines::{attempt, execution, lease};
use wire::runner::StaleReason;
use wire::{LeaseKey, RunnerId};

use crate::leases::ack_window::runner_of;
use crate::leases::fence::{execution_of, family_of, require_live, stale};
use crate::records::{Execution, Job, Runner};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct Ack {
    pub lease: LeaseKey,
    pub runner: RunnerId,
}

impl Decide for Ack {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Execution(self.lease.execution));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut execution = execution_of(draft, self.lease, &self.runner)?;
        require_live(&execution, draft.now)?;
        let family = family_of(draft, &execution);
        family.require_open_run()?;
        let lease_ttl = draft.policy.lease_ttl;
        if execution.lease.get() == lease::State::Active {
            return Ok(Answer::Acked { lease_ttl }); // said twice; only a heartbeat extends
        }
        if family.is_canceled() {
            return Err(stale(StaleReason::LeaseRevoked)); // nothing begins; the run's sweep takes the lease
        }
        draft.advance(&mut execution, lease::Event::Ack, "AckLease");
        draft.advance(&mut execution, execution::Event::Start, "AckLease");
        self.start_clocks(draft, &mut execution);
        let mut attempt = family.attempt;
        draft.advance(&mut attempt, attempt::Event::Ack, "AckLease");
        attempt.updated_at = draft.now;
        self.forgive(draft, &execution);
        draft.put(execution);
        draft.put(attempt);
        Ok(Answer::Acked { lease_ttl })
    }
}

impl Ack {
    /// `due_at` stays at the end of the acknowledgement window unless a deadline comes before it: the tick that looks
    /// then finds the lease alive and moves it on, so that heartbeats need not.
    fn start_clocks(&self, draft: &Draft<'_>, execution: &mut Execution) {
        let job: &Job = draft.book().jobs.peek(&execution.job()).expect("a family is loaded whole");
        execution.expires_at = draft.now.plus(draft.policy.lease_ttl);
        execution.timeout_at = Some(draft.now.plus(job.timeout + draft.policy.timeout_buffer));
        execution.started_at = Some(draft.now);
        let deadline = execution.deadline();
        execution.due_at = execution.due_at.map(|due_at| due_at.min(deadline));
    }

    /// A kept word ends the row of missed ones.
    fn forgive(&self, draft: &mut Draft<'_>, execution: &Execution) {
        if let Some(runner) = runner_of(draft, execution).filter(|runner| runner.acks_missed > 0).cloned() {
            draft.put(Runner { acks_missed: 0, last_seen_at: draft.now, ..runner });
        }
    }
}
