//! The other ends of an upload: aborted by its owner, run out, and swept up after.

use machines::upload;
use wire::{TenantId, UploadId};

use crate::draft::Hint;
use crate::records::Upload;
use crate::uploads::open_upload;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct AbortUpload {
    pub tenant: TenantId,
    pub upload: UploadId,
}

impl Decide for AbortUpload {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Upload(self.upload));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let upload = open_upload(draft, self.tenant, self.upload)?;
        let upload = abandon(draft, upload, "aborted by its owner");
        Ok(Answer::UploadIs(Box::new(upload)))
    }
}

/// Its time may be over.
#[derive(Debug, Clone)]
pub struct UploadDue {
    pub upload: UploadId,
}

impl Decide for UploadDue {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Upload(self.upload));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let upload: Upload = draft.get(&self.upload).cloned().ok_or(Refusal::UploadNotFound)?;
        let moved = upload.is_open() && upload.expires_at <= draft.now;
        if moved {
            abandon(draft, upload, "its time is over");
        }
        Ok(Answer::Settled { moved })
    }
}

/// Ends it without a blob; whatever it brought is left to upkeep.
pub fn abandon(draft: &mut Draft<'_>, mut upload: Upload, cause: &'static str) -> Upload {
    draft.advance(&mut upload, upload::Event::AbortUpload, cause);
    upload.litter = true;
    upload.updated_at = draft.now;
    draft.hint(Hint::Reap);
    draft.put(upload.clone());
    upload
}

/// What it left behind is gone.
#[derive(Debug, Clone)]
pub struct UploadReaped {
    pub upload: UploadId,
}

impl Decide for UploadReaped {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Upload(self.upload));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut upload: Upload = draft.get(&self.upload).cloned().ok_or(Refusal::UploadNotFound)?;
        let moved = upload.litter;
        if moved {
            upload.litter = false;
            draft.put(upload);
        }
        Ok(Answer::Settled { moved })
    }
}
