//! A job has found a cache: it was used, and its bytes stay long enough to be fetched.

use std::time::Duration;

use wire::CacheId;

use crate::blobs::{promise, revive};
use crate::records::{Blob, Cache, CacheName};
use crate::{Answer, Ask, Decide, Draft, Refusal};

/// How coarsely it is kept when a cache was used.
const STEP: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone)]
pub struct TouchCache {
    pub name: CacheName,
    /// As it was found.
    pub id: CacheId,
}

impl TouchCache {
    /// Whether touching it would change anything; whoever found it need not ask otherwise.
    pub fn is_wanted(cache: &Cache, now: wire::Time) -> bool {
        cache.used_at.plus(STEP) <= now
    }
}

impl Decide for TouchCache {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Cache(self.name.clone()), Ask::Collector]);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let found = draft.get::<Cache>(&self.name).filter(|cache| cache.id == self.id && !cache.dropped);
        let Some(mut cache) = found.cloned() else { return Err(Refusal::CacheNotFound) };
        let moved = TouchCache::is_wanted(&cache, draft.now);
        if moved {
            let mut blob: Blob = draft.copy(&cache.blob);
            revive(draft, &mut blob, "a job found its cache");
            promise(draft, &mut blob);
            draft.put(blob);
            cache.used_at = draft.now;
            draft.put(cache);
        }
        Ok(Answer::Settled { moved })
    }
}
