//! The job ran longer than it may: the lease is revoked. Logs received so far are kept.

use machines::{attempt, execution, lease};

use crate::Draft;
use crate::failures::{FailureClass, Verdict};
use crate::jobs::attempt_over;
use crate::leases::cancel_deadline;
use crate::leases::ended::put_ended;
use crate::leases::fence::family_of;
use crate::records::{Attempt, Execution, Job};

const CAUSE: &str = "the job ran longer than it may";

pub fn time_out(draft: &mut Draft<'_>, mut execution: Execution, mut attempt: Attempt) {
    if family_of(draft, &execution).is_canceled() {
        return cancel_deadline::end(draft, execution, attempt, lease::Event::Revoke, CAUSE);
    }
    draft.advance(&mut execution, lease::Event::Revoke, CAUSE);
    draft.advance(&mut execution, execution::Event::Abort, CAUSE);
    put_ended(draft, execution);
    draft.advance(&mut attempt, attempt::Event::TimeOut, CAUSE);
    let effect_once = draft.get::<Job>(&attempt.key.job).is_some_and(|job| job.effect_once);
    let verdict = Verdict { class: FailureClass::Timeout, because: CAUSE.into() };
    let verdict = if effect_once { verdict.of_effect_once() } else { verdict };
    attempt_over(draft, attempt, Some(verdict), false);
}
