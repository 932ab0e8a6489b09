//! Refusals: the control plane said no. Expected, part of the API, each with one stable code and a next step.

use wire::Digest;
use wire::runner::StaleReason;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the lease no longer speaks for its attempt ({}): stop the job and ask for a new lease", stale_text(*reason))]
    StaleLease { reason: StaleReason },
    #[error("the lease was not acknowledged: send AckLease first")]
    LeaseNotAcknowledged,
    #[error("the job is being cancelled: stop it and send CancelAck")]
    CancelRequested,
    #[error("nobody asked for a cancel: send Complete instead")]
    CancelNotRequested,
    #[error("no such tenant: check the name or id")]
    TenantNotFound,
    #[error("the tenant is {state}, not ready: wait until it is")]
    TenantNotReady { state: &'static str },
    #[error("a tenant with this name exists: choose another name")]
    TenantExists,
    #[error("no such token: check the id")]
    TokenNotFound,
    #[error("the log goes on at offset {expected}: send what follows from there")]
    LogOffset { expected: u64 },
    #[error("the log may still grow: wait until its lease has ended")]
    LogGrows,
    #[error("no such run: check the id")]
    RunNotFound,
    #[error("no such job: check the id")]
    JobNotFound,
    #[error("no such delivery: check the id")]
    DeliveryNotFound,
    #[error("no such webhook: check the name")]
    WebhookNotFound,
    #[error("the run is {state}, so it takes no plan: trigger a new run")]
    RunNotPlanning { state: &'static str },
    #[error("the run is over ({state}): rerun it instead")]
    RunOver { state: &'static str },
    #[error("the run is not over ({state}): cancel it or wait before running it again")]
    RunNotOver { state: &'static str },
    #[error("the run has no plan to run again: trigger a new run")]
    RunHasNoPlan,
    #[error("the job is over ({state}): submit or retry it instead")]
    JobOver { state: &'static str },
    #[error("the job cannot be retried, because {problem}: rerun its run, or submit it again")]
    JobNotRetryable { problem: &'static str },
    #[error("another runner holds the job's lease: ask again later")]
    JobLeased,
    #[error("the job waits for others: ask again later")]
    JobNotReady,
    #[error("a job with this id and another payload exists: choose another id")]
    JobConflict,
    #[error("the job's effect has happened and cannot be cancelled: wait for it to finish")]
    AlreadyCommitted,
    #[error("the plan is not sound: {problem}")]
    PlanInvalid { problem: String },
    #[error("field `{field}`: {problem}")]
    InvalidInput { field: &'static str, problem: String },
    #[error("the delivery is {state}, not a dead letter: only those can be redriven")]
    DeliveryNotDead { state: &'static str },
    #[error("the claim on this delivery has run out: drop the result")]
    ClaimLost,
    #[error("no such upload: check the id")]
    UploadNotFound,
    #[error("the upload is over ({state}): start a new one")]
    UploadEnded { state: &'static str },
    #[error("the upload is {state}: send its content first")]
    UploadNotReady { state: &'static str },
    #[error("the upload goes in other parts, or in one stream: go on the way it began, or start a new one")]
    UploadInParts,
    #[error("part {number} is missing: send it, then complete again")]
    PartsMissing { number: u32 },
    #[error("{used} of {quota} bytes are used: withdraw something, or ask for more")]
    QuotaExceeded { used: u64, quota: u64 },
    #[error("the tenant does not have {digest}: upload it first")]
    BlobMissing { digest: Digest },
    #[error("no such version: check package and version")]
    VersionNotFound,
    #[error("the version is published and cannot change: choose another version")]
    Immutable,
    #[error("the draft was made anew meanwhile: look at it, then publish it again")]
    VersionChanged,
    #[error("the version is a draft: publish it first")]
    VersionNotPublished,
    #[error("the version is withdrawn: restore it instead")]
    VersionTombstoned,
    #[error("the version's retention is over: publish another version")]
    RetentionOver,
    #[error("no such cache: check the id")]
    CacheNotFound,
    #[error("no such collection: check the id")]
    CollectionNotFound,
    #[error("another one works on the collection, or it is over: leave it")]
    CollectionLost,
    #[error("the collection has not completed its mark: nothing may be claimed")]
    MarkNotComplete,
}

impl Refusal {
    /// Stable, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::StaleLease { .. } => "stale_lease",
            Refusal::LeaseNotAcknowledged => "lease_not_acknowledged",
            Refusal::CancelRequested => "cancel_requested",
            Refusal::CancelNotRequested => "cancel_not_requested",
            Refusal::TenantNotFound => "tenant_not_found",
            Refusal::TenantNotReady { .. } => "tenant_not_ready",
            Refusal::TenantExists => "tenant_exists",
            Refusal::TokenNotFound => "token_not_found",
            Refusal::LogOffset { .. } => "log_offset",
            Refusal::LogGrows => "log_grows",
            Refusal::RunNotFound => "run_not_found",
            Refusal::JobNotFound => "job_not_found",
            Refusal::DeliveryNotFound => "delivery_not_found",
            Refusal::WebhookNotFound => "webhook_not_found",
            Refusal::RunNotPlanning { .. } => "run_not_planning",
            Refusal::RunOver { .. } => "run_over",
            Refusal::RunNotOver { .. } => "run_not_over",
            Refusal::RunHasNoPlan => "run_has_no_plan",
            Refusal::JobOver { .. } => "job_over",
            Refusal::JobNotRetryable { .. } => "job_not_retryable",
            Refusal::JobLeased => "job_leased",
            Refusal::JobNotReady => "job_not_ready",
            Refusal::JobConflict => "job_conflict",
            Refusal::AlreadyCommitted => "already_committed",
            Refusal::PlanInvalid { .. } => "plan_invalid",
            Refusal::InvalidInput { .. } => "invalid_input",
            Refusal::DeliveryNotDead { .. } => "delivery_not_dead",
            Refusal::ClaimLost => "claim_lost",
            Refusal::UploadNotFound => "upload_not_found",
            Refusal::UploadEnded { .. } => "upload_ended",
            Refusal::UploadNotReady { .. } => "upload_not_ready",
            Refusal::UploadInParts => "upload_in_parts",
            Refusal::PartsMissing { .. } => "parts_missing",
            Refusal::QuotaExceeded { .. } => "quota_exceeded",
            Refusal::BlobMissing { .. } => "blob_missing",
            Refusal::VersionNotFound => "version_not_found",
            Refusal::Immutable => "immutable",
            Refusal::VersionChanged => "version_changed",
            Refusal::VersionNotPublished => "version_not_published",
            Refusal::VersionTombstoned => "version_tombstoned",
            Refusal::RetentionOver => "retention_over",
            Refusal::CacheNotFound => "cache_not_found",
            Refusal::CollectionNotFound => "collection_not_found",
            Refusal::CollectionLost => "collection_lost",
            Refusal::MarkNotComplete => "mark_not_complete",
        }
    }
}

fn stale_text(reason: StaleReason) -> &'static str {
    match reason {
        StaleReason::LeaseExpired => "expired",
        StaleReason::LeaseRevoked => "revoked",
        StaleReason::LeaseCompleted => "completed",
        StaleReason::LeaseCanceled => "cancelled",
        StaleReason::LeaseUnknown => "unknown",
    }
}
