//! The fence: which messages still speak for an attempt.

use machines::lease;
use wire::runner::StaleReason;
use wire::{LeaseKey, RunnerId, Time};

use crate::records::{Attempt, Execution, Run};
use crate::{Draft, Refusal};

/// The execution under a lease, for the runner it was granted to. Anyone else's message is as good as unknown.
pub fn execution_of(draft: &Draft<'_>, lease: LeaseKey, runner: &RunnerId) -> Result<Execution, Refusal> {
    let execution = granted_under(draft, lease)?;
    if execution.runner != *runner {
        return Err(stale(StaleReason::LeaseUnknown)); // a capability belongs to whom it was given
    }
    Ok(execution)
}

/// The execution under a lease, whoever holds the secret: for what does not move the attempt.
pub fn granted_under(draft: &Draft<'_>, lease: LeaseKey) -> Result<Execution, Refusal> {
    let execution: Option<&Execution> = draft.get(&lease.execution);
    let execution = execution.filter(|execution| execution.lease_hash == lease.hash);
    execution.cloned().ok_or(stale(StaleReason::LeaseUnknown))
}

/// Only a live lease that has not run out may speak; late is late, even before a tick marks it.
pub fn require_live(execution: &Execution, now: Time) -> Result<(), Refusal> {
    let reason = match execution.lease.get() {
        lease::State::Granted | lease::State::Active if execution.expires_at > now => return Ok(()),
        lease::State::Granted | lease::State::Active | lease::State::Expired => StaleReason::LeaseExpired,
        lease::State::Revoked => StaleReason::LeaseRevoked,
        lease::State::Completed => StaleReason::LeaseCompleted,
        lease::State::Canceled => StaleReason::LeaseCanceled,
    };
    Err(stale(reason))
}

/// As [`require_live`], and the runner has said that it accepted.
pub fn require_active(execution: &Execution, now: Time) -> Result<(), Refusal> {
    require_live(execution, now)?;
    if execution.lease.get() == lease::State::Granted {
        return Err(Refusal::LeaseNotAcknowledged);
    }
    Ok(())
}

/// What else a live execution's fate depends on.
pub struct Family {
    pub attempt: Attempt,
    pub run: Option<Run>,
}

pub fn family_of(draft: &Draft<'_>, execution: &Execution) -> Family {
    Family { attempt: draft.copy(&execution.attempt), run: execution.run.map(|run| draft.copy(&run)) }
}

impl Family {
    /// A run that has ended by itself (its timeout) has taken the lease with it, swept or not.
    pub fn require_open_run(&self) -> Result<(), Refusal> {
        match &self.run {
            Some(run) if run.is_over() => Err(stale(StaleReason::LeaseRevoked)),
            Some(_) | None => Ok(()),
        }
    }

    /// A durable cancel, of the job or of its run, whether or not the run's sweep has come this far.
    pub fn is_canceled(&self) -> bool {
        self.attempt.state.get() == machines::attempt::State::CancelRequested
            || self.run.as_ref().is_some_and(|run| run.is_stopping())
    }
}

pub fn stale(reason: StaleReason) -> Refusal {
    Refusal::StaleLease { reason }
}
