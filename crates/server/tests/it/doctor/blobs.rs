//! Blobs and logs: what holds bytes, and where they are.

use std::time::Duration;

use decisions::doctor::{BlobFile, LogFile, UsageFile, check_blob, check_log_file, check_usage};
use decisions::records::{Log, VersionName};
use store::Store;
use wire::{CollectionId, ExecId};

use super::{Spoilt, each_is_found};
use crate::artifacts::yard::{Yard, digest};
use crate::script::block_on;

const LONG: Duration = Duration::from_secs(3600);

const BYTES: &[u8] = b"0123456789";

/// Small bytes that one version refers to.
async fn kept_blob() -> BlobFile {
    let yard = Yard::open(LONG, LONG).await;
    let tenant = yard.tenants[0];
    yard.push(tenant, BYTES).await.unwrap();
    let name = VersionName { tenant, package: "tool".into(), version: "1".into() };
    yard.draft(&name, &[digest(BYTES)]).await.unwrap();
    yard.engine.store().blob_files_after(None, 1).await.unwrap().remove(0)
}

#[test]
fn what_is_wrong_with_a_blob_is_found() {
    let spoilt: &[Spoilt<BlobFile>] = &[
        ("A1", "it counts 2 references, 1 are there", |it| it.blob.refs = 2),
        ("A1", "it counts 1 references, 0 are there", |it| it.refs = 0),
        ("A1", "bytes among the records", |it| it.inline_bytes = None),
        ("A1", "bytes among the records", |it| it.blob.inline = false),
        ("A3", "it was claimed, and 1 references hold it", |it| {
            it.blob.claimed_by = Some(CollectionId::FIRST);
            it.blob.unmarked_by = Some(CollectionId::FIRST);
        }),
        ("A2", "that had not looked at it", |it| {
            it.blob.claimed_by = Some(CollectionId::FIRST);
            (it.blob.refs, it.refs) = (0, 0);
        }),
        ("I8", "the log leads to", |it| it.events.clear()),
    ];
    block_on(async { each_is_found(&kept_blob().await, check_blob, spoilt) });
}

#[test]
fn what_is_wrong_with_a_usage_is_found() {
    let spoilt: &[Spoilt<UsageFile>] = &[
        ("I17", "bytes it has", |it| it.usage.bytes += 1),
        ("I17", "bytes it has", |it| it.bytes = 0),
        ("I17", "blobs it has", |it| it.usage.blobs = 2),
    ];
    block_on(async {
        let yard = Yard::open(LONG, LONG).await;
        yard.push(yard.tenants[1], BYTES).await.unwrap();
        let files = yard.engine.store().usage_files_after(None, 10).await.unwrap();
        let used: Vec<_> = files.iter().map(|it| (it.usage.tenant, it.bytes, it.blobs)).collect();
        assert_eq!(used, [(yard.tenants[0], 0, 0), (yard.tenants[1], BYTES.len() as u64, 1)]);
        each_is_found(&files[1], check_usage, spoilt);
    });
}

#[test]
fn what_is_wrong_with_a_log_is_found() {
    let in_chunks: &[Spoilt<LogFile>] = &[("I20", "its chunks have 9 of 10 bytes", |it| it.chunked = 9)];
    let archived: &[Spoilt<LogFile>] = &[
        ("I20", "bytes of its blob", |it| it.log.received = 11),
        ("I20", "is not here", |it| it.blob = None),
        ("I20", "bytes in chunks beside its blob", |it| it.chunked = 1),
        ("I20", "its lease lives", |it| it.live = true),
    ];
    block_on(async {
        let log = Log { execution: ExecId::FIRST, received: 10, head: 10, tail_from: 10, blob: None };
        each_is_found(&LogFile { log, chunked: 10, live: true, blob: None }, check_log_file, in_chunks);
        let blob = kept_blob().await.blob;
        let log = Log { blob: Some(blob.id), ..log };
        each_is_found(&LogFile { log, chunked: 0, live: false, blob: Some(blob) }, check_log_file, archived);
    });
}
