//! Cancel a run: one row moves now, its jobs follow in chunks. Whoever completes a job meanwhile reads that row.

use machines::{Machine, run};
use wire::{RunId, TenantId};

use crate::draft::Hint;
use crate::policy::{TEXT_BYTES_MAX, shortened};
use crate::records::{Run, Sweep};
use crate::runs::finalise;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct CancelRun {
    pub tenant: TenantId,
    pub run: RunId,
    pub reason: String,
}

impl Decide for CancelRun {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Run(self.run));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let run = draft.get(&self.run).filter(|run: &&Run| run.tenant == self.tenant);
        let run = run.cloned().ok_or(Refusal::RunNotFound)?;
        match run.state.get() {
            run::State::CancelRequested => return Ok(Answer::CancelTaken { over: false }), // asked twice
            run::State::Canceled => return Ok(Answer::CancelTaken { over: true }),
            run::State::Reported if run.outcome == Some(run::State::Canceled) => {
                return Ok(Answer::CancelTaken { over: true });
            }
            run::State::Created | run::State::Planning | run::State::Queued | run::State::Running => {}
            run::State::PlanFailed
            | run::State::Success
            | run::State::Failed
            | run::State::Timeout
            | run::State::Reported => {
                let state = run.outcome.unwrap_or(run.state.get());
                return Err(Refusal::RunOver { state: state.as_str() });
            }
        }
        let over = request_cancel(draft, run, shortened(&self.reason, TEXT_BYTES_MAX));
        Ok(Answer::CancelTaken { over })
    }
}

/// `→ CANCEL_REQUESTED`, and at once `→ CANCELED` if no job is open; whether that is so.
pub fn request_cancel(draft: &mut Draft<'_>, mut run: Run, reason: &str) -> bool {
    draft.advance(&mut run, run::Event::RequestCancel, reason.to_owned());
    run.status_message = reason.into();
    run.due_at = None; // from here on the jobs' own cancel deadlines bound it
    run.updated_at = draft.now;
    let over = run.jobs_open == 0;
    if !over {
        run.sweep = Some(Sweep::Canceled);
        run.swept_to = None;
        draft.hint(Hint::Sweep(run.id));
    }
    draft.put(run.clone());
    finalise(draft, run);
    over
}
