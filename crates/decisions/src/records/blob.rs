//! Blob: stored bytes, what holds them, and what stands between them and their deletion.

use std::sync::Arc;

use machines::blob;
use wire::{BlobId, CollectionId, Digest, TenantId, Time};

use crate::draft::Stated;

/// The longest blob whose bytes may lie among the records. A file of its own costs two syncs, however short it is; beyond
/// this the file system is the better place.
pub const INLINE_BYTES_MAX: u64 = 32 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// A generation: the bytes' key is made of it and the digest, is written once and deleted once.
    pub id: BlobId,
    pub digest: Digest,
    pub length: u64,
    /// Its bytes lie among the records, from the commit that makes it until the one that ends it.
    pub inline: bool,
    pub state: Stated<blob::State>,
    /// References that are kept. Whoever adds or drops one writes this record, so that it meets whoever claims it.
    pub refs: u64,
    /// Somebody was told that it is here, and may rely on it until then.
    pub barrier_until: Time,
    /// The collector's epoch when somebody was told so last: a collection that began before leaves it alone.
    pub epoch: i64,
    /// Until when its deletion can be taken back.
    pub retention_until: Option<Time>,
    /// The collection whose mark found nothing that holds it.
    pub unmarked_by: Option<CollectionId>,
    /// The collection that deletes its bytes. From then on it reads as absent, and nothing brings it back.
    pub claimed_by: Option<CollectionId>,
    pub created_at: Time,
    pub updated_at: Time,
}

impl Blob {
    /// Its bytes can be read and referred to.
    pub fn is_here(&self) -> bool {
        self.claimed_by.is_none() && self.state.get() != blob::State::Deleted
    }
}

/// The bytes of a blob that is [inline](Blob::inline).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobBytes {
    pub blob: BlobId,
    pub bytes: Arc<[u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PossessionKey {
    pub tenant: TenantId,
    pub digest: Digest,
}

/// A tenant has brought these bytes itself, so it may read them. Knowing a digest is not having it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Possession {
    pub key: PossessionKey,
    /// As long as that one is here.
    pub blob: BlobId,
    pub created_at: Time,
}

/// What a tenant has in the store: each blob once, however often it is referred to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    pub tenant: TenantId,
    pub bytes: u64,
    pub blobs: u64,
}
