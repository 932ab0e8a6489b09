//! Commit: the bytes are what was announced, or nothing. The blob, who has it and who is told are one commit.

use machines::{blob, upload};
use serde_json::json;
use wire::{TenantId, Time, UploadId};

use crate::blobs::{asks_for, here, possess, promise, promise_until, revive};
use crate::draft::{Hint, Stated};
use crate::records::{Blob, Measured, Upload};
use crate::tenants::{News, tell};
use crate::uploads::known_upload;
use crate::{Answer, Ask, Decide, Draft, Refusal};
use machines::Machine;

#[derive(Debug, Clone)]
pub struct CommitUpload {
    pub tenant: TenantId,
    pub upload: UploadId,
    /// What lies under the blob's key, as whoever put it there has measured it. `None`: nothing was put there.
    pub measured: Option<Measured>,
    /// For the store to look the digest up; the upload's own.
    pub digest: wire::Digest,
}

impl Decide for CommitUpload {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Upload(self.upload), Ask::Tenant(self.tenant)]);
        asks_for(asks, self.tenant, self.digest);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut upload = known_upload(draft, self.tenant, self.upload)?;
        require_ready_to_commit(&upload, draft.now)?;
        // The one stream may have come again since the caller looked: then other bytes were placed than are noted, or none.
        let measured = self.measured.filter(|seen| upload.measured.is_none_or(|noted| noted == *seen));
        let Some(measured) = measured else {
            return Err(Refusal::UploadNotReady { state: upload.state.get().as_str() });
        };
        upload.updated_at = draft.now;
        if let Some(field) = mismatch(&upload, measured) {
            return Ok(refuse(draft, upload, field));
        }
        let blob = verified(draft, &mut upload);
        possess(draft, self.tenant, &blob);
        draft.put(blob);
        tell_committed(draft, &upload);
        draft.put(upload.clone());
        Ok(Answer::UploadIs(Box::new(upload)))
    }
}

pub fn require_ready_to_commit(upload: &Upload, now: Time) -> Result<(), Refusal> {
    match upload.state.get() {
        upload::State::PendingCommit if upload.expires_at > now => Ok(()),
        upload::State::Initiated | upload::State::PartsUploading if upload.expires_at > now => {
            Err(Refusal::UploadNotReady { state: upload.state.get().as_str() })
        }
        state => Err(Refusal::UploadEnded { state: state.as_str() }),
    }
}

/// As [`adopted`], of bytes that lie under the upload's key.
pub fn verified(draft: &mut Draft<'_>, upload: &mut Upload) -> Blob {
    let blob = adopted(draft, upload);
    // Parts leave their pieces; a session that lost the race leaves all of its bytes.
    upload.litter = upload.blob != blob.id || !upload.parts.is_empty();
    if upload.litter {
        draft.hint(Hint::Reap);
    }
    blob
}

/// The bytes are what was announced: the blob that they are, made now or here before. It is the caller's to put, and so is
/// the upload.
pub fn adopted(draft: &mut Draft<'_>, upload: &mut Upload) -> Blob {
    let blob = adopt_or_make(draft, upload);
    draft.advance(upload, upload::Event::CommitVerified, "digest and length are as announced");
    upload.updated_at = draft.now;
    upload.got = Some(blob.id);
    blob
}

fn adopt_or_make(draft: &mut Draft<'_>, upload: &Upload) -> Blob {
    let mut blob = match here(draft, upload.digest) {
        Some(mut blob) => {
            revive(draft, &mut blob, "the same bytes came again");
            blob
        }
        None => {
            let blob = made(draft, upload);
            draft.born::<blob::State>(&blob, format!("committed by {}", upload.id));
            blob
        }
    };
    match upload.execution {
        Some(_) => promise_until(draft, &mut blob, upload.expires_at),
        None => promise(draft, &mut blob),
    }
    blob
}

fn made(draft: &Draft<'_>, upload: &Upload) -> Blob {
    Blob {
        id: upload.blob,
        digest: upload.digest,
        length: upload.length,
        inline: false,
        state: Stated::initial(),
        refs: 0,
        barrier_until: draft.now,
        epoch: 0,
        retention_until: None,
        unmarked_by: None,
        claimed_by: None,
        created_at: draft.now,
        updated_at: draft.now,
    }
}

fn mismatch(upload: &Upload, measured: Measured) -> Option<&'static str> {
    if measured.length != upload.length {
        return Some("length");
    }
    (measured.digest != upload.digest).then_some("digest")
}

fn refuse(draft: &mut Draft<'_>, mut upload: Upload, field: &'static str) -> Answer {
    let cause = format!("its {field} is not what was announced");
    draft.advance(&mut upload, upload::Event::CommitMismatched, cause);
    upload.litter = true;
    draft.hint(Hint::Reap);
    draft.put(upload);
    Answer::UploadMismatched { field }
}

pub fn tell_committed(draft: &mut Draft<'_>, upload: &Upload) {
    let body = json!({
        "upload_id": upload.id, "digest": upload.digest, "length": upload.length, "blob_id": upload.got,
    });
    let subject = upload.id.to_string();
    let news = News { tenant: upload.tenant, event: "upload.committed", subject, body: &body, reports: None };
    tell(draft, &news);
}
