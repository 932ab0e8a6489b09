//! What a job's commit makes visible: the artifacts that its runner uploaded, and the version that is made of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use machines::version;
use wire::{Digest, TenantId, VersionId};

use crate::blobs::{asks_for, possessed, refer};
use crate::records::{Artifact, Bundle, Execution, Tenant, Version, VersionName};
use crate::versions::{Verdict, draft_version, holds, publish_draft};
use crate::{Ask, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct Stored {
    /// The job's own.
    pub tenant: TenantId,
    pub artifacts: Vec<StoredArtifact>,
    pub publish: Option<Publish>,
    /// The tests that the JUnit files among them tell of, as JSON.
    pub tests: Option<String>,
}

#[derive(Debug, Clone)]
pub struct StoredArtifact {
    pub kind: String,
    pub path: String,
    pub digest: Digest,
}

#[derive(Debug, Clone)]
pub struct Publish {
    /// Minted at the edge.
    pub id: VersionId,
    pub package: String,
    pub version: String,
    pub verdict: Verdict,
}

/// Whether what a job made becomes the version that it names, if it names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Publishing {
    Asked,
    Impossible,
}

const ARTIFACTS_MAX: usize = 10_000;

impl Stored {
    pub fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Tenant(self.tenant));
        self.artifacts.iter().for_each(|artifact| asks_for(asks, self.tenant, artifact.digest));
        asks.extend(self.publish.iter().map(|publish| Ask::VersionName(self.name(publish))));
    }

    /// Why the job cannot end well: its version is there, and holds something else.
    pub fn conflict(&self, draft: &Draft<'_>) -> Option<String> {
        let publish = self.publish.as_ref()?;
        let id = draft.book().version_names.get(&self.name(publish))?;
        let known: &Version = draft.get(id)?;
        let same = holds(&known.entries, &self.entries());
        let open = known.state.get() == version::State::Draft;
        (!same && !open).then(|| {
            format!(
                "{} {} is published and holds something else: a version never changes, so publish under another name",
                publish.package, publish.version
            )
        })
    }

    /// In the commit that sets COMMITTED.
    pub fn keep(
        &self,
        draft: &mut Draft<'_>,
        execution: &Execution,
        publishing: Publishing,
    ) -> Result<(), Refusal> {
        if self.artifacts.len() > ARTIFACTS_MAX {
            let problem = format!("{} artifacts; at most {ARTIFACTS_MAX}", self.artifacts.len());
            return Err(Refusal::InvalidInput { field: "artifacts", problem });
        }
        let mut artifacts = Vec::with_capacity(self.artifacts.len());
        for it in &self.artifacts {
            let blob =
                possessed(draft, self.tenant, it.digest).ok_or(Refusal::BlobMissing { digest: it.digest })?;
            refer(draft, blob.id, "a job's artifact");
            let (kind, path) = (it.kind.clone(), it.path.clone());
            artifacts.push(Artifact { kind, path, digest: it.digest, length: blob.length, blob: blob.id });
        }
        self.put_bundle(draft, execution, artifacts);
        let publish = self.publish.as_ref().filter(|_| publishing == Publishing::Asked);
        let Some(publish) = publish else { return Ok(()) };
        let (version, _) =
            draft_version(draft, publish.id, &self.name(publish), &self.entries(), Some(execution.id))?;
        if version.state.get() == version::State::Draft && version.quarantine.is_none() {
            publish_draft(draft, version, &publish.verdict)?; // held back or not, the job has succeeded
        }
        Ok(())
    }

    /// Of a job that failed only its tests are told.
    pub fn keep_tests(&self, draft: &mut Draft<'_>, execution: &Execution) {
        if self.tests.is_some() {
            self.put_bundle(draft, execution, Vec::new());
        }
    }

    fn put_bundle(&self, draft: &mut Draft<'_>, execution: &Execution, artifacts: Vec<Artifact>) {
        let retention = draft.get::<Tenant>(&self.tenant).and_then(Tenant::retention);
        draft.put(Bundle {
            execution: execution.id,
            job: execution.job(),
            tenant: self.tenant,
            artifacts: Arc::new(artifacts),
            tests: self.tests.clone(),
            keep_until: retention.map(|retention| draft.now.plus(retention)),
            dropped: false,
            created_at: draft.now,
        });
    }

    fn name(&self, publish: &Publish) -> VersionName {
        let (package, version) = (publish.package.clone(), publish.version.clone());
        VersionName { tenant: self.tenant, package, version }
    }

    /// A file that two patterns found is one entry.
    fn entries(&self) -> Vec<(String, Digest)> {
        let entries: BTreeSet<_> = self.artifacts.iter().map(|it| (it.path.clone(), it.digest)).collect();
        entries.into_iter().collect()
    }
}
