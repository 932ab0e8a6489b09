//! The cancel deadline passed without an acknowledgement: the cancel is forced. What was logged is kept.

use machines::{attempt, execution, lease};

use crate::Draft;
use crate::jobs::attempt_over;
use crate::leases::ended::put_ended;
use crate::records::{Attempt, Execution, Run};

const CAUSE: &str = "no CancelAck before the deadline; forced";

pub fn force(draft: &mut Draft<'_>, execution: Execution, attempt: Attempt) {
    end(draft, execution, attempt, lease::Event::Revoke, CAUSE);
}

/// `CANCEL_REQUESTED → CANCELED` without the runner's word; also where the run's cancel has not been swept this far.
pub fn end(
    draft: &mut Draft<'_>,
    mut execution: Execution,
    mut attempt: Attempt,
    event: lease::Event,
    cause: &'static str,
) {
    if attempt.state.get() != attempt::State::CancelRequested {
        draft.advance(&mut attempt, attempt::Event::RequestCancel, "the run was cancelled");
    }
    draft.advance(&mut execution, event, cause);
    draft.advance(&mut execution, execution::Event::Abort, cause);
    let by_run = execution.run.and_then(|run| draft.get::<Run>(&run)).is_some_and(Run::is_stopping);
    put_ended(draft, execution);
    draft.advance(&mut attempt, attempt::Event::FinishCancel, cause);
    attempt_over(draft, attempt, None, by_run);
}
