//! The TTL passed without a heartbeat, or the runner is known to be dead: it is lost. The attempt is queued again a bounded number of times; an
//! effect that may happen once is left to a person.

use machines::{attempt, execution, lease};

use crate::Draft;
use crate::failures::{FailureClass, Verdict};
use crate::jobs::attempt_over;
use crate::leases::ack_window::back_in_queue;
use crate::leases::cancel_deadline;
use crate::leases::ended::put_ended;
use crate::leases::fence::family_of;
use crate::records::{Attempt, Execution, Job};

pub const NO_HEARTBEAT: &str = "no heartbeat within the TTL";

pub fn expire(draft: &mut Draft<'_>, mut execution: Execution, mut attempt: Attempt, cause: &'static str) {
    if family_of(draft, &execution).is_canceled() {
        return cancel_deadline::end(draft, execution, attempt, lease::Event::Expire, cause);
    }
    draft.advance(&mut execution, lease::Event::Expire, cause);
    draft.advance(&mut execution, execution::Event::Abort, cause);
    put_ended(draft, execution);
    attempt.lost_leases += 1;
    let effect_once = draft.get::<Job>(&attempt.key.job).is_some_and(|job| job.effect_once);
    let verdict = if effect_once {
        Verdict {
            class: FailureClass::Ambiguous,
            because: "the runner was lost, and the job's effect, which may happen once, may have happened"
                .into(),
        }
    } else if attempt.lost_leases <= draft.policy.lost_leases_max {
        draft.advance(&mut attempt, attempt::Event::LoseLease, cause);
        return back_in_queue(draft, attempt);
    } else {
        Verdict {
            class: FailureClass::RunnerLost,
            because: format!("{} runners were lost with this attempt", attempt.lost_leases),
        }
    };
    draft.advance(&mut attempt, attempt::Event::LoseLeaseForGood, verdict.because.clone());
    attempt_over(draft, attempt, Some(verdict), false);
}
