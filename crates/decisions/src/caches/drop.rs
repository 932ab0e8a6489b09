//! Somebody wants a cache gone.

use wire::CacheId;

use super::let_go;
use crate::records::{Cache, CacheName};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct DropCache {
    pub name: CacheName,
    /// Not one that was saved under the name since.
    pub id: CacheId,
}

impl Decide for DropCache {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Cache(self.name.clone()));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let found = draft.get::<Cache>(&self.name).filter(|cache| cache.id == self.id && !cache.dropped);
        let Some(cache) = found.cloned() else { return Err(Refusal::CacheNotFound) };
        let_go(draft, cache);
        Ok(Answer::Settled { moved: true })
    }
}
