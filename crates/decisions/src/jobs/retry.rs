//! A person asks for one more attempt of a job that failed or was cancelled.

use machines::{Machine, job};
use wire::{JobId, TenantId};

use crate::jobs::next_attempt;
use crate::records::{Job, Run};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct RetryJob {
    pub tenant: TenantId,
    pub job: JobId,
}

impl Decide for RetryJob {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Family(self.job));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let job = draft.get(&self.job).filter(|job: &&Job| job.tenant == self.tenant);
        let mut job = job.cloned().ok_or(Refusal::JobNotFound)?;
        match job.state {
            job::State::Failed | job::State::Canceled => {}
            job::State::Pending | job::State::Running | job::State::Succeeded => {
                return Err(Refusal::JobNotRetryable { problem: "it has not failed" });
            }
        }
        if job.needs_open > 0 {
            return Err(Refusal::JobNotRetryable { problem: "what it needs has not succeeded" });
        }
        if job.has_dependents && !job.required {
            return Err(Refusal::JobNotRetryable { problem: "jobs that need it have gone on without it" });
        }
        if let Some(id) = job.run {
            let mut run: Run = draft.copy(&id);
            if run.is_stopping() {
                return Err(Refusal::RunOver { state: run.outcome.unwrap_or(run.state.get()).as_str() });
            }
            run.jobs_open += 1;
            run.required_failed -= u32::from(job.counted_failed);
            run.updated_at = draft.now;
            draft.put(run);
        }
        job.counted_failed = false;
        (job.releasing, job.released_to) = (false, None); // who was not told yet goes on waiting; its success tells all
        job.attempts_max = job.attempts_max.max(job.attempts + 1);
        next_attempt(draft, job.clone(), "a person asked for one more attempt");
        Ok(Answer::Retried { attempt: job.attempts + 1 })
    }
}
