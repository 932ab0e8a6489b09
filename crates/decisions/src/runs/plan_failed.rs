//! The planner gave up, or its deadline passed.

use machines::{Machine, run};
use wire::RunId;

use crate::policy::{TEXT_BYTES_MAX, shortened};
use crate::records::Run;
use crate::runs::finalise::end_run;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct PlanFailed {
    pub run: RunId,
    pub message: String,
}

impl Decide for PlanFailed {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Run(self.run));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let run: Run = draft.get(&self.run).cloned().ok_or(Refusal::RunNotFound)?;
        let message = shortened(&self.message, TEXT_BYTES_MAX);
        match run.state.get() {
            run::State::Created | run::State::Planning => {}
            run::State::Failed | run::State::Reported if run.status_message == message => {
                return Ok(Answer::PlanTaken); // said twice
            }
            state @ (run::State::PlanFailed
            | run::State::Queued
            | run::State::Running
            | run::State::CancelRequested
            | run::State::Success
            | run::State::Failed
            | run::State::Canceled
            | run::State::Timeout
            | run::State::Reported) => return Err(Refusal::RunNotPlanning { state: state.as_str() }),
        }
        fail_plan(draft, run, message);
        Ok(Answer::PlanTaken)
    }
}

/// `PLANNING → PLAN_FAILED → FAILED`, in one commit.
pub fn fail_plan(draft: &mut Draft<'_>, mut run: Run, message: &str) {
    if run.state.get() == run::State::Created {
        draft.advance(&mut run, run::Event::StartPlanning, "planning never began");
    }
    draft.advance(&mut run, run::Event::FailPlan, message.to_owned());
    run.status_message = message.into();
    end_run(draft, run, run::Event::FinalizePlanFailure, "without a plan nothing can run");
}
