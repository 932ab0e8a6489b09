//! What a job's tests came to, from the JUnit files among its artifacts. A file that cannot be read is no reason to refuse
//! the job's last word: it is said beside the rest.

use decisions::leases::StoredArtifact;
use futures_util::TryStreamExt;
use serde::Serialize;
use store::Store;
use store::blobs::{BlobError, BlobKey, Blobs};
use wire::TenantId;

use crate::artifacts::Trouble;
use crate::artifacts::bytes::{self, Whole};
use crate::engine::Engine;
use crate::junit::{self, BadReport, FAILURES_MAX, REPORT_BYTES_MAX, TestReport};

/// The artifacts that are read.
const KIND: &str = "junit";

/// The most files of one job; those beyond are only named.
const FILES_MAX: usize = 1_000;

/// The most files that are named with why they were not read.
const UNREAD_MAX: usize = 20;

#[derive(Debug, Default, Serialize)]
struct Tests {
    #[serde(flatten)]
    report: TestReport,
    /// Files that say nothing, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<Unread>,
}

#[derive(Debug, Serialize)]
struct Unread {
    path: String,
    problem: String,
}

/// All of them together, as JSON; nothing if there is none.
pub async fn tests<S: Store>(
    blobs: &Blobs,
    engine: &Engine<S>,
    tenant: TenantId,
    artifacts: &[StoredArtifact],
) -> Result<Option<String>, Trouble> {
    let files: Vec<&StoredArtifact> = artifacts.iter().filter(|artifact| artifact.kind == KIND).collect();
    if files.is_empty() {
        return Ok(None);
    }
    let mut tests = Tests::default();
    let mut room = REPORT_BYTES_MAX as u64; // for all of them
    for (index, file) in files.into_iter().enumerate() {
        let read = match index {
            0..FILES_MAX => read(blobs, engine, tenant, file, &mut room).await?,
            _ => Err("there are too many files".to_string()),
        };
        match read {
            Ok(report) => add(&mut tests.report, report),
            Err(problem) if tests.unread.len() < UNREAD_MAX => {
                tests.unread.push(Unread { path: file.path.clone(), problem });
            }
            Err(_) => {}
        }
    }
    Ok(Some(serde_json::to_string(&tests).expect("a report is plain data")))
}

async fn read<S: Store>(
    blobs: &Blobs,
    engine: &Engine<S>,
    tenant: TenantId,
    file: &StoredArtifact,
    room: &mut u64,
) -> Result<Result<TestReport, String>, Trouble> {
    let Some(blob) = engine.store().blob_of(tenant, file.digest).await? else {
        return Ok(Err("its bytes are not here".into()));
    };
    match room.checked_sub(blob.length) {
        Some(left) => *room = left,
        None => return Ok(Err(BadReport::TooLarge.to_string())),
    }
    let named = Whole { key: BlobKey::new(&file.digest, blob.id), length: blob.length };
    let bytes = match whole(blobs, engine.store(), &named).await {
        Err(Trouble::Bytes(BlobError::NotFound | BlobError::Torn { .. })) => {
            return Ok(Err("its bytes are damaged".into()));
        }
        bytes => bytes?,
    };
    let parsed = tokio::task::spawn_blocking(move || junit::parse(&bytes)).await;
    Ok(parsed.map_err(|_| Trouble::Mistake)?.map_err(|bad| bad.to_string()))
}

async fn whole<S: Store>(blobs: &Blobs, store: &S, named: &Whole) -> Result<Vec<u8>, Trouble> {
    let mut whole = Vec::with_capacity(named.length as usize);
    if named.length > 0 {
        let mut pieces = bytes::read(store, blobs, named, 0..named.length).await?;
        while let Some(piece) = pieces.try_next().await? {
            whole.extend_from_slice(&piece);
        }
    }
    Ok(whole)
}

fn add(all: &mut TestReport, one: TestReport) {
    all.total += one.total;
    all.failed += one.failed;
    all.skipped += one.skipped;
    all.errors += one.errors;
    all.duration_ms += one.duration_ms;
    let room = FAILURES_MAX.saturating_sub(all.failures.len());
    all.failures.extend(one.failures.into_iter().take(room));
}
