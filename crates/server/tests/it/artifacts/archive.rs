//! Logs on their way from the database to the blobs: whatever breaks, nothing is lost and nothing is left.

use std::sync::Arc;
use std::time::Duration;

use decisions::doctor::check_log_file;
use decisions::jobs::SubmitJob;
use decisions::leases::{Ack, Complete, Lease, Wanted};
use decisions::logs::{AppendLog, ArchiveLog, Whole};
use decisions::{Answer, Policy};
use serde_json::value::RawValue;
use server::Mint;
use server::artifacts::archive::{Archive, Round};
use server::artifacts::uploads::key;
use store::blobs::BlobKey;
use store::{Fault, Memory, Store};
use wire::runner::CompleteStatus;
use wire::{ExecId, RunnerId};

use crate::artifacts::yard::{Yard, digest};
use crate::script::block_on;

const GRACE: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(3600);
const ALL: usize = 1_000;

const DONE: Round = Round { next: None, failed: false };

fn archive<S: Store>(yard: &Yard<S>) -> Archive<S> {
    let (engine, blobs) = (yard.engine.clone(), yard.artifacts.blobs.clone());
    Archive { engine, blobs, interval: Duration::from_millis(1), after: Duration::ZERO }
}

/// A job that printed this, a part at a time, and is over.
async fn printed<S: Store>(yard: &Yard<S>, parts: &[&str]) -> ExecId {
    let (engine, now) = (&yard.engine, yard.engine.clock().now());
    let (job, execution) = (Mint.job(now), Mint.execution(now));
    let (lease, runner) = (Mint.lease(execution), RunnerId::parse("r1").unwrap());
    let submit = SubmitJob {
        id: job,
        tenant: yard.tenants[0],
        key: None,
        payload: RawValue::from_string("{}".into()).unwrap(),
        runs_on: Vec::new(),
        priority: 0,
        attempts_max: None,
        timeout_seconds: None,
        effect_once: false,
    };
    engine.perform(submit).await.unwrap();
    let wanted = Wanted::Job(job);
    let lease_it = Lease {
        runner: runner.clone(),
        tenant: None,
        capabilities: vec![],
        wanted,
        execution,
        lease: lease.clone(),
    };
    engine.perform(lease_it).await.unwrap();
    engine.perform(Ack { lease: lease.key(), runner: runner.clone() }).await.unwrap();
    let mut offset = 0;
    for part in parts {
        let bytes = part.as_bytes().into();
        engine.perform(AppendLog { lease: lease.key(), offset, bytes }).await.unwrap();
        offset += part.len() as u64;
    }
    let complete = Complete {
        lease: lease.key(),
        runner,
        status: CompleteStatus::Succeeded,
        exit_code: 0,
        summary: String::new(),
        artifacts: String::new(),
        stored: None,
        saves: None,
    };
    engine.perform(complete).await.unwrap();
    execution
}

/// The bytes of a log that is archived; `None` while it is not.
async fn archived<S: Store>(yard: &Yard<S>, execution: ExecId) -> Option<String> {
    let log = yard.engine.store().log(execution).await.unwrap().expect("it has printed");
    assert_eq!(
        yard.engine.store().log_chunks(execution, 0, ALL).await.unwrap().is_empty(),
        log.blob.is_some()
    );
    let blob = yard.engine.store().blob(log.blob?).await.unwrap().expect("it is there");
    let bytes = yard.read(&BlobKey::new(&blob.digest, blob.id), blob.length).await.unwrap();
    Some(String::from_utf8(bytes).unwrap())
}

async fn assert_sound<S: Store>(yard: &Yard<S>) {
    for file in yard.engine.store().log_files_after(None, ALL).await.unwrap() {
        assert_eq!(check_log_file(&file), []);
    }
    yard.assert_at_rest().await;
}

#[test]
fn what_is_archived_stays_and_no_collection_takes_it() {
    block_on(async {
        let policy =
            Policy { log_head_bytes_max: 6, log_tail_bytes_max: 5, blob_grace: GRACE, ..Policy::default() };
        let yard = Yard::over(Arc::new(Memory::default()), tempfile::tempdir().unwrap(), policy).await;
        let short = printed(&yard, &["one ", "two"]).await;
        let cut = printed(&yard, &["head..", "middle", "gone", "last", "tail"]).await;
        let same = printed(&yard, &["on", "e two"]).await;
        printed(&yard, &[]).await;
        let waiting = Archive { after: LONG, ..archive(&yard) };
        assert_eq!(waiting.round(None).await.unwrap(), DONE);
        assert_eq!(archived(&yard, short).await, None, "not yet");
        assert_eq!(archive(&yard).round(None).await.unwrap(), DONE);
        yard.come_to_rest().await;
        assert_eq!(archived(&yard, short).await.as_deref(), Some("one two"));
        assert_eq!(archived(&yard, cut).await.as_deref(), Some("head..lasttail"), "whole parts");
        assert_eq!(archived(&yard, same).await.as_deref(), Some("one two"));
        assert_eq!(yard.keys().await.len(), 2, "the same bytes are kept once");
        assert_sound(&yard).await;
    });
}

#[test]
fn a_server_that_is_killed_before_the_commit_leaves_an_upload_that_runs_out() {
    block_on(async {
        let yard = Yard::open(GRACE, Duration::from_secs(1)).await;
        let execution = printed(&yard, &["what was printed"]).await;
        let now = yard.engine.clock().now();
        let whole = Whole { digest: digest(b"what was printed"), length: 16, tail_from: 16 };
        let (upload, blob, tenant) = (Mint.upload(now), Mint.blob(now), yard.tenants[0]);
        let command = ArchiveLog { execution, tenant, whole, upload, blob, placed: false };
        let Answer::UploadIs(upload) = yard.engine.perform(command).await.unwrap() else {
            panic!("no upload")
        };
        yard.artifacts.blobs.put(&key(&upload), (&b"what was printed"[..]).into()).await.unwrap();
        // Killed here. Its bytes are on record, and no blob names them.
        assert_eq!(archived(&yard, execution).await, None);
        while archived(&yard, execution).await.is_none() {
            archive(&yard).round(None).await.unwrap();
        }
        assert_eq!(archived(&yard, execution).await.as_deref(), Some("what was printed"));
        while yard.keys().await.len() > 1 {
            yard.upkeep().round().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        yard.come_to_rest().await;
        assert_eq!(archived(&yard, execution).await.as_deref(), Some("what was printed"));
        assert_sound(&yard).await;
    });
}

#[test]
fn bytes_that_cannot_be_written_leave_the_log_where_it_is() {
    block_on(async {
        let yard = Yard::open(GRACE, LONG).await;
        let execution = printed(&yard, &["patience"]).await;
        let (place, away) = (yard.folder().join("blobs/blobs"), yard.folder().join("away"));
        std::fs::rename(&place, &away).unwrap();
        assert!(archive(&yard).round(None).await.unwrap().failed);
        assert_eq!(archived(&yard, execution).await, None);
        std::fs::rename(&away, &place).unwrap();
        assert_eq!(archive(&yard).round(None).await.unwrap(), DONE);
        assert_eq!(archived(&yard, execution).await.as_deref(), Some("patience"));
        yard.come_to_rest().await;
        assert_sound(&yard).await;
    });
}

/// More than a round has, by two at a time, as two servers would.
#[test]
fn two_servers_archive_all_of_it_once() {
    block_on(async {
        let yard = Yard::open(GRACE, LONG).await;
        let mut printed_by = Vec::new();
        for number in 0..70 {
            printed_by.push((printed(&yard, &[&format!("log {}", number % 40)]).await, number % 40));
        }
        let all = async || {
            let (archive, mut next, mut begun) = (archive(&yard), None, false);
            while !begun || next.is_some() {
                let round = archive.round(next).await.unwrap();
                assert!(!round.failed);
                (next, begun) = (round.next, true);
            }
        };
        tokio::join!(all(), all());
        for (execution, number) in printed_by {
            assert_eq!(archived(&yard, execution).await, Some(format!("log {number}")));
        }
        yard.come_to_rest().await;
        assert_eq!(yard.keys().await.len(), 40);
        assert_sound(&yard).await;
    });
}

#[test]
fn a_fault_at_any_save_loses_nothing() {
    block_on(async {
        for fault in [Fault::LoseRequest, Fault::LoseAnswer, Fault::Conflict] {
            for met in 0.. {
                let policy = Policy { blob_grace: GRACE, ..Policy::default() };
                let yard =
                    Yard::over(Arc::new(Memory::default()), tempfile::tempdir().unwrap(), policy).await;
                let logs = [printed(&yard, &["one"]).await, printed(&yard, &["two"]).await];
                yard.engine.store().inject_after(met, fault);
                // A save that is lost is found at the next look.
                let mut rounds = 0;
                while archive(&yard).round(None).await.unwrap().failed {
                    rounds += 1;
                    assert!(rounds < 5, "{fault:?} at save {met}");
                }
                let is_over = yard.engine.store().faults_left() > 0;
                for (execution, text) in logs.into_iter().zip(["one", "two"]) {
                    assert_eq!(archived(&yard, execution).await.as_deref(), Some(text), "{fault:?} {met}");
                }
                assert_sound(&yard).await;
                if is_over {
                    assert!(met >= 2, "both of its saves were met");
                    break;
                }
            }
        }
    });
}
