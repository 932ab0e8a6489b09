//! Complete: the runner's final word. Success commits and finishes; failure may be tried again; a cancel that was
//! durable before wins.

use machines::{attempt, execution, lease};
use wire::runner::CompleteStatus;
use wire::{LeaseKey, RunnerId};

use crate::caches::Saves;
use crate::failures::{FailureClass, Verdict, classify};
use crate::jobs::attempt_over;
use crate::leases::cancel_deadline::follow_run;
use crate::leases::ended::put_ended;
use crate::leases::fence::{execution_of, family_of, require_active};
use crate::leases::recovery::{finish_committed, walk_to_uploading};
use crate::leases::stored::{Publishing, Stored};
use crate::policy::{TEXT_BYTES_MAX, shortened};
use crate::records::{Attempt, Execution, Job, Outcome};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct Complete {
    pub lease: LeaseKey,
    pub runner: RunnerId,
    pub status: CompleteStatus,
    pub exit_code: i32,
    pub summary: String,
    /// References, as JSON.
    pub artifacts: String,
    /// Those of them that are in our own store.
    pub stored: Option<Box<Stored>>,
    /// What a success leaves for later jobs.
    pub saves: Option<Box<Saves>>,
}

impl Decide for Complete {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Execution(self.lease.execution));
        self.stored.iter().for_each(|stored| stored.asks(asks));
        self.saves.iter().for_each(|saves| saves.asks(asks));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut execution = execution_of(draft, self.lease, &self.runner)?;
        let outcome = Outcome { status: self.status, exit_code: self.exit_code };
        if execution.outcome == Some(outcome) && !execution.lease.get().is_live() {
            let accepted = execution.lease.get() == lease::State::Completed;
            return Ok(Answer::Completed { accepted }); // said twice: same answer, nothing moves
        }
        require_active(&execution, draft.now)?;
        let family = family_of(draft, &execution);
        execution.outcome = Some(outcome);
        execution.summary = shortened(&self.summary, TEXT_BYTES_MAX).into();
        execution.artifacts = self.artifacts.clone();
        if execution.status.get().has_committed() {
            self.end_committed(draft, execution, family.attempt)?;
            return Ok(Answer::Completed { accepted: true });
        }
        family.require_open_run()?;
        if family.is_canceled() {
            let by_run = family.run.as_ref().is_some_and(|run| run.is_stopping());
            acknowledge_cancel(draft, execution, family.attempt, by_run);
            return Ok(Answer::Completed { accepted: false });
        }
        if let Some(problem) = self.conflict(draft) {
            let verdict = Verdict { class: FailureClass::Failure, because: problem };
            self.fail(draft, execution, family.attempt, verdict);
            return Ok(Answer::Completed { accepted: true });
        }
        match self.status {
            CompleteStatus::Succeeded => {
                self.keep_stored(draft, &execution, Publishing::Asked)?;
                self.saves.iter().try_for_each(|saves| saves.keep(draft, &execution))?;
                draft.advance(&mut execution, execution::Event::Commit, "Complete");
                finish_committed(draft, execution, family.attempt, lease::Event::Complete, "Complete");
            }
            CompleteStatus::Failed => {
                let verdict = classify(self.exit_code, &self.summary);
                self.fail(draft, execution, family.attempt, verdict);
            }
        }
        Ok(Answer::Completed { accepted: true })
    }
}

impl Complete {
    /// After `Commit` the job has succeeded, whatever is said now: what stands in the way of its version stands only in that.
    fn end_committed(
        &self,
        draft: &mut Draft<'_>,
        execution: Execution,
        attempt: Attempt,
    ) -> Result<(), Refusal> {
        let is_taken = self.conflict(draft).is_some();
        let note = match self.status {
            CompleteStatus::Succeeded if is_taken => {
                "Complete, but its version is published and holds something else"
            }
            CompleteStatus::Succeeded => "Complete",
            CompleteStatus::Failed => "Complete FAILED, but the effect had happened",
        };
        let publishing = if is_taken { Publishing::Impossible } else { Publishing::Asked };
        self.keep_stored(draft, &execution, publishing)?;
        if self.status == CompleteStatus::Succeeded {
            self.saves.iter().try_for_each(|saves| saves.keep(draft, &execution))?;
        }
        let job = execution.job();
        finish_committed(draft, execution, attempt, lease::Event::Complete, note);
        if is_taken {
            let job: Job = draft.copy(&job);
            draft.put(Job { reusable: false, ..job }); // another run would fail
        }
        Ok(())
    }

    /// Why it cannot publish what it made.
    fn conflict(&self, draft: &Draft<'_>) -> Option<String> {
        let succeeded = self.status == CompleteStatus::Succeeded;
        self.stored.as_ref().filter(|_| succeeded)?.conflict(draft)
    }

    fn keep_stored(
        &self,
        draft: &mut Draft<'_>,
        execution: &Execution,
        publishing: Publishing,
    ) -> Result<(), Refusal> {
        let Some(stored) = &self.stored else { return Ok(()) };
        if draft.copy::<Job>(&execution.job()).tenant != stored.tenant {
            return Err(Refusal::TenantNotFound);
        }
        stored.keep(draft, execution, publishing)
    }

    fn fail(&self, draft: &mut Draft<'_>, mut execution: Execution, mut attempt: Attempt, verdict: Verdict) {
        if let Some(stored) = &self.stored {
            stored.keep_tests(draft, &execution);
        }
        let effect_once = draft.get::<Job>(&attempt.key.job).is_some_and(|job| job.effect_once);
        let verdict = if effect_once { verdict.of_effect_once() } else { verdict };
        draft.advance(&mut execution, lease::Event::Complete, "Complete");
        draft.advance(&mut execution, execution::Event::Abort, "Complete");
        put_ended(draft, execution);
        walk_to_uploading(draft, &mut attempt, "Complete");
        draft.advance(&mut attempt, attempt::Event::Fail, verdict.because.clone());
        attempt_over(draft, attempt, Some(verdict), false);
    }
}

/// The runner has stopped, whichever message said so.
pub fn acknowledge_cancel(
    draft: &mut Draft<'_>,
    mut execution: Execution,
    mut attempt: Attempt,
    by_run: bool,
) {
    follow_run(draft, &execution, &mut attempt);
    draft.advance(&mut execution, lease::Event::CancelAck, "the runner has stopped");
    draft.advance(&mut execution, execution::Event::Abort, "the runner has stopped");
    put_ended(draft, execution);
    draft.advance(&mut attempt, attempt::Event::FinishCancel, "the runner has stopped");
    attempt_over(draft, attempt, None, by_run);
}
