//! Collections on their own: what they take, what they leave, who goes on with one that was left.

use std::time::Duration;

use decisions::Answer;
use decisions::collections::{ClaimBlobs, StartCollection, TakeOverCollection};
use decisions::records::Progress;
use decisions::versions::{PublishVersion, Verdict};
use server::Mint;
use server::artifacts::versions::publish;
use server::perform::Failure;
use store::Store;

use crate::artifacts::yard::{Yard, digest, large, name};
use crate::script::block_on;

/// Longer than any pause of this machine.
const GRACE: Duration = Duration::from_millis(1_500);
const LONG: Duration = Duration::from_secs(3600);

async fn pass() {
    tokio::time::sleep(GRACE + Duration::from_millis(100)).await;
}

#[test]
fn what_nothing_refers_to_goes_after_its_grace_and_the_rest_stays() {
    block_on(async {
        let yard = Yard::open(GRACE, LONG).await;
        let tenant = yard.tenants[0];
        yard.push(tenant, b"kept").await.unwrap();
        yard.push(tenant, b"garbage").await.unwrap();
        let named = name(tenant, "1");
        yard.draft(&named, &[digest(b"kept")]).await.unwrap();
        let version = publish(&yard.artifacts, &yard.engine, &named, "test", false).await.unwrap();
        pass().await;
        yard.push(tenant, b"fresh").await.unwrap();
        let collection = yard.collect().await;
        assert_eq!((collection.state, collection.deleted, collection.bytes), (Progress::Done, 1, 7));
        yard.verify(&version).await;
        assert_eq!(yard.engine.store().blob_of(tenant, digest(b"garbage")).await.unwrap(), None);
        assert!(yard.engine.store().blob_of(tenant, digest(b"fresh")).await.unwrap().is_some());
        assert_eq!(yard.engine.store().usage(tenant).await.unwrap().bytes, 9);
        // The same bytes again are another generation.
        let again = yard.push(tenant, b"garbage").await.unwrap();
        assert_eq!(again.got, Some(again.blob));
    });
}

/// Nobody outside hears of these, and each stops a deletion that must not be.
#[test]
fn who_may_not_claim_is_told_so() {
    block_on(async {
        let yard = Yard::open(GRACE, LONG).await;
        let id = Mint.collection(yard.engine.clock().now());
        let claim = |holder| ClaimBlobs { collection: id, holder, blobs: Vec::new() };
        expect_refused(yard.engine.perform(claim(1)).await, "collection_not_found");
        yard.engine.perform(StartCollection { id, holder: 1 }).await.unwrap();
        expect_refused(yard.engine.perform(claim(1)).await, "mark_not_complete");
        expect_refused(yard.engine.perform(claim(2)).await, "collection_lost");
        let take_over = TakeOverCollection { collection: id, holder: 2 };
        expect_refused(yard.engine.perform(take_over).await, "collection_lost");
    });
}

#[test]
fn what_the_policy_was_not_shown_is_not_published() {
    block_on(async {
        let yard = Yard::open(GRACE, LONG).await;
        let named = name(yard.tenants[0], "1");
        yard.push(yard.tenants[0], b"bytes").await.unwrap();
        yard.draft(&named, &[digest(b"bytes")]).await.unwrap();
        let (verdict, judged) = (Verdict::Allow, digest(b"the entries of an earlier draft"));
        let publish = PublishVersion { name: named.clone(), verdict, judged, release: false };
        expect_refused(yard.engine.perform(publish).await, "version_changed");
        let version = yard.engine.store().version(&named).await.unwrap().unwrap();
        assert_eq!(version.state.get(), machines::version::State::Draft);
    });
}

fn expect_refused(answer: Result<Answer, Failure>, code: &str) {
    let refused = answer.expect_err("it is refused");
    assert_eq!(refused.code(), code, "{refused}");
}

#[test]
fn a_dry_run_changes_nothing_and_says_what_would_go() {
    block_on(async {
        let yard = Yard::open(GRACE, LONG).await;
        yard.push(yard.tenants[0], b"garbage").await.unwrap();
        pass().await;
        let log = yard.engine.store().log_bounds().await.unwrap();
        let (blobs, keys) = (yard.blobs().await, yard.keys().await);
        let report = yard.collector.request(true).await.unwrap();
        assert!(report.dry_run);
        assert_eq!((report.collection.deleted, report.collection.bytes), (1, 7));
        assert_eq!(yard.engine.store().log_bounds().await.unwrap(), log);
        assert_eq!((yard.blobs().await, yard.keys().await), (blobs, keys));
        assert_eq!(yard.engine.store().collector().await.unwrap().epoch, 0);
        assert_eq!(yard.collector.find(report.collection.id).await.unwrap(), Some(report));
    });
}

#[test]
fn bytes_that_cannot_be_deleted_do_not_keep_the_others_and_are_tried_again() {
    block_on(async {
        let yard = Yard::open(GRACE, LONG).await;
        let tenant = yard.tenants[0];
        let stuck = yard.push(tenant, &large(b"stuck")).await.unwrap();
        yard.push(tenant, b"garbage").await.unwrap();
        // A folder in its place: it cannot be deleted like a file.
        let path = yard.path_of(&stuck);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir_all(path.join("x")).unwrap();
        pass().await;
        let first = yard.collect().await;
        assert_eq!((first.state, first.deleted), (Progress::Failed, 1));
        assert!(first.message.contains("1 blobs"), "{}", first.message);
        std::fs::remove_dir_all(&path).unwrap();
        let second = yard.collect().await;
        assert_eq!((second.state, second.deleted), (Progress::Done, 1));
        yard.assert_at_rest().await;
    });
}

#[test]
fn a_collection_whose_worker_has_gone_is_taken_over() {
    block_on(async {
        let yard = Yard::open(GRACE, LONG).await;
        yard.push(yard.tenants[0], b"garbage").await.unwrap();
        pass().await;
        // Begun by a server that was killed; its hold must run out first, so time is not on our side here.
        let id = Mint.collection(yard.engine.clock().now());
        yard.engine.perform(StartCollection { id, holder: 1 }).await.unwrap();
        yard.collector.take_over().await.unwrap();
        let running = yard.collector.find(id).await.unwrap().unwrap().collection;
        assert_eq!((running.state, running.holder), (Progress::Running, 1), "somebody works on it");
        let asked = yard.collector.request(false).await.unwrap().collection;
        assert_eq!(asked.id, id, "one at a time");
    });
}

#[test]
fn two_tenants_share_bytes_and_neither_knows_of_the_other() {
    block_on(async {
        let yard = Yard::open(GRACE, LONG).await;
        let [one, two] = yard.tenants;
        let bytes = large(b"the same");
        let first = yard.push(one, &bytes).await.unwrap();
        assert_eq!(yard.engine.store().blob_of(two, digest(&bytes)).await.unwrap(), None);
        assert!(yard.draft(&name(two, "1"), &[digest(&bytes)]).await.is_none());
        let second = yard.push(two, &bytes).await.unwrap();
        assert_eq!(second.got, first.got, "stored once");
        yard.upkeep().round().await.unwrap();
        assert_eq!(yard.keys().await.len(), 1, "what the second one sent is gone");
    });
}
