//! Logs that are whole: found by their index, moved to a blob in one commit, and held there.

use std::time::Duration;

use decisions::doctor::check_log_file;
use decisions::leases::Lease;
use decisions::logs::{ArchiveLog, Whole};
use decisions::records::{Log, Usage};
use decisions::{Answer, Ask, Changes, Refusal};
use machines::upload;
use store::Store;
use wire::TenantId;

use crate::commands::{ack, append, complete, exec_id, fail, job_id, lease_job, submit, tenant, webhook};
use crate::desk::Desk;
use crate::forged::artifacts::{blob_id, digest, upload_id};
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    what_is_whole_is_found_and_nothing_else,
    a_log_becomes_a_blob_in_one_commit,
    bytes_that_are_here_need_no_upload,
    of_two_servers_one_archives_and_the_other_leaves_nothing,
    what_is_not_the_whole_log_is_refused,
    a_log_that_lies_about_its_bytes_is_found,
]);

const ALL: usize = usize::MAX;
const NOW: Duration = Duration::ZERO;

/// Jobs that have printed ten bytes each; the first `ended` of them are over.
async fn printed<S: Store>(desk: Desk<S>, jobs: u128, ended: u128) -> (Desk<S>, Vec<Lease>) {
    let desk = desk.open().await;
    desk.must_all((1..=jobs).map(submit)).await;
    let leases: Vec<Lease> = (1..=jobs).map(|number| lease_job(number, job_id(number))).collect();
    desk.must_all(leases.clone()).await;
    desk.must_all(leases.iter().map(ack)).await;
    desk.must_all(leases.iter().map(|lease| append(lease, 0, b"0123456789"))).await;
    desk.must_all(leases[..ended as usize].iter().map(complete)).await;
    (desk, leases)
}

/// By the server of this number, of ten bytes whose digest goes by another.
fn archive(number: u128, server: u128, bytes: u8) -> ArchiveLog {
    ArchiveLog {
        execution: exec_id(number),
        tenant: tenant(),
        whole: Whole { digest: digest(bytes), length: 10, tail_from: 10 },
        upload: upload_id(server * 100 + number),
        blob: blob_id(server * 100 + number),
        placed: false,
    }
}

fn placed(archive: &ArchiveLog) -> ArchiveLog {
    ArchiveLog { placed: true, ..archive.clone() }
}

async fn due<S: Store>(desk: &Desk<S>, ago: Duration, after: Option<u128>, limit: usize) -> Vec<u128> {
    let found = desk.store.logs_due(desk.now(), ago, after.map(exec_id), limit).await.unwrap();
    assert!(found.iter().all(|(log, of)| *of == tenant() && log.blob.is_none()));
    found.iter().map(|(log, _)| log.execution.as_u128()).collect()
}

async fn log<S: Store>(desk: &Desk<S>, number: u128) -> Log {
    desk.store.log(exec_id(number)).await.unwrap().expect("it has printed")
}

const MOVED: Answer = Answer::Settled { moved: true };
const NOTHING: Answer = Answer::Settled { moved: false };

async fn what_is_whole_is_found_and_nothing_else<S: Store>(desk: Desk<S>) {
    let (desk, leases) = printed(desk, 5, 4).await;
    desk.must(submit(6)).await;
    let silent = lease_job(6, job_id(6));
    desk.must(silent.clone()).await;
    desk.must(ack(&silent)).await;
    desk.must(complete(&silent)).await;
    assert_eq!(due(&desk, NOW, None, ALL).await, [1, 2, 3, 4], "not what runs, and not what never printed");
    assert_eq!(due(&desk, NOW, None, 2).await, [1, 2]);
    assert_eq!(due(&desk, NOW, Some(2), 1).await, [3]);
    assert_eq!(due(&desk, NOW, Some(4), ALL).await, []);
    assert_eq!(due(&desk, Duration::from_secs(3600), None, ALL).await, [], "it has just ended");
    assert_eq!(due(&desk, Duration::MAX, None, ALL).await, []);
    desk.must(archive(2, 1, 7)).await;
    assert_eq!(due(&desk, NOW, None, ALL).await, [1, 2, 3, 4], "an upload is only a beginning");
    desk.must(placed(&archive(2, 1, 7))).await;
    assert_eq!(due(&desk, NOW, None, ALL).await, [1, 3, 4]);
    desk.must(fail(&leases[4], "connection reset")).await;
    assert_eq!(due(&desk, NOW, None, ALL).await, [1, 3, 4, 5], "whatever its lease came to");
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn a_log_becomes_a_blob_in_one_commit<S: Store>(desk: Desk<S>) {
    let (desk, leases) = printed(desk, 1, 0).await;
    let desk = desk.with_policy(|policy| (policy.log_head_bytes_max, policy.log_tail_bytes_max) = (15, 12));
    desk.must(webhook("ops", &["upload.committed"])).await;
    for offset in [10, 20, 30, 40, 50] {
        desk.must(append(&leases[0], offset, b"0123456789")).await;
    }
    desk.must(complete(&leases[0])).await;
    let before = log(&desk, 1).await;
    let whole = Log { execution: exec_id(1), received: 60, head: 15, tail_from: 48, blob: None };
    assert_eq!(before, whole);
    // A chunk that reaches into the tail is there whole, and stays so.
    let command = archive(1, 1, 7);
    let command = ArchiveLog { whole: Whole { length: 35, tail_from: 40, ..command.whole }, ..command };
    let Answer::UploadIs(upload) = desk.must(command.clone()).await else { panic!("bytes must be placed") };
    assert_eq!((upload.state.get(), upload.length), (upload::State::PendingCommit, 35));
    assert_eq!(desk.must(command.clone()).await, Answer::UploadIs(upload), "said twice");
    assert_eq!(log(&desk, 1).await, before);
    assert_eq!(desk.must(placed(&command)).await, MOVED);
    let archived = log(&desk, 1).await;
    assert_eq!(archived, Log { tail_from: 40, blob: Some(blob_id(101)), ..before });
    assert_eq!((archived.kept(), archived.place(9), archived.place(40), archived.place(60)), (35, 9, 15, 35));
    assert_eq!(desk.store.log_chunks(exec_id(1), 0, ALL).await, Ok(vec![]));
    let blob = desk.store.blob(blob_id(101)).await.unwrap().expect("it was made");
    assert_eq!((blob.length, blob.refs, blob.digest), (35, 1, digest(7)));
    assert_eq!(desk.store.blobs_unreferenced(None, ALL).await, Ok(vec![]), "no collection looks at it");
    let upload = desk.store.upload(upload_id(101)).await.unwrap().expect("it was begun");
    assert_eq!((upload.state.get(), upload.got), (upload::State::Committed, Some(blob.id)));
    assert!(!upload.litter);
    let contents = desk.contents().await;
    for again in [command.clone(), placed(&command), archive(1, 2, 8)] {
        assert_eq!(desk.must(again).await, NOTHING);
    }
    assert_eq!(desk.contents().await, contents, "and nothing moves");
    assert_eq!(contents.problems(), [] as [&str; 0]);
    assert_eq!(contents.deliveries, [], "nobody brought it, so nobody is told");
    let nothing = Usage { tenant: tenant(), bytes: 0, blobs: 0 };
    assert_eq!(desk.store.usage(tenant()).await, Ok(nothing), "nor is it counted");
    assert_eq!(desk.store.blob_of(tenant(), digest(7)).await, Ok(None), "nor had by its digest");
}

async fn bytes_that_are_here_need_no_upload<S: Store>(desk: Desk<S>) {
    let (desk, _) = printed(desk, 3, 3).await;
    desk.must(archive(1, 1, 7)).await;
    desk.must(placed(&archive(1, 1, 7))).await;
    assert_eq!(desk.must(archive(2, 1, 7)).await, MOVED);
    assert_eq!(desk.store.upload(upload_id(102)).await, Ok(None));
    assert_eq!(log(&desk, 2).await.blob, Some(blob_id(101)));
    assert_eq!(desk.store.log_chunks(exec_id(2), 0, ALL).await, Ok(vec![]));
    assert_eq!(desk.store.blob(blob_id(101)).await.unwrap().map(|blob| blob.refs), Some(2));
    // In one batch, too: the second sees the blob of the first.
    let (one, two) = (archive(3, 1, 8), archive(3, 1, 8));
    desk.must(one).await;
    assert_eq!(desk.must_all([placed(&two), placed(&two)]).await, [MOVED, NOTHING]);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn of_two_servers_one_archives_and_the_other_leaves_nothing<S: Store>(desk: Desk<S>) {
    let (desk, _) = printed(desk, 2, 2).await;
    let (one, two) = (archive(1, 1, 7), archive(1, 2, 7));
    desk.must_all([one.clone(), two.clone()]).await;
    assert_eq!(desk.must(placed(&two)).await, MOVED);
    assert_eq!(desk.must(placed(&one)).await, NOTHING);
    assert_eq!(log(&desk, 1).await.blob, Some(blob_id(201)));
    let late = desk.store.upload(upload_id(101)).await.unwrap().expect("it was begun");
    assert_eq!((late.state.get(), late.litter, late.got), (upload::State::Aborted, true, None));
    // The same bytes, of another log, came while these were on their way.
    let (one, two) = (archive(2, 1, 9), archive(2, 2, 7));
    desk.must(one.clone()).await;
    assert_eq!(desk.must(two).await, MOVED);
    assert_eq!(desk.must(placed(&one)).await, NOTHING);
    assert_eq!(desk.store.artifacts_due(desk.now(), ALL).await.unwrap().litter.len(), 2);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn what_is_not_the_whole_log_is_refused<S: Store>(desk: Desk<S>) {
    let (desk, _) = printed(desk, 2, 1).await;
    let desk = desk.with_policy(|policy| policy.upload_ttl = Duration::ZERO);
    assert_eq!(desk.try_one(archive(2, 1, 7)).await, Err(Refusal::LogGrows));
    let sound = archive(1, 1, 7);
    let elsewhere = ArchiveLog { tenant: TenantId::from_u128(404), ..sound.clone() };
    for unknown in [elsewhere, archive(9, 1, 7)] {
        assert_eq!(desk.try_one(unknown).await, Err(Refusal::JobNotFound));
    }
    for (length, tail_from) in [(9, 10), (11, 10), (10, 9), (10, 11)] {
        let whole = Whole { length, tail_from, ..sound.whole };
        let refused = desk.try_one(ArchiveLog { whole, ..sound.clone() }).await;
        assert!(matches!(refused, Err(Refusal::InvalidInput { field: "length", .. })), "{refused:?}");
    }
    desk.must(sound.clone()).await;
    let late = desk.try_one(placed(&sound)).await;
    assert!(matches!(late, Err(Refusal::UploadEnded { .. })), "its time was over at once: {late:?}");
    assert_eq!(log(&desk, 1).await.blob, None);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn a_log_that_lies_about_its_bytes_is_found<S: Store>(desk: Desk<S>) {
    let (desk, _) = printed(desk, 3, 3).await;
    desk.must(archive(1, 1, 7)).await;
    desk.must(placed(&archive(1, 1, 7))).await;
    let found = async || {
        let files = desk.store.log_files_after(None, ALL).await.unwrap();
        let findings = files.iter().flat_map(check_log_file);
        findings.map(|it| (it.invariant, it.entity, it.problem)).collect::<Vec<_>>()
    };
    assert_eq!(found().await, []);
    let forge = async |log: Log| {
        let mut changes = Changes::default();
        changes.logs.insert(log.execution, log);
        desk.forge_after(&[Ask::Log(log.execution)], changes).await.unwrap();
    };
    let (archived, chunked, other) = (log(&desk, 1).await, log(&desk, 2).await, log(&desk, 3).await);
    forge(Log { received: 11, ..archived }).await;
    forge(Log { received: 12, head: 12, tail_from: 12, ..chunked }).await;
    forge(Log { blob: archived.blob, ..other }).await;
    let problems = [
        (1, "bytes of its blob: stored 10, computed 11"),
        (2, "its chunks have 10 of 12 bytes"),
        (3, "bytes in chunks beside its blob: stored 10, computed 0"),
    ];
    let problems = problems.map(|(number, it)| ("I20", exec_id(number).to_string(), it.to_owned()));
    assert_eq!(found().await, problems);
    let files = desk.store.log_files_after(Some(exec_id(1)), 1).await.unwrap();
    assert_eq!(files.iter().map(|file| file.log.execution).collect::<Vec<_>>(), [exec_id(2)]);
    let blobs = desk.contents().await.blobs;
    assert_eq!((blobs[0].blob.refs, blobs[0].refs), (1, 2), "the blob's own count shows it too");
}
