//! Cancel one job.

use machines::{Machine, job};
use wire::{JobId, TenantId};

use crate::jobs::{Force, Stopped, stop_job};
use crate::records::{Job, Run};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct CancelJob {
    pub tenant: TenantId,
    pub job: JobId,
}

impl Decide for CancelJob {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Family(self.job));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let job = draft.get(&self.job).filter(|job: &&Job| job.tenant == self.tenant);
        let job = job.ok_or(Refusal::JobNotFound)?;
        match job.state {
            job::State::Canceled => return Ok(Answer::CancelTaken { over: true }), // asked twice
            job::State::Succeeded | job::State::Failed => {
                return Err(Refusal::JobOver { state: job.state.as_str() });
            }
            job::State::Pending | job::State::Running => {}
        }
        // A run that is being cancelled has cancelled this job too, whether or not its sweep has come this far.
        let by_run = job.run.is_some_and(|run| draft.copy::<Run>(&run).is_stopping());
        match stop_job(draft, self.job, Force::AfterGrace, by_run, "the job was cancelled") {
            Stopped::Over => Ok(Answer::CancelTaken { over: true }),
            Stopped::Asked => Ok(Answer::CancelTaken { over: false }),
            Stopped::TooLate => Err(Refusal::AlreadyCommitted),
        }
    }
}
