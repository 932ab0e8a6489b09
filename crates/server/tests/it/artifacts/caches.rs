//! Upkeep of caches: those that nobody used for long go, and of too many the longest unused.

use std::time::Duration;

use decisions::doctor::check_blob;
use decisions::jobs::SubmitJob;
use decisions::records::{Blob, Cache, CacheName, Trust};
use decisions::{Ask, Changes};
use serde_json::value::RawValue;
use server::Mint;
use store::Store;
use wire::{CacheId, JobId, TenantId, Time};

use crate::artifacts::yard::{Yard, digest};
use crate::script::block_on;

const LONG: Duration = Duration::from_secs(3600);

async fn job(yard: &Yard, tenant: TenantId) -> JobId {
    let id = Mint.job(yard.engine.clock().now());
    let payload = RawValue::from_string("{}".into()).unwrap();
    let submit = SubmitJob {
        id,
        tenant,
        key: None,
        payload,
        runs_on: Vec::new(),
        priority: 0,
        attempts_max: None,
        timeout_seconds: None,
        effect_once: false,
    };
    yard.engine.perform(submit).await.unwrap();
    id
}

/// A cache of 40 bytes that was last used so long ago, as a job's success would have left it.
async fn keep(yard: &Yard, tenant: TenantId, job: JobId, key: &str, unused: Duration) {
    let content = key.repeat(40);
    let digest = digest(content.as_bytes());
    yard.push(tenant, content.as_bytes()).await.unwrap();
    let (store, now) = (yard.engine.store(), yard.engine.clock().now());
    let used_at = Time::from_micros(now.as_micros() - unused.as_micros() as i64);
    let mut loaded = store.load(&[Ask::Content(tenant, digest)], now).await.unwrap();
    let blob = loaded.book.blobs.peek_all().next().expect("it was pushed").clone();
    let name = CacheName { tenant, trust: Trust::Trusted, key: key.into() };
    let id = CacheId::derived(now, "test", key);
    let mut changes = Changes::default();
    let cache = Cache {
        id,
        name: name.clone(),
        blob: blob.id,
        digest,
        bytes: 40,
        job,
        created_at: used_at,
        used_at,
        dropped: false,
    };
    changes.caches.insert(name, cache);
    changes.blobs.insert(blob.id, Blob { refs: blob.refs + 1, ..blob });
    loaded.book.apply(changes);
    store.save(loaded.session, loaded.book).await.unwrap();
}

#[test]
fn the_unused_go_and_of_too_many_the_longest_unused() {
    block_on(async {
        let yard = Yard::open(LONG, LONG).await;
        let [one, two] = yard.tenants;
        let (ours, theirs) = (job(&yard, one).await, job(&yard, two).await);
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        // A hundred bytes and an hour are what the yard's upkeep allows.
        for (key, unused) in [("a", 30), ("b", 10), ("c", 20)] {
            keep(&yard, one, ours, key, minutes(unused)).await;
        }
        keep(&yard, two, theirs, "d", minutes(50)).await;
        keep(&yard, two, theirs, "e", minutes(70)).await;
        let upkeep = yard.upkeep();
        for _ in 0..2 {
            upkeep.caches_round().await.unwrap();
            let kept = async |tenant| {
                let caches = yard.engine.store().caches_of(tenant, None, 10).await.unwrap();
                let mut keys: Vec<String> = caches.into_iter().map(|cache| cache.name.key).collect();
                keys.sort();
                keys.concat()
            };
            assert_eq!((kept(one).await, kept(two).await), ("bc".into(), "d".into()));
        }
        for file in yard.engine.store().blob_files_after(None, 100).await.unwrap() {
            assert_eq!(check_blob(&file), []);
        }
    });
}
