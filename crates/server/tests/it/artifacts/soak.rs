//! Collections one after the other, beside eight who upload, publish, withdraw, restore and give up; every published byte
//! is read and hashed again. 100 collections here, as many as `DELTACI_SOAK_COLLECTIONS` says in `cargo xtask soak`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use decisions::records::{Progress, Version};
use decisions::versions::{RestoreVersion, TombstoneVersion, Verdict};
use decisions::{Answer, Refusal};
use server::artifacts::Trouble;
use server::artifacts::uploads::{Announced, abort, start};
use server::artifacts::versions::publish;
use server::{Failure, Mint};
use wire::TenantId;

use crate::artifacts::yard::{Yard, digest, large, name};
use crate::script::block_on;

const WORKERS: u64 = 8;
const COLLECTIONS: u64 = 100;
const GRACE: Duration = Duration::from_millis(40);
const UPLOAD_TTL: Duration = Duration::from_millis(400);
/// So few that everybody sends the same bytes often, so many that some are left alone.
const CONTENTS: u64 = 240;
const PUSHES_BETWEEN: u64 = 6;
/// Published versions that a worker keeps and looks at again; older ones are withdrawn.
const KEPT: usize = 12;

#[derive(Default)]
struct Counters {
    pushed: AtomicU64,
    published: AtomicU64,
    verified: AtomicU64,
    restored: AtomicU64,
}

#[test]
fn nothing_published_is_lost_and_nothing_is_left_behind() {
    block_on(async {
        let collections =
            std::env::var("DELTACI_SOAK_COLLECTIONS").map_or(COLLECTIONS, |it| it.parse().unwrap());
        let yard = Arc::new(Yard::open(GRACE, UPLOAD_TTL).await);
        let (stop, counters) = (Arc::new(AtomicBool::new(false)), Arc::new(Counters::default()));
        let upkeep = tokio::spawn(yard.upkeep().run());
        let workers: Vec<_> = (0..WORKERS)
            .map(|number| tokio::spawn(work(yard.clone(), number, stop.clone(), counters.clone())))
            .collect();
        let mut deleted = 0;
        for number in 0..collections {
            // However fast this machine collects, the others have done something in between.
            while counters.pushed.load(Ordering::Relaxed) < number * PUSHES_BETWEEN {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let collection = yard.collect().await;
            assert_eq!(collection.state, Progress::Done, "{}", collection.message);
            deleted += collection.deleted;
        }
        stop.store(true, Ordering::Relaxed);
        let mut published = Vec::new();
        for worker in workers {
            published.extend(worker.await.unwrap());
        }
        for version in &published {
            yard.verify(version).await;
        }
        upkeep.abort();
        tokio::time::sleep(UPLOAD_TTL).await;
        yard.come_to_rest().await;
        yard.assert_at_rest().await;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        println!(
            "{collections} collections, {deleted} blobs deleted; {} pushes, {} publications, {} restores, {} versions read again",
            count(&counters.pushed),
            count(&counters.published),
            count(&counters.restored),
            count(&counters.verified),
        );
        assert!(deleted > collections, "the collections had something to do: {deleted}");
        assert!(count(&counters.published) > collections, "the others had, too");
    });
}

/// Returns what it has published and not withdrawn.
async fn work(yard: Arc<Yard>, number: u64, stop: Arc<AtomicBool>, counters: Arc<Counters>) -> Vec<Version> {
    let tenant = yard.tenants[(number % 2) as usize];
    let mut dice = number + 1;
    let mut roll = move |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    let mut kept: Vec<Version> = Vec::new();
    let mut round = 0;
    while !stop.load(Ordering::Relaxed) {
        round += 1;
        let contents: Vec<Vec<u8>> = (0..1 + roll(3)).map(|_| content(roll(CONTENTS))).collect();
        for bytes in &contents {
            pushed(&yard, tenant, bytes).await;
            counters.pushed.fetch_add(1, Ordering::Relaxed);
        }
        match roll(8) {
            0 => give_up(&yard, tenant, &contents[0]).await,
            1 => tokio::time::sleep(GRACE * 2).await, // and let it be collected
            _ => {
                let named = name(tenant, &format!("{number}.{round}"));
                let digests: Vec<_> = contents.iter().map(|bytes| digest(bytes)).collect();
                if yard.draft(&named, &digests).await.is_some() {
                    let version =
                        publish(&yard.artifacts, &yard.engine, &named, "test", false).await.unwrap();
                    counters.published.fetch_add(1, Ordering::Relaxed);
                    kept.push(version);
                }
            }
        }
        if let Some(version) = kept.get(roll(KEPT as u64) as usize) {
            yard.verify(version).await;
            counters.verified.fetch_add(1, Ordering::Relaxed);
        }
        while kept.len() > KEPT {
            let version = kept.remove(0);
            let then = [Then::Nothing, Then::RestoreAtOnce, Then::RestoreLate][roll(3) as usize];
            if withdraw(&yard, &version, then).await {
                counters.restored.fetch_add(1, Ordering::Relaxed);
                yard.verify(&version).await;
                kept.push(version);
            }
        }
    }
    kept
}

/// On a machine that pauses, an upload's short time may be over before its bytes are there: it is sent again.
async fn pushed(yard: &Yard, tenant: TenantId, bytes: &[u8]) {
    while let Err(error) = yard.push(tenant, bytes).await {
        assert!(is_too_late(&error), "{error:?}");
    }
}

fn is_too_late(error: &Trouble) -> bool {
    matches!(error, Trouble::Failed(Failure::Refused(Refusal::UploadEnded { .. })))
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    Nothing,
    RestoreAtOnce,
    /// About when its retention is over.
    RestoreLate,
}

/// Withdraws it, and may try to bring it back: whether it is back.
async fn withdraw(yard: &Yard, version: &Version, then: Then) -> bool {
    let (named, retention) = (version.name.clone(), GRACE);
    yard.engine.perform(TombstoneVersion { name: named.clone(), retention }).await.unwrap();
    match then {
        Then::Nothing => return false,
        Then::RestoreAtOnce => {}
        Then::RestoreLate => tokio::time::sleep(GRACE - Duration::from_millis(5)).await,
    }
    match yard.engine.perform(RestoreVersion { name: named, verdict: Verdict::Allow }).await {
        Ok(Answer::VersionIs { .. }) => true,
        Err(Failure::Refused(Refusal::RetentionOver)) => false,
        other => panic!("a restore was answered with {other:?}"),
    }
}

/// Starts an upload and does not finish it.
async fn give_up(yard: &Yard, tenant: TenantId, bytes: &[u8]) {
    let mut other = bytes.to_vec();
    other.push(Mint.jitter().to_bits() as u8);
    let announced = Announced {
        tenant,
        digest: digest(&other),
        length: other.len() as u64,
        execution: None,
        measured: None,
    };
    let upload = start(&yard.engine, announced).await.unwrap();
    if upload.is_open() && other.last().is_some_and(|byte| byte % 2 == 0) {
        let aborted = abort(&yard.engine, tenant, upload.id).await;
        assert!(aborted.as_ref().err().is_none_or(is_too_late), "{aborted:?}");
    }
}

/// One half lies among the records, the other in files.
fn content(number: u64) -> Vec<u8> {
    let small = format!("content {number} ").repeat(200 + number as usize).into_bytes();
    if number.is_multiple_of(2) { small } else { large(&small) }
}
