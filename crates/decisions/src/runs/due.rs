//! A run's own deadline: no plan in time, or no end in time.

use machines::run;
use wire::RunId;

use crate::draft::Hint;
use crate::records::{Run, Sweep};
use crate::runs::finalise::end_run;
use crate::runs::plan_failed::fail_plan;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct RunDue {
    pub run: RunId,
}

impl Decide for RunDue {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Run(self.run));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let run: Run = draft.get(&self.run).cloned().ok_or(Refusal::RunNotFound)?;
        if run.due_at.is_none_or(|due_at| due_at > draft.now) {
            return Ok(Answer::Settled { moved: false }); // somebody was faster
        }
        match run.state.get() {
            run::State::Created | run::State::Planning => {
                fail_plan(draft, run, "no plan arrived before the planning deadline");
            }
            run::State::Queued | run::State::Running => time_out(draft, run),
            run::State::PlanFailed
            | run::State::CancelRequested
            | run::State::Success
            | run::State::Failed
            | run::State::Canceled
            | run::State::Timeout
            | run::State::Reported => unreachable!("a run that is stopping or over has no deadline"),
        }
        Ok(Answer::Settled { moved: true })
    }
}

/// The run is over now; its leases are revoked and its attempts cancelled, in chunks when there are many.
fn time_out(draft: &mut Draft<'_>, mut run: Run) {
    run.status_message = "the run took longer than it may".into();
    if run.jobs_open > 0 {
        run.sweep = Some(Sweep::TimedOut);
        run.swept_to = None;
        draft.hint(Hint::Sweep(run.id));
    }
    end_run(draft, run, run::Event::TimeOut, "the run took longer than it may");
}
