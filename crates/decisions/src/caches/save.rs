//! What a job's success saves. The first to save a key wins: whoever comes later changes nothing, and that is no error.

use wire::{CacheId, Digest, TenantId};

use crate::blobs::{asks_for, possessed, refer};
use crate::records::{Cache, CacheName, Execution, Job, Run, Trust};
use crate::{Ask, Draft, Refusal};

/// Of one job.
pub const CACHES_MAX: usize = 100;
/// Of one key.
pub const KEY_BYTES_MAX: usize = 512;

#[derive(Debug, Clone)]
pub struct Saves {
    /// The job's own, and its run's; looked at before, so that the names can be asked for.
    pub tenant: TenantId,
    pub trust: Trust,
    pub caches: Vec<SavedCache>,
}

#[derive(Debug, Clone)]
pub struct SavedCache {
    pub key: String,
    pub digest: Digest,
}

/// A key that can be kept and shown in one line.
pub fn check_key(key: &str) -> Result<(), Refusal> {
    let fits = (1..=KEY_BYTES_MAX).contains(&key.len()) && !key.chars().any(char::is_control);
    let problem = || format!("a cache's key has 1 to {KEY_BYTES_MAX} bytes and no control characters");
    fits.then_some(()).ok_or_else(|| Refusal::InvalidInput { field: "caches", problem: problem() })
}

impl Saves {
    pub fn asks(&self, asks: &mut Vec<Ask>) {
        for cache in &self.caches {
            asks.push(Ask::Cache(self.name(cache)));
            asks_for(asks, self.tenant, cache.digest);
        }
    }

    /// In the commit that sets COMMITTED.
    pub fn keep(&self, draft: &mut Draft<'_>, execution: &Execution) -> Result<(), Refusal> {
        let job: Job = draft.copy(&execution.job());
        let run = job.run.map(|run| draft.copy::<Run>(&run));
        if job.tenant != self.tenant || run.as_ref().map_or(Trust::Trusted, |run| run.trust) != self.trust {
            return Err(Refusal::TenantNotFound);
        }
        if self.caches.len() > CACHES_MAX {
            let problem = format!("{} caches; at most {CACHES_MAX}", self.caches.len());
            return Err(Refusal::InvalidInput { field: "caches", problem });
        }
        self.caches.iter().try_for_each(|cache| check_key(&cache.key))?;
        self.caches.iter().for_each(|cache| self.keep_one(draft, &job, execution, cache));
        Ok(())
    }

    /// Bytes that the tenant does not have cannot be kept; a cache is no reason to refuse a success.
    fn keep_one(&self, draft: &mut Draft<'_>, job: &Job, execution: &Execution, cache: &SavedCache) {
        let name = self.name(cache);
        if draft.get::<Cache>(&name).is_some_and(|known| !known.dropped) {
            return;
        }
        let Some(blob) = possessed(draft, self.tenant, cache.digest) else { return };
        refer(draft, blob.id, "a job's cache");
        draft.put(Cache {
            id: CacheId::derived(draft.now, execution.id.text().as_str(), &cache.key),
            name,
            blob: blob.id,
            digest: cache.digest,
            bytes: blob.length,
            job: job.id,
            created_at: draft.now,
            used_at: draft.now,
            dropped: false,
        });
    }

    fn name(&self, cache: &SavedCache) -> CacheName {
        CacheName { tenant: self.tenant, trust: self.trust, key: cache.key.clone() }
    }
}
