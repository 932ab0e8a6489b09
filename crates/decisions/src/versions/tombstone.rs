//! Tombstone: withdrawn, for a time in which it can be restored.

use std::time::Duration;

use machines::version;

use crate::records::VersionName;
use crate::versions::{known_version, tell_of};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct TombstoneVersion {
    pub name: VersionName,
    pub retention: Duration,
}

impl Decide for TombstoneVersion {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Tenant(self.name.tenant), Ask::VersionName(self.name.clone())]);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut version = known_version(draft, &self.name)?;
        match version.state.get() {
            version::State::Tombstoned => {
                return Ok(Answer::VersionIs { version: Box::new(version), existing: true }); // the first one counts
            }
            version::State::Draft => return Err(Refusal::VersionNotPublished),
            version::State::Published => {}
        }
        draft.advance(&mut version, version::Event::Tombstone, "withdrawn");
        version.retention_until = Some(draft.now.plus(self.retention));
        version.updated_at = draft.now;
        tell_of(draft, &version, "version.tombstoned");
        draft.put(version.clone());
        Ok(Answer::VersionIs { version: Box::new(version), existing: false })
    }
}
