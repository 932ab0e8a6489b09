//! Release: tell the next dependents of a job that it is over. Each chunk is a commit; the cursor moves with it, so
//! every dependent is told once.

use machines::{attempt, job};
use wire::JobId;

use crate::draft::Hint;
use crate::jobs::{attempt_over, enqueue};
use crate::policy::CHUNK;
use crate::records::{Attempt, AttemptKey, Job};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct ReleaseDependents {
    pub job: JobId,
}

impl Decide for ReleaseDependents {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Release(self.job));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let needed: Job = draft.get(&self.job).cloned().ok_or(Refusal::JobNotFound)?;
        if !needed.releasing {
            return Ok(Answer::Settled { moved: false });
        }
        let dependents = draft.book().dependents.get(&self.job).cloned().unwrap_or_default();
        // The same chunk may be in the book for two commands of one batch; the cursor tells what is left of it.
        let left: Vec<JobId> =
            dependents.iter().copied().filter(|id| needed.released_to.is_none_or(|to| *id > to)).collect();
        let satisfied = needed.state == job::State::Succeeded || !needed.required;
        for dependent in &left {
            release(draft, *dependent, satisfied);
        }
        let mut needed: Job = draft.copy(&self.job);
        if dependents.len() < CHUNK {
            needed.releasing = false;
        } else {
            needed.released_to = dependents.last().copied();
            draft.hint(Hint::Release(self.job));
        }
        needed.updated_at = draft.now;
        draft.put(needed);
        Ok(Answer::Settled { moved: true })
    }
}

fn release(draft: &mut Draft<'_>, id: JobId, satisfied: bool) {
    let mut job: Job = draft.copy(&id);
    let mut attempt: Attempt = draft.copy(&AttemptKey { job: id, index: job.attempts });
    job.needs_open -= u32::from(satisfied); // what did not succeed stays open: a retry would have to wait for it
    job.updated_at = draft.now;
    if attempt.state.get() != attempt::State::Created {
        return draft.put(job); // it was stopped meanwhile
    }
    let open = job.needs_open;
    draft.put(job);
    if !satisfied {
        attempt.explanation = "a job it needs did not succeed".into();
        draft.advance(&mut attempt, attempt::Event::CancelUnstarted, "a job it needs did not succeed");
        attempt_over(draft, attempt, None, false);
    } else if open == 0 {
        enqueue(draft, &mut attempt, "everything it needs is over");
        draft.put(attempt);
    }
}
