//! A cache that nobody has used for long is dropped, and so is one beyond what its tenant may keep.

use wire::Time;

use super::let_go;
use crate::records::{Cache, CacheName};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct CacheDue {
    pub name: CacheName,
    pub because: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// For as long as the policy allows.
    Unused,
    /// Those used later fill what the tenant may keep. One that was used since is not meant.
    Beyond { used_at: Time },
}

impl Decide for CacheDue {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Cache(self.name.clone()));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let known = draft.get::<Cache>(&self.name).filter(|cache| !cache.dropped);
        let Some(cache) = known.cloned() else { return Ok(Answer::Settled { moved: false }) };
        let moved = match self.because {
            Reason::Unused => cache.used_at.plus(draft.policy.cache_ttl) <= draft.now,
            Reason::Beyond { used_at } => cache.used_at == used_at,
        };
        if moved {
            let_go(draft, cache);
        }
        Ok(Answer::Settled { moved })
    }
}
