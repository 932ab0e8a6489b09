//! Upload: a session that brings one blob. Its record is the journal: every key that may hold bytes is named before the
//! first one is written.

use machines::upload;
use wire::{BlobId, Digest, ExecId, TenantId, Time, UploadId};

use crate::draft::Stated;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    pub id: UploadId,
    pub tenant: TenantId,
    /// As announced; what comes is compared with it.
    pub digest: Digest,
    pub length: u64,
    /// The blob that this session makes, unless somebody else was faster.
    pub blob: BlobId,
    pub state: Stated<upload::State>,
    /// The lengths of the parts, when it goes in parts.
    pub parts: Vec<u64>,
    /// What the store said to each part, once they are complete.
    pub etags: Vec<String>,
    /// The object store's own name for the parts.
    pub multipart: Option<String>,
    /// What came by the one stream.
    pub measured: Option<Measured>,
    /// The blob it ended with, its own or one that was here before.
    pub got: Option<BlobId>,
    /// The job whose runner brings it.
    pub execution: Option<ExecId>,
    pub expires_at: Time,
    /// It ended, and bytes may be left that no blob names.
    pub litter: bool,
    pub created_at: Time,
    pub updated_at: Time,
}

/// What bytes turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    pub digest: Digest,
    pub length: u64,
}

impl Upload {
    pub fn is_open(&self) -> bool {
        !matches!(self.state.get(), upload::State::Committed | upload::State::Aborted)
    }
}
