//! What a runner's last word saves for later jobs: the caches it uploaded, under the trust of its run.

use decisions::Refusal;
use decisions::caches::{SavedCache, Saves, check_key};
use decisions::records::{Job, Trust};
use wire::Digest;
use wire::runner::CacheRef;

use crate::artifacts::stored::SCHEME;

pub fn saved(job: &Job, trust: Trust, caches: &[CacheRef]) -> Result<Saves, Refusal> {
    let caches = caches.iter().map(one).collect::<Result<_, _>>()?;
    Ok(Saves { tenant: job.tenant, trust, caches })
}

fn one(cache: &CacheRef) -> Result<SavedCache, Refusal> {
    check_key(&cache.key)?;
    let digest: Option<Digest> = cache.uri.strip_prefix(SCHEME).and_then(|digest| digest.parse().ok());
    let digest = digest.ok_or_else(|| {
        let problem = "a cache is `blob:`, `sha256:` and 64 hexadecimal digits".into();
        Refusal::InvalidInput { field: "caches", problem }
    })?;
    Ok(SavedCache { key: cache.key.clone(), digest })
}
