//! Named questions about artifacts: who has what, what is due, what nothing refers to.

use std::sync::Arc;

use decisions::draft::Stated;
use decisions::records::{Blob, Bundle, Collector, Entity, Transition, Upload, Usage, Version};
use machines::{Owner, blob, upload, version};
use store::{ArtifactsDue, Store};
use wire::{BlobId, TenantId, Time};

use crate::commands::{exec_id, job_id};
use crate::desk::Desk;
use crate::forged::artifacts::{
    artifact_world, bare_blob, bare_bundle, bare_upload, bare_version, blob_id, digest, entry, gc_id, name,
    only, possession, put, upload_id, version_id,
};
use crate::forged::{at, bare_execution, bare_job, little_world, some_queue, some_tenant};
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    nothing_is_found_in_an_empty_store,
    each_is_found_by_its_name,
    a_blob_is_readable_for_whoever_has_it_while_it_is_here,
    versions_are_paged_in_the_order_of_their_ids,
    blobs_that_nothing_refers_to_are_paged,
    of_what_a_job_left_the_latest_is_found,
    what_is_due_comes_in_the_order_of_its_time,
    references_are_counted_anew,
    the_log_knows_whose_artifacts_are,
]);

const ALL: usize = usize::MAX;

fn ours() -> TenantId {
    TenantId::from_u128(50)
}

async fn nothing_is_found_in_an_empty_store<S: Store>(desk: Desk<S>) {
    let store = &desk.store;
    assert_eq!(store.upload(upload_id(1)).await, Ok(None));
    assert_eq!(store.blob(blob_id(1)).await, Ok(None));
    assert_eq!(store.blob_of(ours(), digest(1)).await, Ok(None));
    assert_eq!(store.usage(ours()).await, Ok(Usage { tenant: ours(), bytes: 0, blobs: 0 }));
    assert_eq!(store.version(&name(ours(), "p", "1")).await, Ok(None));
    assert_eq!(store.versions_of(ours(), None, None, ALL).await, Ok(vec![]));
    assert_eq!(store.bundle_of(job_id(1)).await, Ok(None));
    assert_eq!(store.collection(gc_id(1)).await, Ok(None));
    assert_eq!(store.collector().await, Ok(Collector { epoch: 0, running: None }));
    assert_eq!(store.blobs_unreferenced(None, ALL).await, Ok(vec![]));
    assert_eq!(store.blob_files_after(None, ALL).await, Ok(vec![]));
    assert_eq!(store.artifacts_due(desk.now(), ALL).await, Ok(ArtifactsDue::default()));
}

async fn each_is_found_by_its_name<S: Store>(desk: Desk<S>) {
    let world = artifact_world();
    desk.forge(world.clone()).await.unwrap();
    let store = &desk.store;
    assert_eq!(store.upload(upload_id(50)).await, Ok(world.uploads.get(&upload_id(50)).cloned()));
    assert_eq!(store.blob(blob_id(50)).await, Ok(world.blobs.get(&blob_id(50)).cloned()));
    assert_eq!(store.usage(ours()).await, Ok(world.usages[&ours()].clone()));
    let version = world.versions.get(&version_id(50)).cloned();
    assert_eq!(store.version(&name(ours(), "p", "50")).await, Ok(version));
    assert_eq!(store.version(&name(ours(), "p", "51")).await, Ok(None));
    assert_eq!(store.bundle_of(job_id(50)).await, Ok(world.bundles.get(&exec_id(50)).cloned()));
    assert_eq!(store.collection(gc_id(50)).await, Ok(world.collections.get(&gc_id(50)).cloned()));
    assert_eq!(store.collector().await, Ok(world.collector[&()].clone()));
}

async fn a_blob_is_readable_for_whoever_has_it_while_it_is_here<S: Store>(desk: Desk<S>) {
    let mut world = artifact_world();
    put(&mut world, [some_tenant(7)]);
    desk.forge(world).await.unwrap();
    let of = async |tenant: u128| desk.store.blob_of(TenantId::from_u128(tenant), digest(51)).await.unwrap();
    assert_eq!(of(50).await, Some(bare_blob(51)));
    assert_eq!(of(7).await, None, "knowing a digest is not having it");
    let ask = [decisions::Ask::Blob(blob_id(51))];
    let eligible = Blob { state: Stated::stored(blob::State::EligibleForGc), ..bare_blob(51) };
    desk.forge_after(&ask, only([eligible.clone()])).await.unwrap();
    assert_eq!(of(50).await, Some(eligible.clone()), "it is here until somebody claims it");
    desk.forge_after(&ask, only([Blob { claimed_by: Some(gc_id(1)), ..eligible }])).await.unwrap();
    assert_eq!(of(50).await, None);
}

async fn versions_are_paged_in_the_order_of_their_ids<S: Store>(desk: Desk<S>) {
    let (other, blob) = (some_tenant(7), bare_blob(1));
    let make = |number: u128, tenant, package: &str| Version {
        name: name(tenant, package, &number.to_string()),
        entries: Arc::new(vec![entry(&number.to_string(), &blob)]),
        ..bare_version(number, tenant)
    };
    let ours: Vec<Version> = [(1, "a"), (2, "b"), (4, "a"), (5, "a")]
        .map(|(number, package)| make(number, ours(), package))
        .into();
    let mut world = little_world();
    put(&mut world, [blob.clone()]);
    put(&mut world, [other.clone()]);
    put(&mut world, ours.clone());
    put(&mut world, [make(3, other.id, "a")]);
    desk.forge(world).await.unwrap();
    let page = async |package, after: Option<u128>, limit| {
        let tenant = TenantId::from_u128(50);
        desk.store.versions_of(tenant, package, after.map(version_id), limit).await.unwrap()
    };
    assert_eq!(page(None, None, ALL).await, ours);
    assert_eq!(page(None, Some(1), 2).await, ours[1..3]);
    assert_eq!(page(Some("a"), None, 2).await, [ours[0].clone(), ours[2].clone()]);
    assert_eq!(page(Some("a"), Some(4), 2).await, ours[3..]);
    assert_eq!(page(Some("A"), None, ALL).await, []);
    let theirs = desk.store.versions_of(other.id, None, None, ALL).await.unwrap();
    assert_eq!(theirs, [make(3, other.id, "a")]);
}

async fn blobs_that_nothing_refers_to_are_paged<S: Store>(desk: Desk<S>) {
    let state = |state| Stated::stored(state);
    desk.forge(only([
        bare_blob(1),
        Blob { refs: 1, ..bare_blob(2) },
        Blob { state: state(blob::State::Tombstoned), ..bare_blob(3) },
        Blob { state: state(blob::State::Deleted), claimed_by: Some(gc_id(1)), ..bare_blob(4) },
        Blob { claimed_by: Some(gc_id(1)), ..bare_blob(5) },
        Blob { state: state(blob::State::EligibleForGc), ..bare_blob(6) },
    ]))
    .await
    .unwrap();
    let page = async |after: Option<u128>, limit| {
        let page = desk.store.blobs_unreferenced(after.map(BlobId::from_u128), limit).await.unwrap();
        page.into_iter().map(|blob| blob.id.as_u128()).collect::<Vec<_>>()
    };
    assert_eq!(page(None, ALL).await, [1, 3, 5, 6]);
    assert_eq!(page(None, 2).await, [1, 3]);
    assert_eq!(page(Some(3), 1).await, [5]);
    assert_eq!(page(Some(6), ALL).await, []);
}

/// PostgreSQL reads its own clock: what is not due is due in a far future.
async fn what_is_due_comes_in_the_order_of_its_time<S: Store>(desk: Desk<S>) {
    let never = Time::from_seconds(253_402_207_199);
    let upload = |number, state, expires_at| Upload {
        state: Stated::stored(state),
        expires_at,
        ..bare_upload(number, ours())
    };
    let version = |number, state, purged, until| Version {
        state: Stated::stored(state),
        purged,
        retention_until: until,
        ..bare_version(number, ours())
    };
    let queue = some_queue(ours());
    let bundle = |number, keep_until, dropped| {
        let (execution, job) = (exec_id(number), job_id(number));
        Bundle { execution, job, keep_until, dropped, ..bare_bundle(ours()) }
    };
    use upload::State::{Aborted, Committed, Initiated, PartsUploading, PendingCommit};
    use version::State::{Draft, Published, Tombstoned};
    let mut world = little_world();
    put(
        &mut world,
        [
            upload(30, Initiated, at(1)),
            upload(10, PartsUploading, at(2)),
            upload(20, PendingCommit, at(2)),
            upload(40, Initiated, never),
            Upload { litter: true, ..upload(51, Committed, at(0)) },
            Upload { litter: true, ..upload(50, Aborted, at(0)) },
            upload(60, Aborted, at(0)),
        ],
    );
    put(
        &mut world,
        [
            version(3, Tombstoned, false, Some(at(1))),
            version(1, Tombstoned, false, Some(at(2))),
            version(2, Tombstoned, false, Some(never)),
            version(4, Tombstoned, true, Some(at(1))),
            version(5, Tombstoned, false, None),
            version(6, Published, false, Some(at(1))),
            version(7, Draft, false, Some(at(1))),
        ],
    );
    let bundles = [
        bundle(3, Some(at(1)), false),
        bundle(1, Some(at(2)), false),
        bundle(2, Some(never), false),
        bundle(4, Some(at(1)), true),
        bundle(5, None, false),
    ];
    for bundle in &bundles {
        let number = bundle.job.as_u128();
        let attempt = crate::forged::bare_attempt(number, 1, queue.id);
        put(&mut world, [bare_job(number, ours(), queue.id)]);
        put(&mut world, [bare_execution(number, attempt.key, 1)]);
        put(&mut world, [attempt]);
    }
    put(&mut world, bundles);
    desk.forge(world).await.unwrap();
    let due = async |limit| desk.store.artifacts_due(at(100), limit).await.unwrap();
    let all = due(ALL).await;
    assert_eq!(all.uploads, [30, 10, 20].map(upload_id));
    assert_eq!(all.litter.iter().map(|upload| upload.id).collect::<Vec<_>>(), [50, 51].map(upload_id));
    assert_eq!(Some(&all.litter[0]), desk.store.upload(upload_id(50)).await.unwrap().as_ref());
    assert_eq!(all.versions, [3, 1].map(version_id));
    assert_eq!(all.bundles, [3, 1].map(exec_id));
    let first = due(1).await;
    assert_eq!((first.uploads, first.litter), (vec![upload_id(30)], all.litter[..1].to_vec()));
    assert_eq!((first.versions, first.bundles), (vec![version_id(3)], vec![exec_id(3)]));
}

async fn of_what_a_job_left_the_latest_is_found<S: Store>(desk: Desk<S>) {
    let mut world = little_world();
    let queue = some_queue(ours()).id;
    let attempt = crate::forged::bare_attempt(3, 1, queue);
    put(&mut world, [bare_job(3, ours(), queue)]);
    put(&mut world, (1..=3).map(|number| bare_execution(number.into(), attempt.key, number)));
    put(&mut world, [attempt]);
    let left = [(1, 5), (2, 7), (3, 6)].map(|(number, seconds)| Bundle {
        execution: exec_id(number),
        job: job_id(3),
        created_at: at(seconds),
        ..bare_bundle(ours())
    });
    put(&mut world, left.clone());
    desk.forge(world).await.unwrap();
    assert_eq!(desk.store.bundle_of(job_id(3)).await, Ok(Some(left[1].clone())));
}

async fn references_are_counted_anew<S: Store>(desk: Desk<S>) {
    let mut world = artifact_world();
    let (held, wrong) = (bare_blob(50), Blob { refs: 9, ..bare_blob(60) });
    let twice = Arc::new(vec![entry("x", &held), entry("y", &held)]);
    put(&mut world, [Version { entries: twice.clone(), ..bare_version(51, ours()) }]);
    put(&mut world, [Version { entries: twice, purged: true, ..bare_version(52, ours()) }]);
    put(&mut world, [wrong.clone()]);
    world.appended.transitions = vec![born(Entity::Blob(held.id), "blob", "live")];
    desk.forge(world.clone()).await.unwrap();
    let files = desk.store.blob_files_after(None, ALL).await.unwrap();
    assert!(files.iter().map(|file| &file.blob).eq(world.blobs.values()));
    assert_eq!(files.iter().map(|file| file.refs).collect::<Vec<_>>(), [4, 0, 0]);
    assert_eq!(files.iter().map(|file| file.events.len()).collect::<Vec<_>>(), [1, 0, 0]);
    assert_eq!(desk.store.blob_files_after(Some(blob_id(50)), 1).await.unwrap(), files[1..2]);
    let dropped = Bundle { dropped: true, ..world.bundles[&exec_id(50)].clone() };
    desk.forge_after(&[decisions::Ask::Bundle(exec_id(50))], only([dropped])).await.unwrap();
    assert_eq!(desk.store.blob_files_after(None, 1).await.unwrap()[0].refs, 3);
}

fn born(entity: Entity, machine: &'static str, to: &'static str) -> Transition {
    let (event, cause) = (decisions::records::event::CREATE, "".into());
    Transition { at: at(0), machine, entity, from: None, event, to, owner: Owner::Orchestrator, cause }
}

async fn the_log_knows_whose_artifacts_are<S: Store>(desk: Desk<S>) {
    let mut world = artifact_world();
    let (other, stranger) = (some_tenant(7), some_tenant(8));
    put(&mut world, [possession(other.id, &bare_blob(51))]);
    put(&mut world, [other.clone(), stranger.clone()]);
    put(&mut world, [bare_blob(60)]);
    world.appended.transitions = vec![
        born(Entity::Upload(upload_id(50)), "upload", "initiated"),
        born(Entity::Version(version_id(50)), "version", "draft"),
        born(Entity::Blob(blob_id(50)), "blob", "live"),
        born(Entity::Blob(blob_id(51)), "blob", "live"), // possessed by both
        born(Entity::Blob(blob_id(60)), "blob", "live"), // and by nobody
        born(Entity::Upload(upload_id(99)), "upload", "initiated"), // of nobody
    ];
    desk.forge(world).await.unwrap();
    let scan = async |tenant: TenantId| {
        let (events, last) = desk.store.events_scan(tenant, 0, 100).await.unwrap();
        assert_eq!(last, 6);
        events.into_iter().map(|event| event.seq).collect::<Vec<_>>()
    };
    assert_eq!(scan(ours()).await, [1, 2, 3, 4]);
    assert_eq!(scan(other.id).await, [4]);
    assert_eq!(scan(stranger.id).await, [] as [i64; 0]);
    for (seq, root) in
        [(1, upload_id(50).to_string()), (2, version_id(50).to_string()), (4, blob_id(51).to_string())]
    {
        let events = desk.store.events_of(&root).await.unwrap();
        assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [seq], "{root}");
    }
}
