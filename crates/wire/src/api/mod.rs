//! The shapes of the public API: what callers send and what they are shown.
//!
//! Fields are the contract's; more may be added, none may change its meaning. Unknown fields of a request pass. Never
//! here: a lease id, a hash, a record of the store.

mod artifacts;
mod audit;
mod jobs;
mod list;
mod logs;
mod problem;
mod runners;
mod runs;
mod tenants;
mod tokens;

pub use artifacts::{
    CacheView, CollectionView, CompleteUpload, CreateEntry, CreateVersion, DeliveryView, EntryView,
    FoundCache, PartTag, PartView, PutWebhook, StartCollection, StartParts, StartUpload, Tombstone,
    UploadView, VersionSummary, VersionView, WebhookView,
};
pub use audit::AuditEvent;
pub use jobs::{
    AppliedEffect, ArtifactView, AttemptView, CancelTaken, ExecutionView, JobView, LogInfo, RetryTaken,
    SubmitJob, Submitted,
};
pub use list::Page;
pub use logs::{LogEnd, LogExecution, LogGap, LogOffset, LogText};
pub use problem::Problem;
pub use runners::{Held, RunnerView};
pub use runs::{
    CancelRun, Decision, EffectClass, JobSummary, Plan, PlanSource, PlanView, PlannedJob, PlannedJobView,
    Reason, RerunRun, RunSummary, RunView, TriggerRun, Trust,
};
pub use tenants::{CreateTenant, TenantView, WorkflowView};
pub use tokens::{CreateToken, MintedToken, TokenKind, TokenView};
