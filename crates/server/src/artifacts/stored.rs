//! What a runner's last word brings into the store: the artifacts it uploaded, what their tests say, and the version
//! that its job publishes, with the policy's verdict.

use std::collections::BTreeMap;

use decisions::Refusal;
use decisions::leases::{Publish, Stored, StoredArtifact};
use decisions::records::{Blob, Job};
use decisions::versions::{Verdict, check_path};
use store::Store;
use wire::runner::{ArtifactRef, CompleteStatus, PublishSpec};
use wire::{Digest, ExecId, TenantId};

use crate::artifacts::judge::{Case, CaseEntry, CaseJob};
use crate::artifacts::{Artifacts, Trouble, reports};
use crate::engine::Engine;
use crate::mint::Mint;

/// How a reference to something in our own store begins.
pub const SCHEME: &str = "blob:";

/// What a message says, and under which execution.
pub struct Said<'s> {
    pub execution: ExecId,
    pub status: CompleteStatus,
    pub artifacts: &'s [ArtifactRef],
}

/// The job that an execution belongs to, as far as its artifacts are concerned.
pub struct Of {
    pub job: Job,
    pub publish: Option<PublishSpec>,
}

pub async fn stored<S: Store>(
    artifacts: &Artifacts,
    engine: &Engine<S>,
    said: &Said<'_>,
    of: Of,
) -> Result<Stored, Trouble> {
    let Of { job, publish } = of;
    let found = found(said.artifacts)?;
    let tests = reports::tests(&artifacts.blobs, engine, job.tenant, &found).await?;
    let publish = match publish.filter(|_| said.status == CompleteStatus::Succeeded) {
        Some(spec) => Some(judged(artifacts, engine, said.execution, &job, &found, spec).await?),
        None => None,
    };
    Ok(Stored { tenant: job.tenant, artifacts: found, publish, tests })
}

pub fn has_blobs(artifacts: &[ArtifactRef]) -> bool {
    artifacts.iter().any(|artifact| artifact.uri.starts_with(SCHEME))
}

/// Those that are in our own store; anything else is kept as it is, in the message.
fn found(artifacts: &[ArtifactRef]) -> Result<Vec<StoredArtifact>, Refusal> {
    let ours = artifacts.iter().filter_map(|it| it.uri.strip_prefix(SCHEME).map(|digest| (it, digest)));
    ours.map(|(artifact, digest)| {
        let digest: Digest = digest.parse().map_err(|_| {
            let problem = "after `blob:` comes a digest: `sha256:` and 64 hexadecimal digits".into();
            Refusal::InvalidInput { field: "artifacts", problem }
        })?;
        let path = artifact.path.clone().unwrap_or_else(|| digest.hex());
        check_path(&path).map_err(of_artifacts)?;
        Ok(StoredArtifact { kind: artifact.r#type.clone(), path, digest })
    })
    .collect()
}

fn of_artifacts(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::InvalidInput { problem, .. } => Refusal::InvalidInput { field: "artifacts", problem },
        other => other,
    }
}

/// The version, with what the policy says to it.
async fn judged<S: Store>(
    artifacts: &Artifacts,
    engine: &Engine<S>,
    execution: ExecId,
    job: &Job,
    found: &[StoredArtifact],
    spec: PublishSpec,
) -> Result<Publish, Trouble> {
    let id = Mint.version(engine.clock().now());
    let PublishSpec { package, version } = spec;
    if artifacts.judge.is_absent() {
        return Ok(Publish { id, package, version, verdict: Verdict::Allow });
    }
    let tenant = engine.store().tenant(job.tenant).await?.ok_or(Refusal::TenantNotFound)?;
    let mut entries = BTreeMap::new();
    for artifact in found {
        let length = blob(engine, job.tenant, artifact.digest).await?.length;
        let entry = CaseEntry { path: &artifact.path, digest: artifact.digest, length };
        entries.insert(artifact.path.as_str(), entry);
    }
    let case = Case {
        tenant: &tenant.name,
        tenant_id: job.tenant,
        package: &package,
        version: &version,
        entries: entries.into_values().collect(),
        actor: "job",
        job: Some(CaseJob { id: job.id, name: &job.name, run_id: job.run, exec_id: execution }),
    };
    let verdict = artifacts.judge.verdict(&case).await?;
    Ok(Publish { id, package, version, verdict })
}

async fn blob<S: Store>(engine: &Engine<S>, tenant: TenantId, digest: Digest) -> Result<Blob, Trouble> {
    engine.store().blob_of(tenant, digest).await?.ok_or_else(|| Refusal::BlobMissing { digest }.into())
}
