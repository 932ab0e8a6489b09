//! One save goes wrong, whichever: the request is lost, the answer is lost, or somebody else was faster. Whoever asked asks
//! again, and everything comes to the same end as without the fault.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use decisions::records::{Progress, VersionName};
use decisions::versions::{CreateVersion, RestoreVersion, TombstoneVersion, Verdict};
use decisions::{Answer, Command, Policy, Refusal};
use machines::version;
use server::artifacts::Trouble;
use server::artifacts::uploads::{Announced, abort, start};
use server::artifacts::versions::publish;
use server::{Failure, Mint};
use store::{Fault, Memory, Store};
use wire::Digest;

use crate::artifacts::yard::{Yard, digest, large, name};
use crate::script::block_on;

const GRACE: Duration = Duration::from_millis(2);
const TRIES_MAX: usize = 5;
/// More saves than the whole story needs.
const SAVES_MAX: usize = 400;

#[test]
fn a_fault_at_any_save_changes_nothing_in_the_end() {
    block_on(async {
        for fault in [Fault::LoseRequest, Fault::LoseAnswer, Fault::Conflict] {
            let mut met = 0;
            while met < SAVES_MAX {
                let yard = opened().await;
                yard.engine.store().inject_after(met, fault);
                live(&yard).await;
                if yard.engine.store().faults_left() > 0 {
                    break; // the story was over before
                }
                met += 1;
            }
            println!("{fault:?}: at each of {met} saves");
            assert!((20..SAVES_MAX).contains(&met), "{met} saves");
        }
    });
}

async fn opened() -> Yard<Memory> {
    let policy = Policy {
        blob_grace: GRACE,
        upload_ttl: Duration::from_secs(3_600),
        collection_hold: GRACE,
        ..Policy::default()
    };
    Yard::over(Arc::new(Memory::default()), tempfile::tempdir().unwrap(), policy).await
}

/// Uploads, the same bytes by another tenant, two versions, one withdrawn for good and one restored, an upload that is
/// given up, and a collection.
async fn live(yard: &Yard<Memory>) {
    let [one, two] = yard.tenants;
    let (apart, goes) = (large(b"apart"), large(b"gone"));
    let small = [(one, b"kept".as_slice()), (two, b"kept"), (one, b"never")];
    for (tenant, bytes) in small.into_iter().chain([(one, &apart[..]), (two, &apart), (one, &goes)]) {
        again(|| yard.push(tenant, bytes)).await;
    }
    let (kept, gone) = (name(one, "kept"), name(one, "gone"));
    published(yard, &kept, &[digest(b"kept"), digest(&apart)]).await;
    published(yard, &gone, &[digest(b"kept"), digest(&goes)]).await;
    let long = Duration::from_secs(3_600);
    told(yard, TombstoneVersion { name: kept.clone(), retention: long }).await;
    told(yard, RestoreVersion { name: kept.clone(), verdict: Verdict::Allow }).await;
    told(yard, TombstoneVersion { name: gone.clone(), retention: GRACE }).await;
    let abandoned = again(|| started(yard)).await;
    again(|| given_up(yard, abandoned)).await;
    tokio::time::sleep(GRACE * 2).await;
    rest(yard).await;

    let state = |name: &VersionName| {
        let (name, store) = (name.clone(), yard.engine.store());
        async move { store.version(&name).await.unwrap().map(|version| version.state.get()) }
    };
    assert_eq!(state(&kept).await, Some(version::State::Published));
    assert_eq!(state(&gone).await, Some(version::State::Tombstoned));
    yard.assert_at_rest().await;
    let referred: BTreeSet<Digest> =
        yard.blobs().await.iter().filter(|blob| blob.refs > 0).map(|blob| blob.digest).collect();
    assert_eq!(referred, [digest(b"kept"), digest(&apart)].into());
    assert_eq!(yard.engine.store().usage(one).await.unwrap().bytes, 4 + apart.len() as u64);
}

async fn published(yard: &Yard<Memory>, name: &VersionName, digests: &[Digest]) {
    let entries: Vec<_> = digests.iter().map(|digest| (digest.to_string(), *digest)).collect();
    let id = Mint.version(yard.engine.clock().now());
    told(yard, CreateVersion { id, name: name.clone(), entries }).await;
    again(|| publish(&yard.artifacts, &yard.engine, name, "test", false)).await;
}

async fn started(yard: &Yard<Memory>) -> Result<wire::UploadId, Trouble> {
    let announced = Announced {
        tenant: yard.tenants[0],
        digest: digest(b"abandoned"),
        length: 9,
        execution: None,
        measured: None,
    };
    start(&yard.engine, announced).await.map(|upload| upload.id)
}

async fn given_up(yard: &Yard<Memory>, upload: wire::UploadId) -> Result<(), Trouble> {
    match abort(&yard.engine, yard.tenants[0], upload).await {
        Err(Trouble::Failed(Failure::Refused(Refusal::UploadEnded { .. }))) => Ok(()), // it was done the first time
        other => other.map(drop),
    }
}

/// Sends a command until it is answered.
async fn told(yard: &Yard<Memory>, command: impl Into<Command>) -> Answer {
    let command = command.into();
    again(|| async { yard.engine.perform(command.clone()).await.map_err(Trouble::from) }).await
}

async fn again<T>(act: impl AsyncFn() -> Result<T, Trouble>) -> T {
    for _ in 0..TRIES_MAX {
        match act().await {
            Ok(done) => return done,
            Err(Trouble::Failed(Failure::Unavailable(_) | Failure::Unknown(_) | Failure::Busy)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("one fault fails one try");
}

/// What upkeep and collections do, each as often as it takes: a collection that was left is taken over.
async fn rest(yard: &Yard<Memory>) {
    loop {
        while !matches!(yard.upkeep().round().await, Ok(false)) {}
        let Ok(report) = yard.collector.request(false).await else { continue };
        let id = report.collection.id;
        let over = loop {
            let report = yard.collector.find(id).await.unwrap();
            let Some(report) = report else { break false }; // the request was lost
            if report.collection.state != Progress::Running {
                break report.collection.state == Progress::Done;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            let _ = yard.collector.take_over().await;
        };
        while !matches!(yard.upkeep().round().await, Ok(false)) {} // the fault may have met the one before
        if over && yard.engine.store().blobs_unreferenced(None, 1).await.unwrap().is_empty() {
            return;
        }
        tokio::time::sleep(GRACE).await;
    }
}
