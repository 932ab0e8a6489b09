//! Stop a job: at once where no runner is at work, else in two phases.

use machines::{attempt, execution, lease};
use wire::JobId;

use crate::Draft;
use crate::draft::Hint;
use crate::jobs::attempt_over;
use crate::leases::{finish_committed, put_ended};
use crate::records::{Attempt, AttemptKey, Execution, Job};

/// How long a runner at work gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// Until the cancel deadline.
    AfterGrace,
    /// No time: the lease is revoked.
    Now,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Nothing was left to stop.
    Over,
    /// The runner has been asked.
    Asked,
    /// The effect has happened, and the job finishes by itself.
    TooLate,
}

pub fn stop_job(
    draft: &mut Draft<'_>,
    id: JobId,
    force: Force,
    by_run: bool,
    cause: &'static str,
) -> Stopped {
    let job: Job = draft.copy(&id);
    let mut attempt: Attempt = draft.copy(&AttemptKey { job: id, index: job.attempts });
    match attempt.state.get() {
        attempt::State::Created => {
            draft.advance(&mut attempt, attempt::Event::CancelUnstarted, cause);
            attempt.explanation = cause.into();
            attempt_over(draft, attempt, None, by_run);
            Stopped::Over
        }
        attempt::State::Queued => {
            draft.hint(Hint::Ready(attempt.queue)); // who found only this one may look further
            draft.advance(&mut attempt, attempt::Event::RequestCancel, cause);
            end_canceled(draft, attempt, by_run, cause);
            Stopped::Over
        }
        attempt::State::Leased => {
            draft.advance(&mut attempt, attempt::Event::RequestCancel, cause);
            revoke(draft, &attempt, cause);
            end_canceled(draft, attempt, by_run, cause);
            Stopped::Over
        }
        attempt::State::Starting | attempt::State::Running | attempt::State::Uploading => {
            stop_active(draft, attempt, force, by_run, cause)
        }
        attempt::State::CancelRequested if force == Force::Now => {
            revoke(draft, &attempt, cause);
            end_canceled(draft, attempt, by_run, cause);
            Stopped::Over
        }
        attempt::State::CancelRequested => Stopped::Asked,
        attempt::State::Succeeded
        | attempt::State::Failed
        | attempt::State::Canceled
        | attempt::State::TimedOut
        | attempt::State::Stale => Stopped::Over,
    }
}

fn stop_active(
    draft: &mut Draft<'_>,
    mut attempt: Attempt,
    force: Force,
    by_run: bool,
    cause: &'static str,
) -> Stopped {
    let mut execution = live_execution(draft, &attempt);
    if execution.status.get().has_committed() {
        if force == Force::Now {
            finish_committed(draft, execution, attempt, lease::Event::Revoke, cause);
            return Stopped::Over;
        }
        return Stopped::TooLate; // the runner finishes what has happened; a run that is cancelled waits for it
    }
    draft.advance(&mut attempt, attempt::Event::RequestCancel, cause);
    attempt.explanation = cause.into();
    if force == Force::Now {
        revoke(draft, &attempt, cause);
        end_canceled(draft, attempt, by_run, cause);
        return Stopped::Over;
    }
    let cancel_by = draft.now.plus(draft.policy.cancel_deadline);
    execution.cancel_by = Some(cancel_by);
    execution.due_at = Some(execution.due_at.map_or(cancel_by, |due_at| due_at.min(cancel_by)));
    attempt.updated_at = draft.now;
    draft.put(execution);
    draft.put(attempt);
    Stopped::Asked
}

/// The execution under the attempt's live lease.
pub fn live_execution(draft: &Draft<'_>, attempt: &Attempt) -> Execution {
    draft.copy(&attempt.execution.expect("a leased attempt has an execution"))
}

fn revoke(draft: &mut Draft<'_>, attempt: &Attempt, cause: &'static str) {
    let mut execution = live_execution(draft, attempt);
    draft.advance(&mut execution, lease::Event::Revoke, cause);
    draft.advance(&mut execution, execution::Event::Abort, cause);
    put_ended(draft, execution);
}

fn end_canceled(draft: &mut Draft<'_>, mut attempt: Attempt, by_run: bool, cause: &'static str) {
    draft.advance(&mut attempt, attempt::Event::FinishCancel, cause);
    attempt.explanation = cause.into();
    attempt_over(draft, attempt, None, by_run);
}
