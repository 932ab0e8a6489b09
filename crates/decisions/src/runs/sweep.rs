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
            // Not for the run's own sake: what it stops of a failing run counts as failed, also if a retry cures the cause.
            Sweep::FailFast => (Force::AfterGrace, false, "another required job failed"),
        };
        let jobs = draft.book().sweeps.get(&self.run).cloned().unwrap_or_default();
        // The list was made for the run as it was loaded. If the batch has moved it since, a job may have been opened
        // that is not on the list: the sweep goes on, where it was, in the next batch.
        let is_current = draft.book().runs.loaded(&self.run) == Some(run);
        for job in &jobs {
            match stop_job(draft, *job, force, by_run, cause) {
                Stopped::Over | Stopped::Asked => {}
                Stopped::TooLate => {} // its effect has happened; it finishes by itself
            }
        }
        let mut run: Run = draft.copy(&self.run);
        if is_current && jobs.len() < CHUNK {
            run.sweep = None;
            run.swept_to = None;
        } else if run.sweep.is_some() {
            run.swept_to = if is_current { jobs.last().copied() } else { run.swept_to };
            draft.hint(Hint::Sweep(run.id));
        }
        run.updated_at = draft.now;
        draft.put(run);
        Ok(Answer::Settled { moved: true })
    }
}
