//! What must not happen to artifacts does not: neither by a race nor by a mistake of ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use decisions::book::Kept;
use decisions::draft::Stated;
use decisions::records::{
    Blob, Bundle, Collection, Collector, Possession, PossessionKey, Progress, Runner, Upload, Usage, Version,
};
use decisions::{Ask, Changes};
use machines::{blob, version};
use store::{Store, StoreError};
use wire::TenantId;

use crate::commands::{exec_id, shared};
use crate::desk::Desk;
use crate::forged::artifacts::{
    artifact_world, bare_blob, bare_bundle, bare_collection, bare_upload, bare_version, blob_id, digest,
    entry, gc_id, name, only, possession, put, upload_id, version_id,
};
use crate::forged::{at, full_runner, some_tenant};
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    one_unclaimed_blob_of_a_digest,
    a_claim_makes_room_for_the_next_generation,
    a_name_is_taken_once_per_tenant,
    one_collection_runs,
    an_id_is_taken_once,
    a_claim_is_for_good,
    what_was_published_stays,
]);

on_stores!(memory, postgres => [
    every_kind_of_record_that_was_read_is_protected,
    what_was_loaded_but_not_read_may_move,
]);

fn ours() -> TenantId {
    TenantId::from_u128(50)
}

fn is_conflict<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict(_)))
}

async fn refuse<S: Store>(desk: &Desk<S>, asks: &[Ask], changes: Changes) {
    let refused = desk.forge_after(asks, changes).await;
    let is_refusal = matches!(refused, Err(StoreError::Conflict(_) | StoreError::Violation(_)));
    assert!(is_refusal, "{refused:?}");
}

/// No race explains it, so the caller is told to look for the guilty command.
async fn violate<S: Store, R: Kept>(desk: &Desk<S>, ask: Ask, record: R) {
    let refused = desk.forge_after(&[ask], only([record])).await;
    assert!(matches!(refused, Err(StoreError::Violation(_))), "{refused:?}");
}

fn claimed(number: u128) -> Blob {
    Blob { claimed_by: Some(gc_id(50)), ..bare_blob(number) }
}

async fn one_unclaimed_blob_of_a_digest<S: Store>(desk: Desk<S>) {
    let same = |number| Blob { digest: digest(1), ..bare_blob(number) };
    desk.forge(only([same(1)])).await.unwrap();
    refuse(&desk, &[], only([same(2)])).await;
    refuse(&desk, &[], only([Blob { state: Stated::stored(blob::State::Tombstoned), ..same(2) }])).await;
    refuse(&desk, &[], only([same(2), same(3)])).await;
    let gone = Blob { claimed_by: Some(gc_id(1)), ..same(4) };
    let deleted = Blob { state: Stated::stored(blob::State::Deleted), ..same(5) };
    desk.forge(only([gone, deleted])).await.unwrap();
    assert_eq!(desk.store.blob_files_after(None, 9).await.unwrap().len(), 3);
}

/// In one batch: the claim, the next of the same digest, and the possession that follows it.
async fn a_claim_makes_room_for_the_next_generation<S: Store>(desk: Desk<S>) {
    desk.forge(artifact_world()).await.unwrap();
    let newer = Blob { id: blob_id(1), ..bare_blob(51) }; // its id comes first
    let mut changes = only([claimed(51), newer.clone()]);
    put(&mut changes, [possession(ours(), &newer)]);
    desk.forge_after(&[Ask::Content(ours(), digest(51))], changes).await.unwrap();
    assert_eq!(desk.store.blob_of(ours(), digest(51)).await, Ok(Some(newer)));
}

async fn a_name_is_taken_once_per_tenant<S: Store>(desk: Desk<S>) {
    let other = some_tenant(7);
    let mut world = artifact_world();
    put(&mut world, [other.clone()]);
    desk.forge(world).await.unwrap();
    let named = |number, tenant| Version { name: name(tenant, "p", "50"), ..bare_version(number, tenant) };
    refuse(&desk, &[], only([named(1, ours())])).await;
    refuse(&desk, &[], only([named(1, other.id), named(2, other.id)])).await;
    desk.forge(only([named(1, other.id), bare_version(2, ours())])).await.unwrap();
}

async fn one_collection_runs<S: Store>(desk: Desk<S>) {
    let running = |number| Collection { state: Progress::Running, ..bare_collection(number) };
    desk.forge(only([running(1), bare_collection(2), bare_collection(3)])).await.unwrap();
    refuse(&desk, &[], only([running(4)])).await;
    // The end of one and the start of the next, in one batch.
    let ended = Collection { state: Progress::Failed, ..running(1) };
    desk.forge_after(&[Ask::Collection(gc_id(1))], only([ended, running(4)])).await.unwrap();
    assert_eq!(desk.store.collection(gc_id(4)).await.unwrap().map(|it| it.state), Some(Progress::Running));
}

async fn an_id_is_taken_once<S: Store>(desk: Desk<S>) {
    let world = artifact_world();
    desk.forge(world.clone()).await.unwrap();
    let take = |take: fn(&mut Changes, &Changes)| {
        let mut changes = Changes::default();
        take(&mut changes, &world);
        changes
    };
    refuse(&desk, &[], take(|to, from| to.uploads = from.uploads.clone())).await;
    refuse(&desk, &[], take(|to, from| to.blobs = from.blobs.clone())).await;
    refuse(&desk, &[], take(|to, from| to.possessions = from.possessions.clone())).await;
    refuse(&desk, &[], take(|to, from| to.usages = from.usages.clone())).await;
    refuse(&desk, &[], take(|to, from| to.versions = from.versions.clone())).await;
    refuse(&desk, &[], take(|to, from| to.bundles = from.bundles.clone())).await;
    refuse(&desk, &[], take(|to, from| to.collections = from.collections.clone())).await;
    refuse(&desk, &[], take(|to, from| to.collector = from.collector.clone())).await;
}

async fn a_claim_is_for_good<S: Store>(desk: Desk<S>) {
    desk.forge(artifact_world()).await.unwrap();
    let ask = || Ask::Blob(blob_id(51));
    violate(&desk, Ask::Blob(blob_id(50)), Blob { refs: 2, length: 7, ..claimed(50) }).await;
    desk.forge_after(&[ask()], only([claimed(51)])).await.unwrap();
    violate(&desk, ask(), bare_blob(51)).await;
    violate(&desk, ask(), Blob { refs: 1, ..claimed(51) }).await;
    let eligible =
        Blob { state: Stated::stored(blob::State::EligibleForGc), updated_at: at(3), ..claimed(51) };
    desk.forge_after(&[ask()], only([eligible.clone()])).await.unwrap();
    let deleted = Blob { state: Stated::stored(blob::State::Deleted), ..eligible };
    desk.forge_after(&[ask()], only([deleted.clone()])).await.unwrap();
    violate(&desk, ask(), Blob { state: Stated::stored(blob::State::Live), ..deleted.clone() }).await;
    violate(&desk, ask(), Blob { barrier_until: at(99), ..deleted.clone() }).await;
    violate(&desk, ask(), Blob { updated_at: at(99), ..deleted.clone() }).await;
    desk.forge_after(&[ask()], only([deleted.clone()])).await.unwrap(); // as it is
    assert_eq!(desk.store.blob(blob_id(51)).await, Ok(Some(deleted)));
}

async fn what_was_published_stays<S: Store>(desk: Desk<S>) {
    let world = artifact_world();
    desk.forge(world.clone()).await.unwrap();
    let ask = || Ask::Version(version_id(50));
    let published = Version {
        state: Stated::stored(version::State::Published),
        content_hash: Some(digest(9)),
        published_at: Some(at(5)),
        ..world.versions[&version_id(50)].clone()
    };
    desk.forge_after(&[ask()], only([published.clone()])).await.unwrap();
    let held = &world.blobs[&blob_id(50)];
    let entries = |entries| Version { entries: Arc::new(entries), ..published.clone() };
    violate(&desk, ask(), entries(vec![])).await;
    violate(&desk, ask(), entries(vec![entry("b", held)])).await;
    violate(&desk, ask(), entries(vec![entry("a", held), entry("b", held)])).await;
    violate(&desk, ask(), Version { content_hash: Some(digest(8)), ..published.clone() }).await;
    violate(&desk, ask(), Version { content_hash: None, ..published.clone() }).await;
    violate(&desk, ask(), Version { published_at: Some(at(6)), ..published.clone() }).await;
    violate(&desk, ask(), Version { state: Stated::stored(version::State::Draft), ..published.clone() })
        .await;
    let tombstoned = Version {
        state: Stated::stored(version::State::Tombstoned),
        retention_until: Some(at(7)),
        ..published.clone()
    };
    desk.forge_after(&[ask()], only([tombstoned.clone()])).await.unwrap();
    violate(&desk, ask(), Version { entries: Arc::default(), ..tombstoned }).await;
    desk.forge_after(&[ask()], only([published.clone()])).await.unwrap(); // restored
    assert_eq!(desk.store.version(&published.name).await, Ok(Some(published)));
}

/// Reads `key`, writes something else, and lets somebody move what was read in between.
async fn read_then_moved<S: Store, R: Kept>(desk: &Desk<S>, ask: Ask, read: bool, moved: R) {
    let mut loaded = desk.load(std::slice::from_ref(&ask)).await;
    assert!(R::shelf(&loaded.book).has(&moved.key()), "{ask:?}");
    if read {
        R::shelf(&loaded.book).get(&moved.key());
    }
    static BYSTANDERS: AtomicU32 = AtomicU32::new(0);
    let number = BYSTANDERS.fetch_add(1, Ordering::Relaxed);
    let bystander = Runner { key: shared(&format!("bystander-{number}")), ..full_runner() };
    loaded.book.apply(only([bystander]));
    desk.forge_after(std::slice::from_ref(&ask), only([moved])).await.unwrap();
    let saved = desk.store.save(loaded.session, loaded.book).await;
    assert_eq!(is_conflict(&saved), read, "{ask:?}: {saved:?}");
}

async fn each_kind_moves<S: Store>(desk: &Desk<S>, read: bool) {
    let world = artifact_world();
    desk.forge(world.clone()).await.unwrap();
    let key = PossessionKey { tenant: ours(), digest: digest(51) };
    let content = || Ask::Content(ours(), digest(51));
    let moved = Upload { updated_at: at(9), ..bare_upload(50, ours()) };
    read_then_moved(desk, Ask::Upload(upload_id(50)), read, moved).await;
    read_then_moved(desk, content(), read, Blob { epoch: 9, ..bare_blob(51) }).await;
    let moved = Possession { blob: blob_id(50), ..world.possessions[&key].clone() };
    read_then_moved(desk, content(), read, moved).await;
    let moved = Usage { tenant: ours(), bytes: 1, blobs: 1 };
    read_then_moved(desk, Ask::Usage(ours()), read, moved).await;
    let version = world.versions[&version_id(50)].clone();
    let moved = Version { quarantine: Some("why".into()), ..version.clone() };
    read_then_moved(desk, Ask::Version(version_id(50)), read, moved).await;
    let held = &world.blobs[&blob_id(50)];
    let moved = Version { entries: Arc::new(vec![entry("z", held)]), ..version };
    read_then_moved(desk, Ask::Version(version_id(50)), read, moved).await;
    let moved = Bundle { artifacts: Arc::default(), ..bare_bundle(ours()) };
    read_then_moved(desk, Ask::Bundle(exec_id(50)), read, moved).await;
    let moved = Collection { state: Progress::Running, marked: 9, ..bare_collection(50) };
    read_then_moved(desk, Ask::Collection(gc_id(50)), read, moved).await;
    read_then_moved(desk, Ask::Collector, read, Collector { epoch: 9, running: None }).await;
}

async fn every_kind_of_record_that_was_read_is_protected<S: Store>(desk: Desk<S>) {
    each_kind_moves(&desk, true).await;
}

async fn what_was_loaded_but_not_read_may_move<S: Store>(desk: Desk<S>) {
    each_kind_moves(&desk, false).await;
}
