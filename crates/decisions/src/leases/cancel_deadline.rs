//! The cancel deadline passed without an acknowledgement: the cancel is forced. What was logged is kept.

use machines::{attempt, execution, lease, run};

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
    follow_run(draft, &execution, &mut attempt);
    draft.advance(&mut execution, event, cause);
    draft.advance(&mut execution, execution::Event::Abort, cause);
    let by_run = execution.run.and_then(|run| draft.get::<Run>(&run)).is_some_and(Run::is_stopping);
    put_ended(draft, execution);
    draft.advance(&mut attempt, attempt::Event::FinishCancel, cause);
    attempt_over(draft, attempt, None, by_run);
}

/// `→ CANCEL_REQUESTED` where the run's sweep has not come this far, with the sweep's words.
pub fn follow_run(draft: &mut Draft<'_>, execution: &Execution, attempt: &mut Attempt) {
    if attempt.state.get() == attempt::State::CancelRequested {
        return;
    }
    let run = execution.run.and_then(|run| draft.get::<Run>(&run));
    let timed_out = run.is_some_and(|run| run.outcome == Some(run::State::Timeout));
    let cause = if timed_out { "the run timed out" } else { "the run was cancelled" };
    draft.advance(attempt, attempt::Event::RequestCancel, cause);
    attempt.explanation = cause.into();
}
