//! No AckLease in time: the lease is revoked, the attempt goes back uncharged, and the runner's word counts for less.

use machines::{attempt, execution, lease};

use crate::Draft;
use crate::draft::Hint;
use crate::jobs::project;
use crate::records::{Attempt, Execution, Job, Runner};

const CAUSE: &str = "no AckLease in time";

pub fn close(draft: &mut Draft<'_>, mut execution: Execution, mut attempt: Attempt) {
    draft.advance(&mut execution, lease::Event::Revoke, CAUSE);
    draft.advance(&mut execution, execution::Event::Abort, CAUSE);
    execution.due_at = None;
    execution.finished_at = Some(draft.now);
    count_miss(draft, &execution);
    draft.put(execution);
    draft.advance(&mut attempt, attempt::Event::LoseLease, CAUSE);
    back_in_queue(draft, attempt);
}

/// The attempt waits again, at its old place.
pub fn back_in_queue(draft: &mut Draft<'_>, mut attempt: Attempt) {
    attempt.updated_at = draft.now;
    draft.hint(Hint::Ready(attempt.queue));
    let mut job: Job = draft.copy(&attempt.key.job);
    draft.put(attempt);
    project(draft, &mut job);
    draft.put(job);
}

/// Three in a row and the runner gets no leases for a while.
fn count_miss(draft: &mut Draft<'_>, execution: &Execution) {
    let Some(mut runner) = draft.get::<Runner>(&execution.runner).cloned() else { return };
    runner.acks_missed += 1;
    if runner.acks_missed >= draft.policy.acks_missed_max {
        runner.acks_missed = 0;
        runner.barred_until = Some(draft.now.plus(draft.policy.runner_bar));
    }
    draft.put(runner);
}
