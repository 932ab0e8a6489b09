//! Caches: what is asked of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use decisions::records::{Cache, CacheName, Trust};
use wire::{CacheId, TenantId, Time};

use super::load::Loader;
use super::tables::Tables;
use crate::caches::{CachesDue, best, end_of};

impl Loader<'_> {
    pub fn cache(&mut self, name: &CacheName) {
        self.tables.caches.bring(name, &mut self.book.caches, &mut self.seen.caches);
        if let Some(cache) = self.tables.caches.get(name) {
            self.blob(cache.blob);
        }
    }
}

impl Tables {
    fn caches_kept(&self) -> impl Iterator<Item = &Cache> {
        self.caches.all().filter(|cache| !cache.dropped)
    }

    pub fn cache(
        &self,
        tenant: TenantId,
        trusts: &[Trust],
        key: &str,
        prefix: Option<&str>,
    ) -> Option<Cache> {
        let name = |trust: &Trust| CacheName { tenant, trust: *trust, key: key.into() };
        let exact = trusts.iter().filter_map(|trust| self.caches.get(&name(trust)));
        let exact = exact.filter(|cache| !cache.dropped).cloned().collect();
        let prefix = prefix.filter(|prefix| end_of(prefix).is_some());
        let begins = |cache: &&Cache| {
            let readable = cache.name.tenant == tenant && trusts.contains(&cache.name.trust);
            readable && prefix.is_some_and(|prefix| cache.name.key.starts_with(prefix))
        };
        best(exact, self.caches_kept().filter(begins).cloned().collect())
    }

    pub fn cache_with(&self, tenant: TenantId, id: CacheId) -> Option<Cache> {
        self.caches_kept().find(|cache| cache.name.tenant == tenant && cache.id == id).cloned()
    }

    pub fn caches_of(&self, tenant: TenantId, after: Option<CacheId>, limit: usize) -> Vec<Cache> {
        let of_tenant = self.caches_kept().filter(|cache| cache.name.tenant == tenant);
        let later = of_tenant.filter(|cache| after.is_none_or(|after| cache.id > after));
        let by_id: BTreeMap<CacheId, &Cache> = later.map(|cache| (cache.id, cache)).collect();
        by_id.into_values().take(limit).cloned().collect()
    }

    pub fn caches_due(&self, now: Time, ttl: Duration, bytes_max: u64, limit: usize) -> CachesDue {
        let mut kept: Vec<&Cache> = self.caches_kept().collect();
        kept.sort_by_key(|cache| Reverse((cache.used_at, &cache.name)));
        let mut totals: BTreeMap<TenantId, u64> = BTreeMap::new();
        let mut due = CachesDue::default();
        for cache in kept {
            let total = totals.entry(cache.name.tenant).or_default();
            *total += cache.bytes;
            if *total > bytes_max {
                due.beyond.push((cache.name.clone(), cache.used_at));
            }
            if cache.used_at.plus(ttl) <= now {
                due.unused.push(cache.name.clone());
            }
        }
        due.beyond.reverse();
        due.beyond.truncate(limit);
        due.unused.reverse();
        due.unused.truncate(limit);
        due
    }
}
