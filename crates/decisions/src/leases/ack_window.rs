//! No AckLease in time: the lease is revoked, the attempt goes back uncharged, and the runner's word counts for less.

use machines::{attempt, execution, lease};

use crate::Draft;
use crate::draft::Hint;
use crate::jobs::project;
use crate::leases::ended::put_ended;
use crate::records::{Attempt, Execution, Job, Runner};

const CAUSE: &str = "no AckLease in time";

pub fn close(draft: &mut Draft<'_>, execution: Execution, attempt: Attempt) {
    count_miss(draft, &execution);
    take_back(draft, execution, attempt, CAUSE);
}

/// Nothing was begun under the lease.
pub fn take_back(draft: &mut Draft<'_>, mut execution: Execution, mut attempt: Attempt, cause: &'static str) {
    draft.advance(&mut execution, lease::Event::Revoke, cause);
    draft.advance(&mut execution, execution::Event::Abort, cause);
    put_ended(draft, execution);
    draft.advance(&mut attempt, attempt::Event::LoseLease, cause);
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

/// The runner that holds the lease. Its record was loaded with the execution's family. What it says is advice for the next
/// lease, so being late does no harm: it is not held still for every message of the runner.
pub fn runner_of<'d>(draft: &'d Draft<'_>, execution: &Execution) -> Option<&'d Runner> {
    let job: &Job = draft.book().jobs.peek(&execution.job()).expect("a family is loaded whole");
    draft.peek(&execution.runner_key(job.tenant))
}

/// Three in a row and the runner gets no leases for a while.
fn count_miss(draft: &mut Draft<'_>, execution: &Execution) {
    let Some(mut runner) = runner_of(draft, execution).cloned() else { return };
    runner.acks_missed += 1;
    if runner.acks_missed >= draft.policy.acks_missed_max {
        runner.acks_missed = 0;
        runner.barred_until = Some(draft.now.plus(draft.policy.runner_bar));
    }
    draft.put(runner);
}
