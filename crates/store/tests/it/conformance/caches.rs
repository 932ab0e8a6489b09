//! Caches: written and read back, found by key or by what their key begins with, saved by a success, dropped when due.

use std::time::Duration;

use decisions::caches::{CacheDue, DropCache, Reason, SavedCache, Saves, TouchCache};
use decisions::leases::Complete;
use decisions::records::{Blob, Cache, CacheName, Trust};
use decisions::{Answer, Ask, Refusal};
use store::{CachesDue, Store};
use wire::{CacheId, TenantId, Time};

use crate::commands::{ack, complete, fail, job_id, lease, submit, tenant};
use crate::desk::Desk;
use crate::forged::artifacts::{bare_blob, blob_id, digest, only, possession, put};
use crate::forged::{HARD, at, little_world, some_tenant};
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    a_cache_survives_with_all_its_fields,
    the_very_key_goes_before_anything_newer,
    a_prefix_means_itself_and_nothing_like_it,
    nobody_sees_another_tenants_or_what_a_stranger_saved,
    those_that_go_are_the_longest_unused,
    the_first_to_save_a_key_wins,
    only_a_success_saves,
    what_the_tenant_does_not_have_is_not_saved,
    a_cache_holds_its_bytes_until_it_is_dropped,
    one_that_was_used_meanwhile_stays,
]);

const ALL: usize = usize::MAX;
const DAY: Duration = Duration::from_secs(24 * 3600);

fn ours() -> TenantId {
    TenantId::from_u128(50)
}

fn named(tenant: TenantId, trust: Trust, key: &str) -> CacheName {
    CacheName { tenant, trust, key: key.into() }
}

/// Of the little world's job, with blob 1.
fn cache(number: u128, trust: Trust, key: &str) -> Cache {
    Cache {
        id: CacheId::from_u128(number),
        name: named(ours(), trust, key),
        blob: blob_id(1),
        digest: digest(1),
        bytes: 1,
        job: job_id(50),
        created_at: at(number as i64),
        used_at: at(number as i64),
        dropped: false,
    }
}

async fn filled<S: Store>(desk: &Desk<S>, caches: impl IntoIterator<Item = Cache>) {
    let mut world = little_world();
    put(&mut world, [bare_blob(1)]);
    put(&mut world, [some_tenant(7)]);
    put(&mut world, caches);
    desk.forge(world).await.unwrap();
}

async fn found<S: Store>(desk: &Desk<S>, trusts: &[Trust], key: &str, prefix: Option<&str>) -> Option<u128> {
    let found = desk.store.find_cache(ours(), trusts, key, prefix).await.unwrap();
    found.map(|cache| cache.id.as_u128())
}

async fn a_cache_survives_with_all_its_fields<S: Store>(desk: Desk<S>) {
    let first = Cache { bytes: i64::MAX as u64, dropped: true, ..cache(1, Trust::Untrusted, HARD) };
    filled(&desk, [first.clone()]).await;
    let ask = Ask::Cache(first.name.clone());
    let book = desk.book(std::slice::from_ref(&ask)).await;
    assert_eq!(book.caches.peek(&first.name), Some(&first));
    assert!(book.blobs.peek(&blob_id(1)).is_some(), "with its blob");
    let again = Cache { name: first.name.clone(), ..cache(2, Trust::Trusted, "") };
    desk.forge_after(std::slice::from_ref(&ask), only([again.clone()])).await.unwrap();
    assert_eq!(desk.book(&[ask]).await.caches.peek(&first.name), Some(&again));
    assert_eq!(desk.store.cache_with(ours(), again.id).await, Ok(Some(again.clone())));
    assert_eq!(desk.store.cache_with(ours(), first.id).await, Ok(None));
    assert_eq!(desk.store.caches_of(ours(), None, ALL).await, Ok(vec![again.clone()]));
    assert_eq!(desk.store.caches_of(ours(), Some(again.id), ALL).await, Ok(vec![]));
}

async fn the_very_key_goes_before_anything_newer<S: Store>(desk: Desk<S>) {
    let trusted = |number, key| cache(number, Trust::Trusted, key);
    filled(&desk, [trusted(1, "cargo:a"), trusted(3, "cargo:b"), trusted(2, "cargo:c")]).await;
    let look = async |key, prefix| found(&desk, &[Trust::Trusted], key, prefix).await;
    assert_eq!(look("cargo:a", Some("cargo:")).await, Some(1));
    assert_eq!(look("cargo:z", Some("cargo:")).await, Some(3), "the newest that begins so");
    assert_eq!(look("cargo:z", Some("npm:")).await, None);
    assert_eq!(look("cargo:z", None).await, None);
    let dropped = Cache { dropped: true, ..trusted(3, "cargo:b") };
    desk.forge_after(&[Ask::Cache(dropped.name.clone())], only([dropped])).await.unwrap();
    assert_eq!(look("cargo:b", Some("cargo:")).await, Some(2), "what was dropped is not found");
    assert_eq!(look("cargo:b", None).await, None);
}

async fn a_prefix_means_itself_and_nothing_like_it<S: Store>(desk: Desk<S>) {
    let keys = ["a%b", "aXb", "a_", "ab", "b", "ä1", "\u{10ffff}x", "A"];
    let caches = (1..).zip(keys).map(|(number, key)| cache(number, Trust::Trusted, key));
    filled(&desk, caches).await;
    let look = async |prefix| found(&desk, &[Trust::Trusted], "none", Some(prefix)).await;
    assert_eq!(look("a%").await, Some(1));
    assert_eq!(look("a_").await, Some(3));
    assert_eq!(look("a").await, Some(4));
    assert_eq!(look("ä").await, Some(6));
    assert_eq!(look("\u{10ffff}").await, None, "beyond the last character there is no range");
    assert_eq!(look("").await, None, "an empty one would mean all");
    assert_eq!(look("' OR 1 = 1 --").await, None);
}

async fn nobody_sees_another_tenants_or_what_a_stranger_saved<S: Store>(desk: Desk<S>) {
    let theirs =
        Cache { name: named(TenantId::from_u128(7), Trust::Trusted, "k"), ..cache(9, Trust::Trusted, "k") };
    let both = [cache(1, Trust::Trusted, "k"), cache(2, Trust::Untrusted, "k:stranger"), theirs];
    filled(&desk, both).await;
    let (trusted, stranger) = ([Trust::Trusted], [Trust::Untrusted, Trust::Trusted]);
    assert_eq!(found(&desk, &trusted, "k:stranger", Some("k")).await, Some(1));
    assert_eq!(found(&desk, &trusted, "k:stranger", None).await, None, "not even by its own name");
    assert_eq!(found(&desk, &stranger, "k:stranger", None).await, Some(2));
    assert_eq!(found(&desk, &stranger, "k", None).await, Some(1), "a stranger may use what is trusted");
    assert_eq!(found(&desk, &stranger, "other", Some("k")).await, Some(2));
    let own = Cache { id: CacheId::from_u128(3), ..cache(0, Trust::Untrusted, "k") };
    desk.forge(only([own])).await.unwrap();
    assert_eq!(found(&desk, &stranger, "k", None).await, Some(3), "and prefers its own kind");
    assert_eq!(found(&desk, &trusted, "k", None).await, Some(1));
}

/// PostgreSQL reads its own clock: what was used just now was used in a far future.
async fn those_that_go_are_the_longest_unused<S: Store>(desk: Desk<S>) {
    let never = Time::from_seconds(253_402_207_199);
    let sized = |number, key, bytes, used_at| Cache { bytes, used_at, ..cache(number, Trust::Trusted, key) };
    filled(
        &desk,
        [
            sized(1, "a", 40, at(3)),
            sized(2, "b", 40, at(1)),
            sized(3, "c", 40, never),
            Cache { dropped: true, ..sized(4, "d", 1000, at(0)) },
            Cache { name: named(TenantId::from_u128(7), Trust::Trusted, "x"), ..sized(5, "x", 90, at(2)) },
        ],
    )
    .await;
    desk.pass(2 * DAY);
    let due = async |bytes_max, limit| {
        let due = desk.store.caches_due(desk.now(), DAY, bytes_max, limit).await.unwrap();
        let CachesDue { unused, beyond } = due;
        let keys = |names: Vec<CacheName>| names.into_iter().map(|name| name.key).collect::<String>();
        let times: Vec<Time> = beyond.iter().map(|(_, used_at)| *used_at).collect();
        (keys(unused), keys(beyond.into_iter().map(|(name, _)| name).collect()), times)
    };
    assert_eq!(due(100, ALL).await, ("bxa".into(), "b".into(), vec![at(1)]));
    assert_eq!(due(120, ALL).await.1, "");
    assert_eq!(due(80, ALL).await.1, "bx", "each tenant has its own bound");
    assert_eq!(due(0, ALL).await.1, "bxac");
    assert_eq!(due(0, 1).await, ("b".into(), "b".into(), vec![at(1)]));
}

fn saving(lease: &decisions::leases::Lease, key: &str, blob: u8) -> Complete {
    let caches = vec![SavedCache { key: key.into(), digest: digest(blob) }];
    Complete {
        saves: Some(Box::new(Saves { tenant: tenant(), trust: Trust::Trusted, caches })),
        ..complete(lease)
    }
}

/// Blobs 1 and 2 are the tenant's.
async fn with_blobs<S: Store>(desk: Desk<S>) -> Desk<S> {
    let desk = desk.open().await;
    let blobs = [1, 2].map(|number| Blob { length: 10 * number as u64, ..bare_blob(number) });
    let mut changes = only(blobs.clone());
    put(&mut changes, blobs.iter().map(|blob| possession(tenant(), blob)));
    desk.forge(changes).await.unwrap();
    desk
}

async fn leased<S: Store>(desk: &Desk<S>, number: u128) -> decisions::leases::Lease {
    let lease = lease(number);
    desk.must(submit(number)).await;
    desk.must_grant(lease.clone()).await;
    desk.must(ack(&lease)).await;
    lease
}

async fn kept<S: Store>(desk: &Desk<S>, key: &str) -> Option<Cache> {
    desk.store.find_cache(tenant(), &[Trust::Trusted], key, None).await.unwrap()
}

async fn refs<S: Store>(desk: &Desk<S>, blob: u128) -> (u64, u64) {
    let file = desk.store.blob_files_after(None, ALL).await.unwrap();
    let file = file.into_iter().find(|file| file.blob.id == blob_id(blob)).unwrap();
    (file.blob.refs, file.refs)
}

async fn the_first_to_save_a_key_wins<S: Store>(desk: Desk<S>) {
    let desk = with_blobs(desk).await;
    let (one, other) = (leased(&desk, 1).await, leased(&desk, 2).await);
    let third = leased(&desk, 3).await;
    desk.must(saving(&one, "k", 1)).await;
    let first = kept(&desk, "k").await.unwrap();
    assert_eq!((first.digest, first.bytes, first.job), (digest(1), 10, job_id(1)));
    // In one batch with another, and after it: whoever comes later is answered as if nothing were the matter.
    let accepted = Answer::Completed { accepted: true };
    let answers = desk.must_all([saving(&other, "k", 2), saving(&third, "k", 2)]).await;
    assert_eq!(answers, [accepted.clone(), accepted]);
    assert_eq!(kept(&desk, "k").await, Some(first));
    assert_eq!((refs(&desk, 1).await, refs(&desk, 2).await), ((1, 1), (0, 0)));
}

async fn only_a_success_saves<S: Store>(desk: Desk<S>) {
    let desk = with_blobs(desk).await;
    let lease = leased(&desk, 1).await;
    let saves = saving(&lease, "k", 1).saves;
    desk.must(Complete { saves, ..fail(&lease, "no") }).await;
    assert_eq!((kept(&desk, "k").await, refs(&desk, 1).await), (None, (0, 0)));
}

async fn what_the_tenant_does_not_have_is_not_saved<S: Store>(desk: Desk<S>) {
    let desk = with_blobs(desk).await;
    desk.forge(only([bare_blob(3)])).await.unwrap(); // somebody else's
    let lease = leased(&desk, 1).await;
    assert_eq!(desk.must(saving(&lease, "k", 3)).await, Answer::Completed { accepted: true });
    assert_eq!((kept(&desk, "k").await, refs(&desk, 3).await), (None, (0, 0)));
    let lease = leased(&desk, 2).await;
    let mut lying = saving(&lease, "k", 1);
    lying.saves.as_mut().unwrap().trust = Trust::Untrusted;
    assert_eq!(desk.try_one(lying).await, Err(Refusal::TenantNotFound), "the run says whom it trusts");
    let long = "k".repeat(513);
    for key in ["", "a\nb", &long] {
        let refusal = desk.try_one(saving(&lease, key, 1)).await.unwrap_err();
        assert_eq!(refusal.code(), "invalid_input");
    }
}

async fn a_cache_holds_its_bytes_until_it_is_dropped<S: Store>(desk: Desk<S>) {
    let desk = with_blobs(desk).await;
    let lease = leased(&desk, 1).await;
    desk.must(saving(&lease, "k", 1)).await;
    assert_eq!(refs(&desk, 1).await, (1, 1));
    let Cache { id, name, .. } = kept(&desk, "k").await.unwrap();
    let stranger = DropCache { name: name.clone(), id: CacheId::from_u128(1) };
    assert_eq!(desk.try_one(stranger).await, Err(Refusal::CacheNotFound));
    desk.must(DropCache { name: name.clone(), id }).await;
    assert_eq!((kept(&desk, "k").await, refs(&desk, 1).await), (None, (0, 0)));
    assert_eq!(desk.try_one(DropCache { name, id }).await, Err(Refusal::CacheNotFound));
    let lease = leased(&desk, 2).await;
    desk.must(saving(&lease, "k", 2)).await;
    let again = kept(&desk, "k").await.unwrap();
    assert_eq!((again.digest, again.job, again.id == id), (digest(2), job_id(2), false));
    assert_eq!((refs(&desk, 1).await, refs(&desk, 2).await), ((0, 0), (1, 1)));
}

async fn one_that_was_used_meanwhile_stays<S: Store>(desk: Desk<S>) {
    // PostgreSQL's clock stands still for nobody, so the deadline is moved instead of the time.
    let desk = with_blobs(desk).await;
    let lease = leased(&desk, 1).await;
    desk.must(saving(&lease, "k", 1)).await;
    let Cache { id, name, used_at, .. } = kept(&desk, "k").await.unwrap();
    let unused = CacheDue { name: name.clone(), because: Reason::Unused };
    assert_eq!(desk.must(unused.clone()).await, Answer::Settled { moved: false });
    let touch = TouchCache { name: name.clone(), id };
    assert_eq!(desk.must(touch.clone()).await, Answer::Settled { moved: false }, "once an hour is enough");
    let long_ago = Time::from_micros(used_at.as_micros() - 2 * DAY.as_micros() as i64);
    let earlier = Cache { used_at: long_ago, ..kept(&desk, "k").await.unwrap() };
    desk.forge_after(&[Ask::Cache(name.clone())], only([earlier])).await.unwrap();
    let beyond = CacheDue { name: name.clone(), because: Reason::Beyond { used_at: long_ago } };
    assert_eq!(desk.must(touch).await, Answer::Settled { moved: true });
    assert_eq!(desk.must(beyond).await, Answer::Settled { moved: false });
    let impatient = desk.with_policy(|policy| policy.cache_ttl = Duration::ZERO);
    assert_eq!(impatient.must(unused.clone()).await, Answer::Settled { moved: true });
    assert_eq!((kept(&desk, "k").await, refs(&desk, 1).await), (None, (0, 0)));
    assert_eq!(impatient.must(unused).await, Answer::Settled { moved: false });
}
