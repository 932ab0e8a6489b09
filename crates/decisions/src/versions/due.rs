//! What was kept for a time is let go when it is over: the bytes of a withdrawn version, the artifacts of a job. What
//! they were stays on record.

use machines::version;
use wire::{ExecId, VersionId};

use crate::blobs::release;
use crate::records::{Bundle, Job, Version};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct VersionDue {
    pub version: VersionId,
}

impl Decide for VersionDue {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Version(self.version));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut version: Version = draft.get(&self.version).cloned().ok_or(Refusal::VersionNotFound)?;
        let over = version.retention_until.is_some_and(|until| until <= draft.now);
        let moved = version.state.get() == version::State::Tombstoned && over && !version.purged;
        if moved {
            version.entries.iter().for_each(|entry| release(draft, entry.blob));
            version.purged = true;
            version.updated_at = draft.now;
            draft.put(version);
        }
        Ok(Answer::Settled { moved })
    }
}

#[derive(Debug, Clone)]
pub struct BundleDue {
    pub execution: ExecId,
}

impl Decide for BundleDue {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Bundle(self.execution), Ask::Execution(self.execution)]);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let Some(mut bundle) = draft.get::<Bundle>(&self.execution).cloned() else {
            return Ok(Answer::Settled { moved: false });
        };
        let moved = !bundle.dropped && bundle.keep_until.is_some_and(|until| until <= draft.now);
        if moved {
            bundle.artifacts.iter().for_each(|artifact| release(draft, artifact.blob));
            if !bundle.artifacts.is_empty() {
                stop_reuse(draft, &bundle);
            }
            bundle.dropped = true;
            draft.put(bundle);
        }
        Ok(Answer::Settled { moved })
    }
}

/// A success without what it made is no longer as good as another run of the job.
fn stop_reuse(draft: &mut Draft<'_>, bundle: &Bundle) {
    let mut job: Job = draft.copy(&bundle.job);
    if job.reusable {
        job.reusable = false;
        job.updated_at = draft.now;
        draft.put(job);
    }
}
