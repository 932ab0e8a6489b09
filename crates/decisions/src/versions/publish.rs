//! Publish: the policy has spoken, the bytes are here; from now on the version is what it is.

use machines::version;
use wire::Digest;

use crate::blobs::promise;
use crate::records::{Blob, Version, VersionName};
use crate::versions::{Verdict, content_hash, known_version, tell_of};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct PublishVersion {
    pub name: VersionName,
    pub verdict: Verdict,
    /// The hash over the entries that the policy was shown: a draft may have been made anew since.
    pub judged: Digest,
    /// By an administrator, who may release what the policy holds back.
    pub release: bool,
}

impl Decide for PublishVersion {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Tenant(self.name.tenant), Ask::VersionName(self.name.clone()), Ask::Collector]);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let version = known_version(draft, &self.name)?;
        match version.state.get() {
            version::State::Published => {
                return Ok(Answer::VersionIs { version: Box::new(version), existing: true }); // said twice
            }
            version::State::Tombstoned => return Err(Refusal::VersionTombstoned),
            version::State::Draft => {}
        }
        if content_hash(&version.entries) != self.judged {
            return Err(Refusal::VersionChanged);
        }
        match (&version.quarantine, self.release) {
            (Some(reason), false) => Ok(Answer::Quarantined { reason: reason.clone() }),
            (Some(_), true) => publish_draft(draft, version, &Verdict::Allow),
            (None, _) => publish_draft(draft, version, &self.verdict),
        }
    }
}

/// Ends in an answer either way: being held back is kept, too.
pub fn publish_draft(
    draft: &mut Draft<'_>,
    mut version: Version,
    verdict: &Verdict,
) -> Result<Answer, Refusal> {
    version.updated_at = draft.now;
    if let Verdict::Quarantine { reason } = verdict {
        draft.advance(&mut version, version::Event::PublishQuarantined, reason.clone());
        version.quarantine = Some(reason.clone());
        tell_of(draft, &version, "version.quarantined");
        draft.put(version);
        return Ok(Answer::Quarantined { reason: reason.clone() });
    }
    for entry in version.entries.iter() {
        let blob: Option<&Blob> = draft.get(&entry.blob);
        let mut blob = blob
            .filter(|blob| blob.is_here())
            .cloned()
            .ok_or(Refusal::BlobMissing { digest: entry.digest })?;
        promise(draft, &mut blob);
        draft.put(blob);
    }
    let cause =
        if version.quarantine.is_some() { "released by an administrator" } else { "the policy allows it" };
    draft.advance(&mut version, version::Event::PublishAllowed, cause);
    version.quarantine = None;
    version.content_hash = Some(content_hash(&version.entries));
    version.published_at = Some(draft.now);
    tell_of(draft, &version, "version.published");
    draft.put(version.clone());
    Ok(Answer::VersionIs { version: Box::new(version), existing: false })
}
