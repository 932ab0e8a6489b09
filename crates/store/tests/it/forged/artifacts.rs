//! Records of artifacts that no decision made.

use std::sync::Arc;

use decisions::Changes;
use decisions::book::Kept;
use decisions::draft::Stated;
use decisions::records::{
    Artifact, Blob, Bundle, Collection, Collector, Entry, Measured, Possession, PossessionKey, Progress,
    Upload, Usage, Version, VersionName,
};
use machines::{blob, upload, version};
use wire::{BlobId, CollectionId, Digest, TenantId, UploadId, VersionId};

use super::{HARD, at, little_world};
use crate::commands::{exec_id, job_id};

/// More than any counter of ours, and as much as both databases keep.
const MOST: u64 = i64::MAX as u64;

pub fn blob_id(number: u128) -> BlobId {
    BlobId::from_u128(number)
}

pub fn upload_id(number: u128) -> UploadId {
    UploadId::from_u128(number)
}

pub fn version_id(number: u128) -> VersionId {
    VersionId::from_u128(number)
}

pub fn gc_id(number: u128) -> CollectionId {
    CollectionId::from_u128(number)
}

pub fn digest(number: u8) -> Digest {
    Digest::from_bytes(std::array::from_fn(|index| number.wrapping_mul(31).wrapping_add(index as u8)))
}

/// Its digest goes by its number.
pub fn bare_blob(number: u128) -> Blob {
    Blob {
        id: blob_id(number),
        digest: digest(number as u8),
        length: 0,
        inline: false,
        state: Stated::stored(blob::State::Live),
        refs: 0,
        barrier_until: at(0),
        epoch: 0,
        retention_until: None,
        unmarked_by: None,
        claimed_by: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub fn full_blob(number: u128) -> Blob {
    Blob {
        length: MOST,
        inline: true,
        state: Stated::stored(blob::State::EligibleForGc),
        barrier_until: at(-3),
        epoch: i64::MAX,
        retention_until: Some(at(4)),
        unmarked_by: Some(gc_id(u128::MAX)),
        claimed_by: Some(gc_id(7)),
        created_at: at(-5),
        updated_at: at(6),
        ..bare_blob(number)
    }
}

/// Bytes that others refer to, each with the digest and length of their blob.
pub fn possession(tenant: TenantId, blob: &Blob) -> Possession {
    Possession { key: PossessionKey { tenant, digest: blob.digest }, blob: blob.id, created_at: at(2) }
}

pub fn bare_upload(number: u128, tenant: TenantId) -> Upload {
    Upload {
        id: upload_id(number),
        tenant,
        digest: digest(number as u8),
        length: 0,
        blob: blob_id(number),
        state: Stated::stored(upload::State::Initiated),
        parts: vec![],
        etags: vec![],
        multipart: None,
        measured: None,
        got: None,
        execution: None,
        expires_at: at(1),
        litter: false,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub fn full_upload(number: u128, tenant: TenantId) -> Upload {
    Upload {
        length: MOST,
        state: Stated::stored(upload::State::Committed),
        parts: vec![0, 1, u64::MAX],
        etags: vec![HARD.into(), String::new()],
        multipart: Some(HARD.into()),
        measured: Some(Measured { digest: digest(99), length: MOST }),
        got: Some(blob_id(u128::MAX)),
        execution: Some(exec_id(u128::MAX)),
        expires_at: at(-1),
        litter: true,
        created_at: at(-2),
        updated_at: at(3),
        ..bare_upload(number, tenant)
    }
}

pub fn name(tenant: TenantId, package: &str, version: &str) -> VersionName {
    VersionName { tenant, package: package.into(), version: version.into() }
}

pub fn entry(path: &str, blob: &Blob) -> Entry {
    Entry { path: path.into(), digest: blob.digest, length: blob.length, blob: blob.id }
}

pub fn bare_version(number: u128, tenant: TenantId) -> Version {
    Version {
        id: version_id(number),
        name: name(tenant, "p", &number.to_string()),
        state: Stated::stored(version::State::Draft),
        quarantine: None,
        entries: Arc::default(),
        content_hash: None,
        execution: None,
        retention_until: None,
        purged: false,
        created_at: at(0),
        updated_at: at(0),
        published_at: None,
    }
}

pub fn full_version(number: u128, tenant: TenantId, entries: Vec<Entry>) -> Version {
    Version {
        name: name(tenant, HARD, HARD),
        state: Stated::stored(version::State::Tombstoned),
        quarantine: Some(HARD.into()),
        entries: Arc::new(entries),
        content_hash: Some(digest(200)),
        execution: Some(exec_id(u128::MAX)),
        retention_until: Some(at(8)),
        purged: true,
        created_at: at(-1),
        updated_at: at(2),
        published_at: Some(at(1)),
        ..bare_version(number, tenant)
    }
}

pub fn artifact(path: &str, blob: &Blob) -> Artifact {
    let Entry { path, digest, length, blob } = entry(path, blob);
    Artifact { kind: "junit".into(), path, digest, length, blob }
}

/// Of the execution of the little world.
pub fn bare_bundle(tenant: TenantId) -> Bundle {
    Bundle {
        execution: exec_id(50),
        job: job_id(50),
        tenant,
        artifacts: Arc::default(),
        tests: None,
        keep_until: None,
        dropped: false,
        created_at: at(0),
    }
}

pub fn bare_collection(number: u128) -> Collection {
    Collection {
        id: gc_id(number),
        state: Progress::Done,
        epoch: 0,
        holder: 0,
        held_until: at(0),
        marked: 0,
        kept: 0,
        deleted: 0,
        bytes: 0,
        message: String::new(),
        started_at: at(0),
        mark_completed_at: None,
        finished_at: None,
    }
}

pub fn full_collection(number: u128) -> Collection {
    Collection {
        state: Progress::Running,
        epoch: i64::MIN,
        holder: u64::MAX,
        held_until: at(-4),
        marked: MOST,
        kept: MOST,
        deleted: MOST,
        bytes: MOST,
        message: HARD.into(),
        mark_completed_at: Some(at(5)),
        finished_at: Some(at(-6)),
        ..bare_collection(number)
    }
}

pub fn put<R: Kept>(changes: &mut Changes, records: impl IntoIterator<Item = R>) {
    R::changed_mut(changes).extend(records.into_iter().map(|record| (record.key(), record)));
}

pub fn only<R: Kept>(records: impl IntoIterator<Item = R>) -> Changes {
    let mut changes = Changes::default();
    put(&mut changes, records);
    changes
}

/// The little world with one of each: blobs 50 (held by a draft and by a job's bundle) and 51 (possessed only), an open
/// upload, and a collection that runs.
pub fn artifact_world() -> Changes {
    let mut changes = little_world();
    let tenant = TenantId::from_u128(50);
    let (held, free) = (Blob { refs: 2, length: 7, ..bare_blob(50) }, bare_blob(51));
    put(&mut changes, [possession(tenant, &held), possession(tenant, &free)]);
    put(&mut changes, [Usage { tenant, bytes: 7, blobs: 2 }]);
    put(&mut changes, [bare_upload(50, tenant)]);
    put(&mut changes, [Version { entries: Arc::new(vec![entry("a", &held)]), ..bare_version(50, tenant) }]);
    put(&mut changes, [Bundle { artifacts: Arc::new(vec![artifact("b", &held)]), ..bare_bundle(tenant) }]);
    put(&mut changes, [held, free]);
    put(&mut changes, [Collection { state: Progress::Running, ..bare_collection(50) }]);
    put(&mut changes, [Collector { epoch: 3, running: Some(gc_id(50)) }]);
    changes
}
