//! What is written of artifacts is what is read: every field of every record, set and not set.

use std::sync::Arc;

use decisions::book::Kept;
use decisions::draft::Stated;
use decisions::records::{
    Artifact, Blob, Bundle, Collection, Collector, Progress, Upload, Usage, Version, VersionName,
};
use decisions::{Ask, Changes};
use machines::{Machine, blob, upload, version};
use store::Store;
use wire::{Digest, TenantId};

use crate::commands::exec_id;
use crate::desk::Desk;
use crate::forged::artifacts::{
    artifact, bare_blob, bare_bundle, bare_collection, bare_upload, bare_version, blob_id, digest, entry,
    full_blob, full_collection, full_upload, full_version, gc_id, only, possession, put, upload_id,
    version_id,
};
use crate::forged::{HARD, at, little_world};
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    every_record_survives_with_all_fields_set_and_with_none,
    every_record_survives_being_changed_back_and_forth,
    every_state_survives,
    a_draft_replaces_its_entries,
    a_version_may_be_made_and_published_at_once,
    a_version_may_change_and_be_published_at_once,
    many_entries_survive,
]);

fn ours() -> TenantId {
    TenantId::from_u128(50)
}

async fn read<S: Store, R: Kept>(desk: &Desk<S>, ask: &Ask, key: &R::Key) -> R {
    let book = desk.book(std::slice::from_ref(ask)).await;
    R::shelf(&book).peek(key).unwrap_or_else(|| panic!("{ask:?} does not bring it")).clone()
}

/// Writes over what `ask` brings, and reads it back.
async fn rewrite<S: Store, R: Kept + std::fmt::Debug>(desk: &Desk<S>, ask: &Ask, record: R) {
    desk.forge_after(std::slice::from_ref(ask), only([record.clone()]))
        .await
        .unwrap_or_else(|error| panic!("{error}: {record:?}"));
    assert_eq!(read::<S, R>(desk, ask, &record.key()).await, record);
}

async fn every_record_survives_with_all_fields_set_and_with_none<S: Store>(desk: Desk<S>) {
    let mut world = little_world();
    let blobs = [full_blob(1), bare_blob(2)];
    let uploads = [full_upload(1, ours()), bare_upload(2, ours())];
    let entries = vec![entry("", &blobs[0]), entry(HARD, &blobs[1])];
    let versions = [full_version(1, ours(), entries), bare_version(2, ours())];
    let bundle = Bundle {
        artifacts: Arc::new(vec![
            Artifact { kind: HARD.into(), ..artifact(HARD, &blobs[1]) },
            artifact("", &blobs[0]),
            artifact("", &blobs[0]), // in order, also twice
        ]),
        tests: Some(HARD.into()),
        keep_until: Some(at(9)),
        dropped: true,
        ..bare_bundle(ours())
    };
    let collections = [full_collection(1), bare_collection(2)];
    let possession = possession(ours(), &blobs[0]);
    let usage = Usage { tenant: ours(), bytes: i64::MAX as u64, blobs: 3 };
    let collector = Collector { epoch: i64::MAX, running: Some(gc_id(1)) };
    put(&mut world, blobs.clone());
    put(&mut world, uploads.clone());
    put(&mut world, versions.clone());
    put(&mut world, [bundle.clone()]);
    put(&mut world, collections.clone());
    put(&mut world, [possession.clone()]);
    put(&mut world, [usage.clone()]);
    put(&mut world, [collector.clone()]);
    desk.forge(world).await.unwrap();
    for number in [0, 1] {
        let id = number as u128 + 1;
        assert_eq!(read::<S, Blob>(&desk, &Ask::Blob(blob_id(id)), &blob_id(id)).await, blobs[number]);
        let upload: Upload = read(&desk, &Ask::Upload(upload_id(id)), &upload_id(id)).await;
        assert_eq!(upload, uploads[number]);
        let version: Version = read(&desk, &Ask::Version(version_id(id)), &version_id(id)).await;
        assert_eq!(version, versions[number]);
        let collection: Collection = read(&desk, &Ask::Collection(gc_id(id)), &gc_id(id)).await;
        assert_eq!(collection, collections[number]);
    }
    assert_eq!(read::<S, Bundle>(&desk, &Ask::Bundle(exec_id(50)), &exec_id(50)).await, bundle);
    let content = Ask::Content(ours(), blobs[0].digest);
    assert_eq!(read::<S, decisions::records::Possession>(&desk, &content, &possession.key).await, possession);
    assert_eq!(read::<S, Usage>(&desk, &Ask::Usage(ours()), &ours()).await, usage);
    assert_eq!(read::<S, Collector>(&desk, &Ask::Collector, &()).await, collector);
}

async fn every_record_survives_being_changed_back_and_forth<S: Store>(desk: Desk<S>) {
    let mut world = little_world();
    let (blob, upload, version) = (bare_blob(1), bare_upload(1, ours()), bare_version(1, ours()));
    let (bundle, collection) = (bare_bundle(ours()), bare_collection(1));
    let newer = bare_blob(2);
    put(&mut world, [blob.clone(), newer.clone()]);
    put(&mut world, [upload.clone()]);
    put(&mut world, [version.clone()]);
    put(&mut world, [bundle.clone()]);
    put(&mut world, [collection.clone()]);
    put(&mut world, [possession(ours(), &blob)]);
    put(&mut world, [Usage { tenant: ours(), bytes: 0, blobs: 0 }]);
    put(&mut world, [Collector { epoch: 0, running: None }]);
    desk.forge(world).await.unwrap();
    for round in 0..2 {
        let full = round == 0;
        let changed = Blob {
            digest: blob.digest,
            length: blob.length,
            inline: blob.inline,
            created_at: blob.created_at,
            claimed_by: None, // for good, once it is there
            ..full_blob(1)
        };
        let changed = if full { changed } else { blob.clone() };
        rewrite(&desk, &Ask::Blob(blob.id), changed).await;
        let changed = Upload {
            length: 0,
            blob: upload.blob,
            digest: upload.digest,
            created_at: upload.created_at,
            ..full_upload(1, ours())
        };
        rewrite(&desk, &Ask::Upload(upload.id), if full { changed } else { upload.clone() }).await;
        let changed = Version {
            state: version.state, // a draft; see below
            name: version.name.clone(),
            created_at: version.created_at,
            ..full_version(1, ours(), vec![entry("x", &blob)])
        };
        rewrite(&desk, &Ask::Version(version.id), if full { changed } else { version.clone() }).await;
        let changed = Bundle {
            artifacts: Arc::new(vec![artifact("x", &blob), artifact("y", &newer)]),
            tests: Some(HARD.into()),
            keep_until: Some(at(-9)),
            dropped: true,
            ..bundle.clone()
        };
        rewrite(&desk, &Ask::Bundle(exec_id(50)), if full { changed } else { bundle.clone() }).await;
        let changed = Collection { epoch: 0, started_at: collection.started_at, ..full_collection(1) };
        rewrite(&desk, &Ask::Collection(gc_id(1)), if full { changed } else { collection.clone() }).await;
        let (bytes, blobs) = if full { (i64::MAX as u64, 9) } else { (0, 0) };
        rewrite(&desk, &Ask::Usage(ours()), Usage { tenant: ours(), bytes, blobs }).await;
        let running = full.then_some(gc_id(1));
        rewrite(&desk, &Ask::Collector, Collector { epoch: i64::from(full), running }).await;
        let mut held = possession(ours(), &blob);
        held.blob = if full { newer.id } else { blob.id };
        rewrite(&desk, &Ask::Content(ours(), blob.digest), held).await;
    }
}

async fn every_state_survives<S: Store>(desk: Desk<S>) {
    let mut world = little_world();
    put(&mut world, [bare_blob(1)]);
    put(&mut world, [bare_upload(1, ours())]);
    put(&mut world, [bare_version(1, ours())]);
    put(&mut world, [bare_collection(1)]);
    desk.forge(world).await.unwrap();
    for state in blob::State::STATES {
        rewrite(&desk, &Ask::Blob(blob_id(1)), Blob { state: Stated::stored(*state), ..bare_blob(1) }).await;
    }
    for state in upload::State::STATES {
        let moved = Upload { state: Stated::stored(*state), ..bare_upload(1, ours()) };
        rewrite(&desk, &Ask::Upload(upload_id(1)), moved).await;
    }
    for state in version::State::STATES {
        let moved = Version { state: Stated::stored(*state), ..bare_version(1, ours()) };
        rewrite(&desk, &Ask::Version(version_id(1)), moved).await;
    }
    for state in Progress::ALL {
        let moved = Collection { state, ..bare_collection(1) };
        rewrite(&desk, &Ask::Collection(gc_id(1)), moved).await;
    }
}

/// A world with two blobs, and a draft that names the first.
async fn with_draft<S: Store>(desk: &Desk<S>) -> (Version, [Blob; 2]) {
    let blobs = [bare_blob(1), Blob { length: 9, ..bare_blob(2) }];
    let draft = Version { entries: Arc::new(vec![entry("a", &blobs[0])]), ..bare_version(1, ours()) };
    let mut world = little_world();
    put(&mut world, blobs.clone());
    put(&mut world, [draft.clone()]);
    desk.forge(world).await.unwrap();
    (draft, blobs)
}

async fn a_draft_replaces_its_entries<S: Store>(desk: Desk<S>) {
    let (draft, [first, second]) = with_draft(&desk).await;
    let ask = Ask::Version(draft.id);
    for entries in [
        vec![entry("a", &second)],
        vec![entry("a", &first), entry("b", &second), entry("c", &second)],
        vec![],
        vec![entry("b", &first)],
    ] {
        rewrite(&desk, &ask, Version { entries: Arc::new(entries), ..draft.clone() }).await;
    }
    // The same entries, however they came: nothing is replaced, and all the rest is.
    let kept = Version { entries: Arc::new(vec![entry("b", &first)]), updated_at: at(77), ..draft.clone() };
    rewrite(&desk, &ask, kept).await;
}

fn published(version: Version) -> Version {
    Version {
        state: Stated::stored(version::State::Published),
        content_hash: Some(digest(123)),
        published_at: Some(at(1)),
        ..version
    }
}

/// With a blob that is new as well.
async fn a_version_may_be_made_and_published_at_once<S: Store>(desk: Desk<S>) {
    desk.forge(little_world()).await.unwrap();
    let blob = bare_blob(1);
    let version = published(Version {
        entries: Arc::new(vec![entry("a", &blob), entry("b", &blob)]),
        ..bare_version(1, ours())
    });
    let mut changes = only([blob]);
    put(&mut changes, [version.clone(), published(bare_version(2, ours()))]);
    desk.forge(changes).await.unwrap();
    assert_eq!(desk.store.version(&version.name).await, Ok(Some(version)));
}

async fn a_version_may_change_and_be_published_at_once<S: Store>(desk: Desk<S>) {
    let (draft, [_, second]) = with_draft(&desk).await;
    let newest = bare_blob(3);
    let entries = vec![entry("b", &second), entry("c", &newest)];
    let version = published(Version { entries: Arc::new(entries), ..draft });
    let mut changes: Changes = only([newest]);
    put(&mut changes, [version.clone()]);
    desk.forge_after(&[Ask::Version(version.id)], changes).await.unwrap();
    assert_eq!(desk.store.version(&version.name).await, Ok(Some(version)));
}

async fn many_entries_survive<S: Store>(desk: Desk<S>) {
    const MANY: u32 = 2_000;
    desk.forge(little_world()).await.unwrap();
    let blobs: Vec<Blob> = (0..MANY)
        .map(|number| {
            let mut bytes = [7; 32];
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            Blob { digest: Digest::from_bytes(bytes), refs: 1, ..bare_blob(number.into()) }
        })
        .collect();
    let entries = blobs.iter().enumerate().map(|(number, blob)| entry(&format!("{number:05}/größe"), blob));
    let name = VersionName { version: "many".into(), ..bare_version(1, ours()).name };
    let version =
        Version { name: name.clone(), entries: Arc::new(entries.collect()), ..bare_version(1, ours()) };
    let mut changes = only(blobs.clone());
    put(&mut changes, [version.clone()]);
    desk.forge(changes).await.unwrap();
    let book = desk.book(&[Ask::VersionName(name)]).await;
    assert!(book.versions.peek(&version.id) == Some(&version));
    assert_eq!(book.blobs.peek_all().count(), MANY as usize);
    assert!(book.blobs.peek_all().eq(&blobs));
}
