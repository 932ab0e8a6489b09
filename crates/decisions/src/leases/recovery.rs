//! After COMMITTED there is one way: the effect has happened, so the execution is done and the attempt succeeds,
//! whether the runner says so or is never heard of again. Nothing is applied a second time.

use machines::{attempt, execution, lease};

use crate::Draft;
use crate::jobs::attempt_over;
use crate::leases::ended::put_ended;
use crate::records::{Attempt, Execution};

/// The runner was lost, or ran out of time, between its commit and its completion.
pub fn recover(draft: &mut Draft<'_>, execution: Execution, attempt: Attempt) {
    let (event, cause) = if execution.expires_at <= draft.now {
        (lease::Event::Expire, "the effect had happened; the runner was not heard of again")
    } else {
        (lease::Event::Revoke, "the effect had happened; the job ran longer than it may")
    };
    finish_committed(draft, execution, attempt, event, cause);
}

/// `COMMITTED → DONE`; the lease ends by `event`; the attempt walks to `SUCCEEDED`.
pub fn finish_committed(
    draft: &mut Draft<'_>,
    mut execution: Execution,
    mut attempt: Attempt,
    event: lease::Event,
    cause: &'static str,
) {
    draft.advance(&mut execution, execution::Event::Finish, cause);
    draft.advance(&mut execution, event, cause);
    put_ended(draft, execution);
    walk_to_uploading(draft, &mut attempt, cause);
    draft.advance(&mut attempt, attempt::Event::Succeed, cause);
    attempt_over(draft, attempt, None, false);
}

/// Walks the rows a runner may skip by saying nothing of them.
pub fn walk_to_uploading(draft: &mut Draft<'_>, attempt: &mut Attempt, cause: &'static str) {
    if attempt.state.get() == attempt::State::Starting {
        draft.advance(attempt, attempt::Event::FirstHeartbeat, cause);
    }
    if attempt.state.get() == attempt::State::Running {
        draft.advance(attempt, attempt::Event::BeginUpload, cause);
    }
}
