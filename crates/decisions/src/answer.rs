//! What a caller is told once its command is durable.

use std::sync::Arc;
use std::time::Duration;

use wire::{ExecId, JobId, LeaseId, RunId, TenantId, Time};

use crate::records::{Blob, Collection, Delivery, Upload, Version};

#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    TenantReady(TenantId),
    /// `existing`: the same command had made it before.
    TenantCreated {
        tenant: TenantId,
        existing: bool,
    },
    TokenCreated,
    TokenRevoked,
    /// `existing`: the trigger key was known, nothing new was made.
    RunCreated {
        run: RunId,
        existing: bool,
    },
    /// The plan, or its failure, was taken.
    PlanTaken,
    /// `existing`: the same job had been submitted before.
    JobSubmitted {
        job: JobId,
        existing: bool,
    },
    Granted(Box<Granted>),
    /// Nothing to lease; a runner that broke its word is told how long it gets nothing.
    NoWork {
        barred_until: Option<Time>,
    },
    Acked {
        lease_ttl: Duration,
    },
    Beaten {
        lease_ttl: Duration,
        cancel: Option<Duration>,
    },
    /// `duplicate`: another execution of the job had committed.
    Committed {
        duplicate: bool,
    },
    /// `accepted` is false when a cancel had won; the lease has ended either way.
    Completed {
        accepted: bool,
    },
    CancelAcked,
    /// `offset` is where the next bytes belong; `truncated` when something was cut out of the middle.
    LogAppended {
        offset: u64,
        truncated: bool,
    },
    /// The cancel is durable; `over` when nothing was left to stop.
    CancelTaken {
        over: bool,
    },
    Retried {
        attempt: u32,
    },
    /// `None`: it was not there to be claimed.
    Claimed(Option<Box<Delivery>>),
    WebhookPut,
    UploadIs(Box<Upload>),
    /// What came is not what was announced: `digest` or `length`. The upload is over.
    UploadMismatched {
        field: &'static str,
    },
    /// `existing`: it was so before.
    VersionIs {
        version: Box<Version>,
        existing: bool,
    },
    /// The policy holds the version back; that is kept.
    Quarantined {
        reason: String,
    },
    /// `existing`: it ran before.
    CollectionIs {
        collection: Box<Collection>,
        existing: bool,
    },
    /// Their bytes may be deleted now.
    BlobsClaimed(Vec<Blob>),
    WebhookRemoved,
    /// For commands that nobody waits for: whether anything moved.
    Settled {
        moved: bool,
    },
}

/// A granted lease, as far as the decision knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Granted {
    pub execution: ExecId,
    pub job: JobId,
    pub tenant: TenantId,
    pub public_id: String,
    pub run: Option<RunId>,
    pub attempt: u32,
    pub token: u32,
    pub lease: LeaseId,
    pub lease_ttl: Duration,
    pub heartbeat_interval: Duration,
    pub max_runtime: Duration,
    /// `job_spec`, as JSON.
    pub spec: Arc<str>,
}
