//! Version: what a package holds under one name; and the artifacts that a job's commit made visible.

use std::sync::Arc;

use machines::version;
use wire::{BlobId, Digest, ExecId, JobId, TenantId, Time, VersionId};

use crate::draft::Stated;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub id: VersionId,
    pub name: VersionName,
    pub state: Stated<version::State>,
    /// Why the policy holds it back; an administrator may release it.
    pub quarantine: Option<String>,
    /// By path. They never change once it was published.
    pub entries: Arc<Vec<Entry>>,
    /// Over the entries; set when it is published.
    pub content_hash: Option<Digest>,
    /// The job that made it.
    pub execution: Option<ExecId>,
    /// While tombstoned: until when it can be restored.
    pub retention_until: Option<Time>,
    /// That time is over and nothing is held for it any more.
    pub purged: bool,
    pub created_at: Time,
    pub updated_at: Time,
    pub published_at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VersionName {
    pub tenant: TenantId,
    pub package: String,
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: String,
    pub digest: Digest,
    pub length: u64,
    pub blob: BlobId,
}

/// What an execution left behind: the artifacts of the one that committed its job, or what the tests of a failure told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    pub execution: ExecId,
    pub job: JobId,
    pub tenant: TenantId,
    pub artifacts: Arc<Vec<Artifact>>,
    /// The tests that its JUnit files tell of, as JSON.
    pub tests: Option<String>,
    pub keep_until: Option<Time>,
    /// That time is over and nothing is held for it any more.
    pub dropped: bool,
    pub created_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Such as `junit`.
    pub kind: String,
    /// Where it was in the workspace.
    pub path: String,
    pub digest: Digest,
    pub length: u64,
    pub blob: BlobId,
}
