//! The audit log: who moved what from where to where, when, by which event, and why.

use std::borrow::Cow;
use std::fmt;

use machines::Owner;
use wire::ids::IdText;
use wire::{BlobId, ExecId, JobId, MessageId, RunId, TenantId, Time, UploadId, VersionId};

use crate::records::attempt::AttemptKey;

/// Whose state moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entity {
    Tenant(TenantId),
    Run(RunId),
    Attempt(AttemptKey),
    Execution(ExecId, JobId),
    Delivery(MessageId),
    Upload(UploadId),
    Version(VersionId),
    Blob(BlobId),
}

impl Entity {
    /// What the event is filed under, so that one look finds all that concerns a job.
    pub fn root(&self) -> IdText {
        match self {
            Entity::Attempt(AttemptKey { job, .. }) | Entity::Execution(_, job) => job.text(),
            Entity::Tenant(id) => id.text(),
            Entity::Run(id) => id.text(),
            Entity::Delivery(id) => id.text(),
            Entity::Upload(id) => id.text(),
            Entity::Version(id) => id.text(),
            Entity::Blob(id) => id.text(),
        }
    }

    /// Whether both are filed under the same, which is told without writing the ids out.
    pub fn is_filed_with(&self, other: &Entity) -> bool {
        match (self.job(), other.job()) {
            (Some(one), Some(other)) => one == other,
            (Some(_), None) | (None, Some(_)) => false,
            (None, None) => self == other,
        }
    }

    fn job(&self) -> Option<JobId> {
        match self {
            Entity::Attempt(AttemptKey { job, .. }) | Entity::Execution(_, job) => Some(*job),
            Entity::Tenant(_) | Entity::Run(_) | Entity::Delivery(_) => None,
            Entity::Upload(_) | Entity::Version(_) | Entity::Blob(_) => None,
        }
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entity::Tenant(id) => id.fmt(f),
            Entity::Run(id) => id.fmt(f),
            Entity::Attempt(key) => key.fmt(f),
            Entity::Execution(id, _) => id.fmt(f),
            Entity::Delivery(id) => id.fmt(f),
            Entity::Upload(id) => id.fmt(f),
            Entity::Version(id) => id.fmt(f),
            Entity::Blob(id) => id.fmt(f),
        }
    }
}

/// A transition on its way into the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    pub at: Time,
    pub machine: &'static str,
    pub entity: Entity,
    /// `None` when the entity was created.
    pub from: Option<&'static str>,
    pub event: &'static str,
    pub to: &'static str,
    pub owner: Owner,
    pub cause: Cow<'static, str>,
}

/// The event of an entity's creation.
pub const CREATE: &str = "Create";

/// A transition as the log returns it, to us and to those who ask for it.
pub use wire::api::AuditEvent as Event;
