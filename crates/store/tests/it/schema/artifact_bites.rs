//! Rows of artifacts that must not be, written past the store by plain SQL: constraints and triggers refuse them.

use std::sync::Arc;

use decisions::draft::Stated;
use decisions::records::{Blob, BlobBytes, Collection, Progress, Version};
use machines::{blob, version};
use rusqlite::Connection;
use store::{Postgres, Sqlite, Store};
use wire::TenantId;

use super::bites::{check, on_postgres, on_sqlite};
use crate::desk::Desk;
use crate::forged::artifacts::{
    artifact_world, bare_blob, bare_collection, bare_version, digest, entry, gc_id, put,
};
use crate::forged::at;
use crate::stores::{Database, block_on, connect};

/// The world of artifacts; in addition a claimed blob, a deleted one, one among the records, a published version and a collection that is over.
async fn fill<S: Store>(store: S) -> Desk<S> {
    let desk = Desk::at(store);
    let (mut world, tenant) = (artifact_world(), TenantId::from_u128(50));
    let claimed = Blob { claimed_by: Some(gc_id(50)), ..bare_blob(60) };
    let deleted =
        Blob { state: Stated::stored(blob::State::Deleted), claimed_by: Some(gc_id(50)), ..bare_blob(61) };
    let published = Version {
        state: Stated::stored(version::State::Published),
        content_hash: Some(digest(1)),
        published_at: Some(at(1)),
        entries: Arc::new(vec![entry("b", &bare_blob(51))]),
        ..bare_version(51, tenant)
    };
    let inline = Blob { inline: true, ..bare_blob(62) };
    world.appended.blob_bytes.push(BlobBytes { blob: inline.id, bytes: [].into() });
    put(&mut world, [claimed, deleted, inline]);
    put(&mut world, [published]);
    put(&mut world, [Collection { state: Progress::Done, ..bare_collection(51) }]);
    desk.forge(world).await.unwrap();
    desk
}

/// What must be refused, and words of the reason.
const REFUSED: &[(&str, &str)] = &[
    // What may exist once.
    (
        "INSERT INTO blobs (id, digest, length, state, refs, barrier_until, epoch, created_at, updated_at) \
         SELECT 'blob_again', digest, length, state, refs, barrier_until, epoch, created_at, updated_at FROM blobs \
         WHERE state = 'live' AND claimed_by IS NULL AND refs = 0",
        "unique",
    ),
    ("UPDATE versions SET version = '51' WHERE state = 'draft'", "unique"),
    ("UPDATE collections SET state = 'running'", "unique"),
    // Names that no machine has, counters, halves.
    ("UPDATE blobs SET state = 'LIVE' WHERE claimed_by IS NULL", "check"),
    ("UPDATE uploads SET state = 'open'", "check"),
    ("UPDATE versions SET state = 'PUBLISHED' WHERE state = 'draft'", "check"),
    ("UPDATE collections SET state = 'RUNNING'", "check"),
    ("UPDATE blobs SET refs = -1 WHERE claimed_by IS NULL", "check"),
    ("UPDATE blobs SET claimed_by = 'gc_1' WHERE refs > 0", "check"),
    ("UPDATE usages SET bytes = -1", "check"),
    ("UPDATE usages SET blobs = -1", "check"),
    ("UPDATE uploads SET length = -1", "check"),
    ("UPDATE uploads SET digest = substr(digest, 1, 31)", "check"),
    ("UPDATE uploads SET measured_length = 1", "check"),
    (
        "UPDATE versions SET content_hash = substr(digest, 1, 9) FROM uploads WHERE versions.state = 'draft'",
        "check",
    ),
    // References.
    ("UPDATE possessions SET tenant_id = 'ten_none'", "foreign key"),
    ("UPDATE possessions SET blob_id = 'blob_none'", "foreign key"),
    ("UPDATE usages SET tenant_id = 'ten_none'", "foreign key"),
    ("UPDATE uploads SET tenant_id = 'ten_none'", "foreign key"),
    ("UPDATE versions SET tenant_id = 'ten_none' WHERE state = 'draft'", "foreign key"),
    (
        "UPDATE version_entries SET blob_id = 'blob_none' \
         WHERE version_id = (SELECT id FROM versions WHERE state = 'draft')",
        "foreign key",
    ),
    (
        "INSERT INTO version_entries (version_id, path, digest, length, blob_id) \
         SELECT 'ver_none', path, digest, length, blob_id FROM version_entries WHERE path = 'a'",
        "foreign key",
    ),
    ("UPDATE bundles SET job_id = 'job_none'", "foreign key"),
    ("UPDATE bundles SET tenant_id = 'ten_none'", "foreign key"),
    ("UPDATE bundles SET exec_id = 'exec_none'", "foreign key"),
    ("UPDATE bundle_artifacts SET exec_id = 'exec_none'", "foreign key"),
    ("UPDATE bundle_artifacts SET blob_id = 'blob_none'", "foreign key"),
    ("DELETE FROM bundles", "foreign key"),
    // A claim is for good.
    ("UPDATE blobs SET claimed_by = NULL WHERE claimed_by IS NOT NULL AND state = 'live'", "stays claimed"),
    ("UPDATE blobs SET refs = refs + 1 WHERE claimed_by IS NOT NULL AND state = 'live'", "stays claimed"),
    ("UPDATE blobs SET state = 'live' WHERE state = 'deleted'", "a deleted blob"),
    ("UPDATE blobs SET epoch = epoch + 1 WHERE state = 'deleted'", "a deleted blob"),
    ("UPDATE blobs SET unmarked_by = 'gc_1' WHERE state = 'deleted'", "a deleted blob"),
    ("UPDATE blobs SET claimed_by = 'gc_1' WHERE state = 'deleted'", "a deleted blob"),
    ("UPDATE blobs SET length = length + 1 WHERE refs > 0", "the bytes of a blob"),
    (
        "UPDATE blobs SET digest = (SELECT content_hash FROM versions WHERE state = 'published') WHERE refs > 0",
        "the bytes of a blob",
    ),
    ("UPDATE blobs SET inline = NOT inline WHERE refs > 0", "the bytes of a blob"),
    ("DELETE FROM blobs", "is kept"),
    ("UPDATE blob_bytes SET bytes = bytes", "the bytes of a blob"),
    ("DELETE FROM blob_bytes", "the bytes of a blob go when it is deleted"),
    // What was published stays.
    ("UPDATE versions SET content_hash = NULL WHERE state = 'published'", "a published version"),
    ("UPDATE versions SET published_at = NULL WHERE state = 'published'", "a published version"),
    ("UPDATE versions SET package = 'q' WHERE state = 'published'", "a published version"),
    ("UPDATE versions SET version = 'q' WHERE state = 'published'", "a published version"),
    ("UPDATE versions SET state = 'draft' WHERE state = 'published'", "a published version"),
    ("DELETE FROM versions WHERE state = 'published'", "is kept"),
    ("DELETE FROM version_entries", "entries of a published version"),
    ("UPDATE version_entries SET path = 'moved'", "entries of a published version"),
    (
        "INSERT INTO version_entries (version_id, path, digest, length, blob_id) \
         SELECT version_id, path || 'x', digest, length, blob_id FROM version_entries WHERE path = 'b'",
        "entries of a published version",
    ),
    (
        "UPDATE version_entries SET version_id = (SELECT id FROM versions WHERE state = 'published') WHERE path = 'a'",
        "entries of a published version",
    ),
];

/// What may be: without it, a refusal above might have another reason than the one it is there for.
const ACCEPTED: &[&str] = &[
    "UPDATE blobs SET refs = refs + 1 WHERE claimed_by IS NULL AND state = 'live'",
    "UPDATE blobs SET claimed_by = 'gc_1', state = 'eligible_for_gc' WHERE claimed_by IS NOT NULL AND state = 'live'",
    "UPDATE blobs SET state = 'deleted' WHERE state = 'eligible_for_gc'",
    "UPDATE blobs SET epoch = epoch WHERE state = 'deleted'",
    "UPDATE version_entries SET path = 'moved' WHERE path = 'a'",
    "DELETE FROM version_entries WHERE path = 'moved'",
    "UPDATE versions SET state = 'tombstoned', quarantine = 'why', purged = purged WHERE state = 'published'",
    "UPDATE versions SET state = 'published' WHERE state = 'tombstoned'",
    "UPDATE collections SET state = 'done'",
];

#[test]
fn sqlite_refuses_what_must_not_be() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deltaci.db");
        let _desk = fill(Sqlite::open(&path).unwrap()).await;
        let raw = Connection::open(&path).unwrap();
        raw.pragma_update(None, "foreign_keys", true).unwrap();
        for (sql, expected) in REFUSED {
            check(sql, expected, on_sqlite(&raw, sql));
        }
        ACCEPTED.iter().for_each(|sql| check(sql, "", on_sqlite(&raw, sql)));
    });
}

#[test]
fn postgres_refuses_what_must_not_be() {
    block_on(async {
        let database = Database::make().await;
        let _desk = fill(Postgres::open(&database.url).await.unwrap()).await;
        let raw = connect(&database.url).await;
        for (sql, expected) in REFUSED {
            check(sql, expected, on_postgres(&raw, sql).await);
        }
        for sql in ACCEPTED {
            check(sql, "", on_postgres(&raw, sql).await);
        }
        database.drop().await;
    });
}
