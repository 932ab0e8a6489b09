//! Two at once: one of them decides again.

use std::sync::Arc;

use decisions::Ask;
use decisions::draft::Stated;
use decisions::records::{Blob, Collection, Collector, Possession, Progress, Usage, Version};
use machines::version;
use store::{Store, StoreError};
use wire::TenantId;

use crate::desk::Desk;
use crate::forged::artifacts::{
    artifact_world, bare_blob, bare_collection, bare_version, blob_id, digest, entry, gc_id, only,
    possession, put, version_id,
};
use crate::forged::{at, some_tenant};
use crate::stores::on_stores;

on_stores!(memory, postgres => [
    a_reference_and_a_claim_never_both_win,
    the_same_bytes_at_once_are_one_blob,
    entries_of_what_was_published_meanwhile_are_a_conflict,
    a_new_collection_while_another_began_is_a_conflict,
]);

on_stores!(memory, sqlite, postgres => [many_bring_the_same_bytes_in_any_order]);

fn ours() -> TenantId {
    TenantId::from_u128(50)
}

fn claimed(number: u128) -> Blob {
    Blob { claimed_by: Some(gc_id(50)), ..bare_blob(number) }
}

fn is_conflict<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict(_)))
}

async fn a_reference_and_a_claim_never_both_win<S: Store>(desk: Desk<S>) {
    desk.forge(artifact_world()).await.unwrap();
    let referred = Blob { refs: 1, barrier_until: at(9), ..bare_blob(51) };
    let claim = || only([claimed(51)]);
    let refer = || {
        let mut changes = only([referred.clone()]);
        put(
            &mut changes,
            [Version { entries: Arc::new(vec![entry("a", &referred)]), ..bare_version(7, ours()) }],
        );
        changes
    };
    // The claim was decided on a world without the reference.
    let mut sweeping = desk.load(&[Ask::Blob(blob_id(51))]).await;
    let mut referring = desk.load(&[Ask::Content(ours(), digest(51))]).await;
    sweeping.book.apply(claim());
    referring.book.apply(refer());
    desk.store.save(referring.session, referring.book).await.unwrap();
    let late = desk.store.save(sweeping.session, sweeping.book).await;
    assert!(is_conflict(&late), "{late:?}");
    assert_eq!(desk.store.blob(blob_id(51)).await, Ok(Some(referred.clone())));
    // And the other way round, on the other blob's like.
    desk.forge(only([bare_blob(60)])).await.unwrap();
    let mut referring = desk.load(&[Ask::Content(ours(), digest(60))]).await;
    let mut sweeping = desk.load(&[Ask::Blob(blob_id(60))]).await;
    referring.book.apply(only([Blob { refs: 1, ..bare_blob(60) }]));
    sweeping.book.apply(only([claimed(60)]));
    desk.store.save(sweeping.session, sweeping.book).await.unwrap();
    let late = desk.store.save(referring.session, referring.book).await;
    assert!(is_conflict(&late), "{late:?}");
    assert_eq!(desk.store.blob(blob_id(60)).await, Ok(Some(claimed(60))));
}

async fn the_same_bytes_at_once_are_one_blob<S: Store>(desk: Desk<S>) {
    desk.forge(only([some_tenant(50)])).await.unwrap();
    let bring = |number| {
        let blob = Blob { digest: digest(1), ..bare_blob(number) };
        let mut changes = only([blob.clone()]);
        put(&mut changes, [possession(ours(), &blob)]);
        changes
    };
    let ask = [Ask::Content(ours(), digest(1))];
    let (mut first, mut second) = (desk.load(&ask).await, desk.load(&ask).await);
    first.book.apply(bring(1));
    second.book.apply(bring(2));
    desk.store.save(second.session, second.book).await.unwrap();
    let late = desk.store.save(first.session, first.book).await;
    assert!(is_conflict(&late), "{late:?}");
    let here = desk.book(&ask).await.blobs_here.get(&digest(1)).copied();
    assert_eq!(here, Some(blob_id(2)), "decided again, it is found");
}

async fn entries_of_what_was_published_meanwhile_are_a_conflict<S: Store>(desk: Desk<S>) {
    let world = artifact_world();
    desk.forge(world.clone()).await.unwrap();
    let (ask, draft) = ([Ask::Version(version_id(50))], world.versions[&version_id(50)].clone());
    let mut late = desk.load(&ask).await;
    let held = &world.blobs[&blob_id(50)];
    late.book.apply(only([Version { entries: Arc::new(vec![entry("late", held)]), ..draft.clone() }]));
    let published = Version { state: Stated::stored(version::State::Published), ..draft };
    desk.forge_after(&ask, only([published.clone()])).await.unwrap();
    let saved = desk.store.save(late.session, late.book).await;
    assert!(is_conflict(&saved), "{saved:?}");
    assert_eq!(desk.store.version(&published.name).await, Ok(Some(published)));
}

async fn a_new_collection_while_another_began_is_a_conflict<S: Store>(desk: Desk<S>) {
    let begin = |number| {
        let mut changes = only([Collection { state: Progress::Running, ..bare_collection(number) }]);
        put(&mut changes, [Collector { epoch: 1, running: Some(gc_id(number)) }]);
        changes
    };
    let (mut first, mut second) = (desk.load(&[Ask::Collector]).await, desk.load(&[Ask::Collector]).await);
    first.book.apply(begin(1));
    second.book.apply(begin(2));
    desk.store.save(first.session, first.book).await.unwrap();
    let late = desk.store.save(second.session, second.book).await;
    assert!(is_conflict(&late), "{late:?}");
    assert_eq!(desk.store.collector().await.unwrap().running, Some(gc_id(1)));
}

/// Each of many tenants brings the same bytes, several at a time, with blobs whose ids go another way than their digests.
async fn many_bring_the_same_bytes_in_any_order<S: Store>(desk: Desk<S>) {
    const TENANTS: u128 = 8;
    const DIGESTS: u8 = 5;
    desk.forge(only((1..=TENANTS).map(some_tenant))).await.unwrap();
    let mut tasks = Vec::new();
    for number in 1..=TENANTS {
        let desk = desk.clone();
        tasks.push(tokio::spawn(async move {
            while let Err(error) = bring_all(&desk, number, DIGESTS).await {
                assert!(matches!(error, StoreError::Conflict(_)), "{error:?}");
                tokio::task::yield_now().await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let files = desk.store.blob_files_after(None, 1_000).await.unwrap();
    assert_eq!(files.len(), usize::from(DIGESTS), "one blob of each digest");
    for number in 1..=TENANTS {
        let tenant = TenantId::from_u128(number);
        assert_eq!(desk.store.usage(tenant).await.unwrap().blobs, u64::from(DIGESTS));
        for file in &files {
            let blob = desk.store.blob_of(tenant, file.blob.digest).await.unwrap();
            assert_eq!(blob.as_ref(), Some(&file.blob));
        }
    }
}

async fn bring_all<S: Store>(desk: &Desk<S>, number: u128, digests: u8) -> Result<(), StoreError> {
    let tenant = TenantId::from_u128(number);
    let mut asks: Vec<Ask> = (0..digests).map(|it| Ask::Content(tenant, digest(it))).collect();
    asks.push(Ask::Usage(tenant));
    let mut loaded = desk.load(&asks).await;
    for it in 0..digests {
        let turn = if number.is_multiple_of(2) { it } else { digests - it };
        let new = Blob { digest: digest(it), ..bare_blob(number * 1_000 + u128::from(turn)) };
        let here = loaded.book.blobs_here.get(&digest(it)).and_then(|id| loaded.book.blobs.get(id)).cloned();
        let blob = here.unwrap_or(new);
        let mut changes = only([Blob { epoch: blob.epoch + 1, ..blob.clone() }]);
        put::<Possession>(&mut changes, [possession(tenant, &blob)]);
        put(&mut changes, [Usage { tenant, bytes: 0, blobs: u64::from(digests) }]);
        loaded.book.apply(changes);
    }
    desk.store.save(loaded.session, loaded.book).await
}
