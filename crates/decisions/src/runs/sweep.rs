//! Sweep: stop the next open jobs of a run that is cancelled, timed out or failing fast. Each chunk is a commit.

use wire::RunId;

use crate::draft::Hint;
use crate::jobs::{Force, Stopped, stop_job};
use crate::policy::CHUNK;
use crate::records::{Run, Sweep};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct SweepRun {
    pub run: RunId,
}

impl Decide for SweepRun {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Sweep(self.run));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let run: &Run = draft.get(&self.run).ok_or(Refusal::RunNotFound)?;
        let Some(sweep) = run.sweep else { return Ok(Answer::Settled { moved: false }) };
        let (force, by_run, cause) = match sweep {
            Sweep::Canceled => (Force::AfterGrace, true, "the run was cancelled"),
            Sweep::TimedOut => (Force::Now, true, "the run timed out"),
            Sweep::FailFast => (Force::AfterGrace, true, "another required job failed"),
        };
        let jobs = draft.book().sweeps.get(&self.run).cloned().unwrap_or_default();
        for job in &jobs {
            let stopped = stop_job(draft, *job, force, by_run, cause);
            debug_assert_ne!(stopped, Stopped::TooLate, "a sweep lets a committed job finish");
        }
        let mut run: Run = draft.copy(&self.run);
        if jobs.len() < CHUNK {
            run.sweep = None;
            run.swept_to = None;
        } else if run.sweep.is_some() {
            run.swept_to = jobs.last().copied();
            draft.hint(Hint::Sweep(run.id));
        }
        run.updated_at = draft.now;
        draft.put(run);
        Ok(Answer::Settled { moved: true })
    }
}
