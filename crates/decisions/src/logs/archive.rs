//! ArchiveLog: a log to which nothing can be added goes where all bytes are, and its chunks leave the database.
//!
//! Said twice for each log: first the upload that names the bytes' key is put on record, then, once they lie there, the
//! blob, the reference and the end of the chunks are one commit. Bytes that are here already need no upload.

use wire::{BlobId, Digest, ExecId, TenantId, UploadId};

use crate::blobs::{here, refer};
use crate::records::{Execution, Job, Log, LogTrim, Measured, Upload};
use crate::uploads::{StartUpload, abandon, brought_along, require_ready_to_commit, verified};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct ArchiveLog {
    pub execution: ExecId,
    /// The job's own; looked at before, so that the bytes can be asked for.
    pub tenant: TenantId,
    pub whole: Whole,
    /// Minted at the edge, both.
    pub upload: UploadId,
    pub blob: BlobId,
    /// The bytes lie under the upload's key.
    pub placed: bool,
}

/// What is there of a log, head and tail joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    pub digest: Digest,
    pub length: u64,
    /// Where the tail begins. Chunks go whole, so that may be before the log's own `tail_from`.
    pub tail_from: u64,
}

impl Decide for ArchiveLog {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Execution(self.execution), Ask::Log(self.execution), Ask::Upload(self.upload)]);
        asks.extend([Ask::Content(self.tenant, self.whole.digest), Ask::Collector]);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let log = self.ended_log(draft)?;
        let upload = draft.get::<Upload>(&self.upload).filter(|upload| upload.tenant == self.tenant).cloned();
        if log.blob.is_some() {
            self.end(draft, upload); // said twice, or another server was faster
            return Ok(Answer::Settled { moved: false });
        }
        self.check(&log)?;
        if let Some(blob) = here(draft, self.whole.digest) {
            self.end(draft, upload);
            self.keep(draft, log, blob.id);
            return Ok(Answer::Settled { moved: true });
        }
        match upload {
            None => Ok(Answer::UploadIs(Box::new(self.journal(draft)))),
            Some(upload) if !self.placed => Ok(Answer::UploadIs(Box::new(upload))),
            Some(mut upload) => {
                require_ready_to_commit(&upload, draft.now)?;
                let blob = verified(draft, &mut upload);
                let id = blob.id;
                draft.put(upload);
                draft.put(blob);
                self.keep(draft, log, id);
                Ok(Answer::Settled { moved: true })
            }
        }
    }
}

impl ArchiveLog {
    /// The log, if its lease has ended: that is what fences it.
    fn ended_log(&self, draft: &Draft<'_>) -> Result<Log, Refusal> {
        let execution: &Execution = draft.get(&self.execution).ok_or(Refusal::JobNotFound)?;
        let job: Job = draft.copy(&execution.job());
        if job.tenant != self.tenant {
            return Err(Refusal::JobNotFound);
        }
        if execution.lease.get().is_live() {
            return Err(Refusal::LogGrows);
        }
        draft.get::<Log>(&self.execution).copied().ok_or(Refusal::JobNotFound)
    }

    /// Never less than what the log promises.
    fn check(&self, log: &Log) -> Result<(), Refusal> {
        let Whole { length, tail_from, .. } = self.whole;
        let within = (log.head..=log.tail_from).contains(&tail_from);
        if !within || length != (Log { tail_from, ..*log }).kept() {
            let problem =
                format!("{length} bytes with a tail from {tail_from} are not what is kept: {log:?}");
            return Err(Refusal::InvalidInput { field: "length", problem });
        }
        Ok(())
    }

    /// What a log takes is nobody's upload: no quota holds it back, no usage counts it, and nobody is told.
    fn journal(&self, draft: &mut Draft<'_>) -> Upload {
        let Whole { digest, length, .. } = self.whole;
        let (id, blob, tenant) = (self.upload, self.blob, self.tenant);
        let measured = Some(Measured { digest, length });
        let start = StartUpload { id, blob, tenant, digest, length, execution: None, measured };
        let mut upload = start.begun(draft, format!("the log of {}", self.execution));
        brought_along(draft, &mut upload);
        draft.put(upload.clone());
        upload
    }

    /// An upload that is not needed leaves its bytes to upkeep.
    fn end(&self, draft: &mut Draft<'_>, upload: Option<Upload>) {
        if let Some(upload) = upload.filter(Upload::is_open) {
            abandon(draft, upload, "the log has its bytes");
        }
    }

    fn keep(&self, draft: &mut Draft<'_>, log: Log, blob: BlobId) {
        refer(draft, blob, "a job's log");
        let trim = LogTrim { execution: log.execution, from: 0, to: log.received };
        draft.changes.appended.log_trims.push(trim);
        draft.put(Log { tail_from: self.whole.tail_from, blob: Some(blob), ..log });
    }
}
