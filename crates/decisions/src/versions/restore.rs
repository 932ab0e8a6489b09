//! Restore: within its retention, and if the policy allows it, a withdrawn version is as it was.

use machines::version;

use crate::blobs::promise;
use crate::records::{Blob, VersionName};
use crate::versions::{Verdict, known_version, tell_of};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct RestoreVersion {
    pub name: VersionName,
    pub verdict: Verdict,
}

impl Decide for RestoreVersion {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Tenant(self.name.tenant), Ask::VersionName(self.name.clone()), Ask::Collector]);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut version = known_version(draft, &self.name)?;
        match version.state.get() {
            version::State::Published => {
                return Ok(Answer::VersionIs { version: Box::new(version), existing: true });
            }
            version::State::Draft => return Err(Refusal::VersionNotPublished),
            version::State::Tombstoned => {}
        }
        if version.purged || version.retention_until.is_none_or(|until| until <= draft.now) {
            return Err(Refusal::RetentionOver);
        }
        if let Verdict::Quarantine { reason } = &self.verdict {
            return Ok(Answer::Quarantined { reason: reason.clone() });
        }
        for entry in version.entries.iter() {
            // It was referred to all the time, so it is here.
            let mut blob: Blob = draft.copy(&entry.blob);
            promise(draft, &mut blob);
            draft.put(blob);
        }
        draft.advance(&mut version, version::Event::Restore, "restored");
        version.retention_until = None;
        version.updated_at = draft.now;
        tell_of(draft, &version, "version.restored");
        draft.put(version.clone());
        Ok(Answer::VersionIs { version: Box::new(version), existing: false })
    }
}
