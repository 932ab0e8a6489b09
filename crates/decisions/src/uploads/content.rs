//! Content: the one stream has come to its end. What it was is compared at the commit.

use machines::upload;
use wire::{TenantId, UploadId};

use crate::records::Measured;
use crate::uploads::open_upload;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct ContentReceived {
    pub tenant: TenantId,
    pub upload: UploadId,
    pub measured: Measured,
}

impl Decide for ContentReceived {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Upload(self.upload));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut upload = open_upload(draft, self.tenant, self.upload)?;
        match upload.state.get() {
            upload::State::Initiated => {
                draft.advance(&mut upload, upload::Event::StartPartsUpload, "PUT content");
                draft.advance(&mut upload, upload::Event::CompleteParts, "PUT content");
            }
            upload::State::PendingCommit if upload.measured.is_some() => {} // sent twice: the last one counts
            upload::State::PartsUploading | upload::State::PendingCommit => {
                return Err(Refusal::UploadInParts);
            }
            upload::State::Committed | upload::State::Aborted => unreachable!("it is open"),
        }
        upload.measured = Some(self.measured);
        upload.updated_at = draft.now;
        draft.put(upload.clone());
        Ok(Answer::UploadIs(Box::new(upload)))
    }
}
