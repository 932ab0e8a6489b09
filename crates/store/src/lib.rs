//! Where records are kept: memory, SQLite, PostgreSQL behind one contract, [`Store`].
//!
//! Two verbs: [`Store::load`] answers the asks of a batch, [`Store::save`] writes what the batch changed, all of it or
//! nothing, and returns only when it is durable. Everything else is a named question. What was read is protected
//! between the two: no decision is saved on a world that has moved.
//!
//! Never: a state transition. A store does not know what a record means beyond its keys and constraints.
//! Start at `memory.rs`, the shortest of the three; the conformance suite in `tests/` holds for all.

pub mod blobs;
mod caches;
mod candidates;
mod error;
mod lanes;
mod log_groups;
mod memory;
mod postgres;
pub mod raw;
mod remembered;
mod sqlite;
mod timekeeping;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use decisions::doctor::{BlobFile, Examined, JobFile, LogFile, Logged, RunFile, StepsFile, UsageFile};
use decisions::records::{
    Blob, Bundle, Cache, Collection, Collector, Delivery, Event, Execution, Job, LaneKey, Log, LogChunk,
    Queue, QueueId, Run, Runner, Tenant, Token, Trust, Upload, Usage, Version, VersionName, Webhook,
    WebhookKey,
};
use decisions::{Ask, Book};
use machines::delivery;
use wire::{
    BlobId, CacheId, CollectionId, Digest, ExecId, JobId, MessageId, RunId, RunnerId, TenantId, Time,
    TokenId, UploadId, VersionId,
};

pub use blobs::{
    BlobError, BlobKey, Blobs, BlobsOpenError, ByteStream, Part, PartHere, StageError, Staged, Staging,
};
pub use caches::CachesDue;
pub use error::{OpenError, StoreError};
pub use memory::{Fault, Memory};
pub use postgres::Postgres;
pub use sqlite::Sqlite;
pub use timekeeping::{Anchor, Kept, Timekeeping};

/// What a batch gets to see.
pub struct Loaded<S> {
    pub book: Book,
    /// The moment by which the batch is decided: the database's own on a store that several servers share.
    pub now: Time,
    /// Holds what was read until it is saved; dropped unsaved, nothing has happened.
    pub session: S,
}

/// Work that a tick finds by its index. Every list has at most `limit` entries, the most overdue first.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Due {
    /// Leases with a deadline to look at.
    pub executions: Vec<ExecId>,
    /// Runs past their own deadline.
    pub runs: Vec<RunId>,
    /// Runs whose jobs are being stopped.
    pub sweeps: Vec<RunId>,
    /// Jobs whose dependents are being told.
    pub releases: Vec<JobId>,
    /// Deliveries whose claim ran out.
    pub claims: Vec<MessageId>,
}

impl Due {
    pub fn is_empty(&self) -> bool {
        *self == Due::default()
    }
}

/// Uploads, versions and bundles that want attention, each kind the earliest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactsDue {
    /// Open, and past their time.
    pub uploads: Vec<UploadId>,
    /// Ended, with bytes left behind.
    pub litter: Vec<Upload>,
    /// Tombstoned, and their retention is over.
    pub versions: Vec<VersionId>,
    /// Artifacts of jobs that are kept no longer.
    pub bundles: Vec<ExecId>,
}

/// How much the outbox holds that is not delivered.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct OutboxCounts {
    /// Waiting, pausing or being delivered.
    pub open: u64,
    pub dead: u64,
}

/// How the audit log stands: rows are numbered from 1 without gaps, in commit order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogBounds {
    pub rows: i64,
    pub last_seq: i64,
}

/// The most chunks that one look into a log returns, however small they are.
pub const LOG_CHUNKS_MAX: usize = 1_024;

pub trait Store: Send + Sync + 'static {
    type Session: Send;

    /// A load sees what is on its way to the disk: a batch may be decided on one that is not saved yet.
    const SEES_AHEAD: bool;

    /// It will not write any more in this process, though it may still answer questions: a sync failed, and only a restart
    /// makes sure of what is on the disk.
    fn has_stopped(&self) -> bool {
        false
    }

    /// Answers all asks as of one moment. `now` is the process's time, used where the store has none of its own.
    fn load(
        &self,
        asks: &[Ask],
        now: Time,
    ) -> impl Future<Output = Result<Loaded<Self::Session>, StoreError>> + Send;

    /// Writes what changed in the book, or nothing; `Ok` means durable.
    fn save(&self, session: Self::Session, book: Book)
    -> impl Future<Output = Result<(), StoreError>> + Send;

    /// What is due at `now` (again the process's time, where the store has none of its own).
    fn due(&self, now: Time, limit: usize) -> impl Future<Output = Result<Due, StoreError>> + Send;

    /// Lanes in which at least one delivery may be claimed, in order. Costs a step per lane, however many wait in it.
    fn lanes_ready(
        &self,
        now: Time,
        after: Option<&LaneKey>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<LaneKey>, StoreError>> + Send;

    /// Deliveries of a lane that may be claimed, the longest due first: that is the order of birth, until one pauses. Of
    /// those in order, the first that is open, if it is due, and no other.
    fn deliveries_ready_of(
        &self,
        lane: &LaneKey,
        now: Time,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<MessageId>, StoreError>> + Send;

    /// Pages through the deliveries in one state, in id order.
    fn deliveries_in(
        &self,
        state: delivery::State,
        after: Option<MessageId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Delivery>, StoreError>> + Send;

    fn outbox_counts(&self) -> impl Future<Output = Result<OutboxCounts, StoreError>> + Send;

    /// A subscription, also one that was removed.
    fn webhook(&self, key: &WebhookKey) -> impl Future<Output = Result<Option<Webhook>, StoreError>> + Send;

    /// Pages through a tenant's subscriptions by name, without those that were removed.
    fn webhooks_of(
        &self,
        tenant: TenantId,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Webhook>, StoreError>> + Send;

    /// Those of these queues that there are, in order.
    fn queues_named(&self, ids: Vec<QueueId>) -> impl Future<Output = Result<Vec<Queue>, StoreError>> + Send;

    /// The queues in which at least one attempt is ready, in order. Costs a step per such queue, not per attempt.
    fn queues_ready(&self) -> impl Future<Output = Result<Vec<QueueId>, StoreError>> + Send;

    /// Runs that wait for a plan, in the order of their ids.
    fn runs_planning(
        &self,
        after: Option<RunId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<RunId>, StoreError>> + Send;

    fn tenants(&self) -> impl Future<Output = Result<Vec<Tenant>, StoreError>> + Send;

    fn tenant(&self, id: TenantId) -> impl Future<Output = Result<Option<Tenant>, StoreError>> + Send;

    fn tenant_named(&self, name: &str) -> impl Future<Output = Result<Option<Tenant>, StoreError>> + Send;

    /// Pages through all tenants in id order.
    fn tenants_after(
        &self,
        after: Option<TenantId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Tenant>, StoreError>> + Send;

    fn token(&self, id: TokenId) -> impl Future<Output = Result<Option<Token>, StoreError>> + Send;

    /// Pages through a tenant's tokens, or those of no tenant, in id order; the revoked ones too.
    fn tokens_of(
        &self,
        tenant: Option<TenantId>,
        after: Option<TokenId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Token>, StoreError>> + Send;

    /// Pages through a tenant's runners, or those that all tenants share, by name.
    fn runners_of(
        &self,
        tenant: Option<TenantId>,
        after: Option<RunnerId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Runner>, StoreError>> + Send;

    /// Executions whose lease lives, by job and attempt, each with the tenant of its job.
    fn executions_live(
        &self,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(Execution, TenantId)>, StoreError>> + Send;

    /// Pages through a tenant's runs, the newest first.
    fn runs_of(
        &self,
        tenant: TenantId,
        before: Option<RunId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Run>, StoreError>> + Send;

    /// A run's plan as stored, as JSON.
    fn plan(&self, id: RunId) -> impl Future<Output = Result<Option<Arc<str>>, StoreError>> + Send;

    /// Pages through a run's jobs in id order.
    fn jobs_of_run(
        &self,
        run: RunId,
        after: Option<JobId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Job>, StoreError>> + Send;

    /// The newest success of a run for each of these keys that has one, in the order of the keys. Costs a step per key,
    /// however many jobs had it.
    fn successes(
        &self,
        tenant: TenantId,
        keys: &[Digest],
    ) -> impl Future<Output = Result<Vec<(Digest, RunId, JobId)>, StoreError>> + Send;

    /// The job that a submitter of this tenant named so.
    fn job_keyed(
        &self,
        tenant: TenantId,
        key: &str,
    ) -> impl Future<Output = Result<Option<JobId>, StoreError>> + Send;

    fn run(&self, id: RunId) -> impl Future<Output = Result<Option<Run>, StoreError>> + Send;

    /// A job with everything filed under it, for a person or for the doctor.
    fn job_file(&self, id: JobId) -> impl Future<Output = Result<Option<JobFile>, StoreError>> + Send;

    /// The job that an execution belongs to.
    fn execution_job(&self, id: ExecId) -> impl Future<Output = Result<Option<JobId>, StoreError>> + Send;

    /// Pages through all jobs in id order.
    fn job_files_after(
        &self,
        after: Option<JobId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<JobFile>, StoreError>> + Send;

    /// Pages through all runs in id order.
    fn run_files_after(
        &self,
        after: Option<RunId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<RunFile>, StoreError>> + Send;

    /// Pages through all records of a kind in the order of their ids, each with what the log says of it, for the doctor.
    fn steps_files_after(
        &self,
        of: Logged,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StepsFile>, StoreError>> + Send;

    /// The id of the next record of a kind, as it is written: of one, too, that cannot be read.
    fn id_after(
        &self,
        of: Examined,
        after: Option<&str>,
    ) -> impl Future<Output = Result<Option<String>, StoreError>> + Send;

    /// Pages through all deliveries in id order.
    fn deliveries_after(
        &self,
        after: Option<MessageId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Delivery>, StoreError>> + Send;

    /// The audit log of one root (a run, a job with its attempts and executions, a delivery, a tenant, an upload, a
    /// version, a blob), in order.
    fn events_of(&self, root: &str) -> impl Future<Output = Result<Vec<Event>, StoreError>> + Send;

    /// The audit log in commit order; a reader that goes on from the last `seq` it saw misses nothing.
    fn events_after(
        &self,
        seq: i64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Event>, StoreError>> + Send;

    /// Looks at the next `scan_max` rows of the audit log, and returns those that are filed under something of this
    /// tenant, with the number of the last row looked at: whoever goes on from there misses nothing. A blob is of all
    /// who possess it now.
    fn events_scan(
        &self,
        tenant: TenantId,
        after: i64,
        scan_max: usize,
    ) -> impl Future<Output = Result<(Vec<Event>, i64), StoreError>> + Send;

    /// How far an execution's log has come. `None` until it has printed something.
    fn log(&self, id: ExecId) -> impl Future<Output = Result<Option<Log>, StoreError>> + Send;

    /// What is kept of a log from an offset on, in order. The first chunk may begin before `from`. One chunk at least, if
    /// there is one, and after it no more than `bytes_max` bytes and [`LOG_CHUNKS_MAX`] chunks in all.
    fn log_chunks(
        &self,
        id: ExecId,
        from: u64,
        bytes_max: usize,
    ) -> impl Future<Output = Result<Vec<LogChunk>, StoreError>> + Send;

    /// Logs to which nothing can be added, whose lease ended `ago` or before and whose bytes are still chunks, each with the
    /// tenant of its job; pages in the order of their ids. Costs a step per log in chunks, however many are archived.
    fn logs_due(
        &self,
        now: Time,
        ago: Duration,
        after: Option<ExecId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(Log, TenantId)>, StoreError>> + Send;

    /// Pages through all logs in the order of their ids, each with where its bytes are, for the doctor.
    fn log_files_after(
        &self,
        after: Option<ExecId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<LogFile>, StoreError>> + Send;

    fn log_bounds(&self) -> impl Future<Output = Result<LogBounds, StoreError>> + Send;

    fn upload(&self, id: UploadId) -> impl Future<Output = Result<Option<Upload>, StoreError>> + Send;

    fn blob(&self, id: BlobId) -> impl Future<Output = Result<Option<Blob>, StoreError>> + Send;

    /// The bytes of a blob that lie among the records; `None` when they lie elsewhere or are gone.
    fn blob_bytes(&self, id: BlobId) -> impl Future<Output = Result<Option<Arc<[u8]>>, StoreError>> + Send;

    /// The bytes of this digest, if the tenant possesses them and they are here.
    fn blob_of(
        &self,
        tenant: TenantId,
        digest: Digest,
    ) -> impl Future<Output = Result<Option<Blob>, StoreError>> + Send;

    fn usage(&self, tenant: TenantId) -> impl Future<Output = Result<Usage, StoreError>> + Send;

    fn version(&self, name: &VersionName)
    -> impl Future<Output = Result<Option<Version>, StoreError>> + Send;

    /// Pages through a tenant's versions, or those of one package, in id order.
    fn versions_of(
        &self,
        tenant: TenantId,
        package: Option<&str>,
        after: Option<VersionId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Version>, StoreError>> + Send;

    /// What the latest of the job's executions that left something made visible: artifacts, or the tests of a failure.
    fn bundle_of(&self, job: JobId) -> impl Future<Output = Result<Option<Bundle>, StoreError>> + Send;

    fn collection(
        &self,
        id: CollectionId,
    ) -> impl Future<Output = Result<Option<Collection>, StoreError>> + Send;

    fn collector(&self) -> impl Future<Output = Result<Collector, StoreError>> + Send;

    /// Pages through the blobs that nothing refers to and whose bytes are not gone, in id order. Costs a step per such
    /// blob, however many others there are.
    fn blobs_unreferenced(
        &self,
        after: Option<BlobId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Blob>, StoreError>> + Send;

    /// What of artifacts is due at `now`.
    fn artifacts_due(
        &self,
        now: Time,
        limit: usize,
    ) -> impl Future<Output = Result<ArtifactsDue, StoreError>> + Send;

    /// What a job finds: the cache of this very key, of the first of `trusts` that has one; else the newest, of any of them,
    /// whose key begins with `prefix`.
    fn find_cache(
        &self,
        tenant: TenantId,
        trusts: &[Trust],
        key: &str,
        prefix: Option<&str>,
    ) -> impl Future<Output = Result<Option<Cache>, StoreError>> + Send;

    fn cache_with(
        &self,
        tenant: TenantId,
        id: CacheId,
    ) -> impl Future<Output = Result<Option<Cache>, StoreError>> + Send;

    /// Pages through a tenant's caches in id order.
    fn caches_of(
        &self,
        tenant: TenantId,
        after: Option<CacheId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Cache>, StoreError>> + Send;

    /// Caches that were not used for `ttl`, and those beyond the `bytes_max` that each tenant may keep.
    fn caches_due(
        &self,
        now: Time,
        ttl: Duration,
        bytes_max: u64,
        limit: usize,
    ) -> impl Future<Output = Result<CachesDue, StoreError>> + Send;

    /// Pages through all blobs in id order, each with its references counted anew, for the doctor.
    fn blob_files_after(
        &self,
        after: Option<BlobId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<BlobFile>, StoreError>> + Send;

    /// Pages through all tenants in id order, each with what it has, counted anew, for the doctor.
    fn usage_files_after(
        &self,
        after: Option<TenantId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<UsageFile>, StoreError>> + Send;

    /// A secret of the server itself, kept under this name: the one that was offered first, by whichever server.
    fn key(
        &self,
        name: &'static str,
        offered: [u8; 32],
    ) -> impl Future<Output = Result<[u8; 32], StoreError>> + Send;

    /// Whose time deadlines are in, and where it stood when they were written.
    fn timekeeping(&self) -> impl Future<Output = Result<Timekeeping, StoreError>> + Send;

    /// Keeps an anchor in the place of the one that was found, unless another process was faster. Returns the one that is
    /// kept now.
    fn keep_anchor(
        &self,
        found: Option<&Anchor>,
        offered: &Anchor,
    ) -> impl Future<Output = Result<Anchor, StoreError>> + Send;

    /// What the storage engine itself finds wrong, in words; empty when sound.
    fn integrity(&self) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;
}
