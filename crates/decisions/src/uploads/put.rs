//! Put: a small blob in one commit, its bytes among the records. There is no moment at which the record is there without the
//! bytes or the other way round, so nothing is journalled, placed or swept up.

use std::sync::Arc;

use crate::blobs::possess;
use crate::records::{BlobBytes, INLINE_BYTES_MAX};
use crate::uploads::commit::{adopted, tell_committed};
use crate::uploads::{StartUpload, require_ready_to_commit};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct PutBlob {
    /// With what the bytes measure.
    pub start: StartUpload,
    pub bytes: Arc<[u8]>,
}

impl Decide for PutBlob {
    fn asks(&self, asks: &mut Vec<Ask>) {
        self.start.asks(asks);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        self.check();
        let mut upload = self.start.started(draft)?;
        if upload.is_open() {
            require_ready_to_commit(&upload, draft.now)?;
            let mut blob = adopted(draft, &mut upload);
            if blob.id == upload.blob {
                blob.inline = true;
                let bytes = BlobBytes { blob: blob.id, bytes: self.bytes.clone() };
                draft.changes.appended.blob_bytes.push(bytes);
            }
            possess(draft, upload.tenant, &blob);
            draft.put(blob);
            tell_committed(draft, &upload);
            draft.put(upload.clone());
        }
        Ok(Answer::UploadIs(Box::new(upload)))
    }
}

impl PutBlob {
    /// Whoever brings bytes has measured them.
    fn check(&self) {
        let StartUpload { digest, length, measured, .. } = &self.start;
        let measured = measured.expect("the bytes are here");
        assert!(measured.digest == *digest && measured.length == *length, "they are what was announced");
        assert!(*length == self.bytes.len() as u64 && *length <= INLINE_BYTES_MAX, "they are small");
    }
}
