//! Artifacts: uploads, blobs, versions of packages, collections, and who is told of them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::digest::Digest;
use crate::ids::{BlobId, CacheId, CollectionId, JobId, MessageId, TenantId, UploadId, VersionId};
use crate::object::objects;
use crate::runner::Decimal;
use crate::time::Time;
use crate::whole::{whole, wholes};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StartUpload {
    pub digest: Digest,
    #[serde(deserialize_with = "whole")]
    #[schema(minimum = 0)]
    pub length: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StartParts {
    /// In order; together they are the upload's length.
    #[serde(deserialize_with = "wholes")]
    #[schema(min_items = 1, max_items = 10000)]
    pub part_lengths: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CompleteUpload {
    #[serde(deserialize_with = "objects")]
    pub parts: Vec<PartTag>,
}

/// A part and what the store said when it took it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PartTag {
    #[serde(deserialize_with = "whole")]
    #[schema(minimum = 1)]
    pub number: u32,
    pub etag: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UploadView {
    pub id: UploadId,
    pub state: String,
    pub digest: Digest,
    pub length: u64,
    /// Bytes of the one stream that are here; it may go on from there.
    pub received: u64,
    /// Where to send which part, when the upload goes in parts.
    #[serde(default)]
    pub parts: Vec<PartView>,
    /// Set once it is committed.
    pub blob_id: Option<BlobId>,
    pub expires_at: Time,
    pub created_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PartView {
    pub number: u32,
    pub length: u64,
    /// Put the part's bytes there and keep the `ETag` of the answer. It needs no token: treat it as a secret.
    pub url: String,
    pub expires_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreateVersion {
    pub version: String,
    #[serde(deserialize_with = "objects")]
    pub entries: Vec<CreateEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreateEntry {
    /// Relative, with `/` between its parts; none of them `.` or `..`.
    pub path: String,
    pub digest: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VersionView {
    pub id: VersionId,
    pub package: String,
    pub version: String,
    pub state: String,
    /// Why a draft may not be published before an administrator releases it.
    pub quarantine: Option<String>,
    /// SHA-256 over all entries; from its publication on it never changes.
    pub content_hash: Option<Digest>,
    pub entries: Vec<EntryView>,
    /// Until when it can be restored, or could have been.
    pub retention_until: Option<Time>,
    /// Its bytes are no longer kept.
    pub purged: bool,
    pub created_at: Time,
    pub published_at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntryView {
    pub path: String,
    pub digest: Digest,
    pub length: u64,
}

/// What a job found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundCache {
    /// Its own, which may be another than was asked for.
    pub key: String,
    pub digest: Digest,
    pub bytes: u64,
    /// It has the very key.
    pub exact: bool,
    pub created_at: Time,
    /// Whose success saved it.
    pub job: JobId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CacheView {
    pub id: CacheId,
    /// `kept`.
    pub state: String,
    /// `trusted` or `untrusted`: whose jobs saved it, and may read it.
    pub trust: String,
    pub key: String,
    pub digest: Digest,
    pub bytes: u64,
    /// Whose success saved it.
    pub job: JobId,
    pub created_at: Time,
    /// When a job last found it, to the hour.
    pub used_at: Time,
}

/// A line of a list of versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VersionSummary {
    pub id: VersionId,
    pub package: String,
    pub version: String,
    pub state: String,
    pub entries: u64,
    pub length: u64,
    pub created_at: Time,
    pub published_at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tombstone {
    pub retention_seconds: Decimal,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StartCollection {
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CollectionView {
    pub id: CollectionId,
    /// `running`, `done` or `failed`.
    pub state: String,
    pub dry_run: bool,
    pub epoch: i64,
    /// Blobs without a reference that were looked at.
    pub marked: u64,
    /// Of those, the ones that stay.
    pub kept: u64,
    pub deleted: u64,
    /// What the deleted ones took.
    pub bytes: u64,
    pub message: String,
    pub started_at: Time,
    pub mark_completed_at: Option<Time>,
    pub finished_at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryView {
    pub id: MessageId,
    pub tenant_id: TenantId,
    pub state: String,
    pub event: String,
    /// What it is about.
    pub subject: String,
    /// Where it goes, without user, password and query.
    pub url: String,
    pub tries: u32,
    pub last_error: String,
    /// When it is tried next, or when the claim on it runs out.
    pub due_at: Option<Time>,
    pub created_at: Time,
    pub delivered_at: Option<Time>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PutWebhook {
    pub url: String,
    pub events: Vec<String>,
    /// Signs the deliveries (Standard Webhooks): `whsec_` and base64, or any text of 16 to 256 characters.
    pub secret: String,
    /// One delivery after the other, in the order of what happened. A dead letter lets the next one pass.
    #[serde(default)]
    pub ordered: bool,
}

/// A subscription, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookView {
    pub id: String,
    pub state: String,
    pub name: String,
    pub url: String,
    pub events: Vec<String>,
    pub ordered: bool,
}
