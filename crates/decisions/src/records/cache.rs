//! Cache: files that a job left for later ones, found again by a key.

use wire::{BlobId, CacheId, Digest, JobId, TenantId, Time};

use crate::records::run::Trust;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    pub id: CacheId,
    pub name: CacheName,
    pub blob: BlobId,
    pub digest: Digest,
    pub bytes: u64,
    /// Whose success saved it.
    pub job: JobId,
    pub created_at: Time,
    /// When a job last found it, to the hour.
    pub used_at: Time,
    /// Nothing is held for it any more; the next job may save under its name again.
    pub dropped: bool,
}

/// Who may find a cache, and by which key. What an untrusted job saves never gets the name of a trusted one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CacheName {
    pub tenant: TenantId,
    pub trust: Trust,
    pub key: String,
}

/// Whose caches a job may read, its own kind first: a trusted one never sees what a stranger saved.
pub fn readable(trust: Trust) -> &'static [Trust] {
    match trust {
        Trust::Trusted => &[Trust::Trusted],
        Trust::Untrusted => &[Trust::Untrusted, Trust::Trusted],
    }
}
