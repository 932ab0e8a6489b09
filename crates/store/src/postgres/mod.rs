//! Records in PostgreSQL, which several servers may share.
//!
//! A load reads everything in one snapshot, so that a decision never sees half of somebody's commit; only candidates
//! for leases are locked, on a connection of their own, and skipped by the other servers. A save goes through what was
//! read or will be written, table by table and key by key in one order, compares versions (`xmin`), and writes with one
//! statement per table. The audit log's number is taken last and kept until the commit: numbers appear in commit order,
//! and a server that finds them where it left them knows that nobody else has written.
//!
//! Never: a state transition; a statement per row; a lock that is waited for out of order.
//! Start at `load.rs`, then `save.rs`.

mod address;
mod artifact_columns;
mod artifact_finders;
mod artifacts;
mod cache;
mod cache_finders;
mod changes;
mod columns;
mod connect;
mod entries;
mod events;
mod fault;
mod files;
mod filling;
mod finders;
mod inserts;
mod keys;
mod lists;
mod load;
mod logs;
mod moment;
mod open;
mod outbox;
#[cfg(test)]
mod plans;
mod pool;
mod questions;
mod queue;
mod ready;
mod recall;
mod round;
mod rows;
mod save;
#[cfg(test)]
mod scratch;
#[cfg(test)]
mod sessions;
mod tables;
mod wanted;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use decisions::doctor::{BlobFile, Examined, JobFile, LogFile, Logged, RunFile, StepsFile, UsageFile};
use decisions::records::{
    self, Blob, Bundle, Collection, Collector, Delivery, Event, Execution, Job, LaneKey, Log, LogChunk,
    Queue, QueueId, Run, Runner, Tenant, Token, Trust, Upload, Usage, Version, VersionName, Webhook,
    WebhookKey,
};
use decisions::{Ask, Book};
use machines::delivery;
use wire::{
    BlobId, CacheId, CollectionId, Digest, ExecId, JobId, MessageId, RunId, RunnerId, TenantId, Time,
    TokenId, UploadId, VersionId,
};

use crate::{
    Anchor, ArtifactsDue, CachesDue, Due, Loaded, LogBounds, OpenError, OutboxCounts, Store, StoreError,
    Timekeeping,
};
use address::Address;
use cache::Cache;
use pool::Pool;

pub use load::Session;

/// A database on a server, PostgreSQL 15 or newer.
#[derive(Debug)]
pub struct Postgres {
    /// For saves, and for what a load locks.
    writers: Pool,
    /// For everything that only reads. Apart from the writers: a load that holds a writer needs a reader to go on.
    readers: Pool,
    cache: Mutex<Cache>,
}

impl Postgres {
    /// Opens the database and brings its schema up to date. Two servers may do so at once.
    pub async fn open(url: &str) -> Result<Postgres, OpenError> {
        let address = Address::parse(url)?.for_writing();
        open::migrate(&address).await?;
        Ok(Postgres::at(address))
    }

    /// Opens a database that has our tables; makes and changes none.
    pub async fn open_existing(url: &str) -> Result<Postgres, OpenError> {
        let address = Address::parse(url)?;
        open::check(&address).await?;
        Ok(Postgres::at(address))
    }

    fn at(address: Address) -> Postgres {
        Postgres { writers: Pool::new(address.clone()), readers: Pool::new(address), cache: Mutex::default() }
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        let mut cache = self.cache.lock().expect("no panic holds it");
        cache.connected(self.writers.made() + self.readers.made());
        cache
    }
}

/// The `now` arguments are not used: deadlines are written and compared in one time, the database's, whichever server
/// asks.
impl Store for Postgres {
    type Session = Session;
    const SEES_AHEAD: bool = false;

    async fn load(&self, asks: &[Ask], _now: Time) -> Result<Loaded<Session>, StoreError> {
        load::load(self, asks).await
    }

    async fn save(&self, session: Session, book: Book) -> Result<(), StoreError> {
        save::save(self, session, book).await
    }

    async fn due(&self, _now: Time, limit: usize) -> Result<Due, StoreError> {
        finders::due(&self.readers, limit).await
    }

    async fn lanes_ready(
        &self,
        _now: Time,
        after: Option<&LaneKey>,
        limit: usize,
    ) -> Result<Vec<LaneKey>, StoreError> {
        outbox::lanes_ready(&self.readers, after, limit).await
    }

    async fn deliveries_ready_of(
        &self,
        lane: &LaneKey,
        _now: Time,
        limit: usize,
    ) -> Result<Vec<MessageId>, StoreError> {
        outbox::deliveries_ready_of(&self.readers, lane, limit).await
    }

    async fn deliveries_in(
        &self,
        state: delivery::State,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        outbox::deliveries_in(&self.readers, state, after, limit).await
    }

    async fn outbox_counts(&self) -> Result<OutboxCounts, StoreError> {
        outbox::outbox_counts(&self.readers).await
    }

    async fn webhook(&self, key: &WebhookKey) -> Result<Option<Webhook>, StoreError> {
        outbox::webhook(&self.readers, key).await
    }

    async fn webhooks_of(
        &self,
        tenant: TenantId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Webhook>, StoreError> {
        outbox::webhooks_of(&self.readers, tenant, after, limit).await
    }

    async fn queues_named(&self, ids: Vec<QueueId>) -> Result<Vec<Queue>, StoreError> {
        finders::queues_named(&self.readers, &ids).await
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        finders::tenants(&self.readers).await
    }

    async fn runs_planning(&self, after: Option<RunId>, limit: usize) -> Result<Vec<RunId>, StoreError> {
        lists::runs_planning(&self.readers, after, limit).await
    }

    async fn queues_ready(&self) -> Result<Vec<QueueId>, StoreError> {
        lists::queues_ready(&self.readers).await
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>, StoreError> {
        lists::tenant(&self.readers, id).await
    }

    async fn tenant_named(&self, name: &str) -> Result<Option<Tenant>, StoreError> {
        lists::tenant_named(&self.readers, name).await
    }

    async fn tenants_after(&self, after: Option<TenantId>, limit: usize) -> Result<Vec<Tenant>, StoreError> {
        lists::tenants_after(&self.readers, after, limit).await
    }

    async fn token(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        lists::token(&self.readers, id).await
    }

    async fn tokens_of(
        &self,
        tenant: Option<TenantId>,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<Token>, StoreError> {
        lists::tokens_of(&self.readers, tenant, after, limit).await
    }

    async fn runners_of(
        &self,
        tenant: Option<TenantId>,
        after: Option<RunnerId>,
        limit: usize,
    ) -> Result<Vec<Runner>, StoreError> {
        lists::runners_of(&self.readers, tenant, after, limit).await
    }

    async fn executions_live(&self, limit: usize) -> Result<Vec<(Execution, TenantId)>, StoreError> {
        lists::executions_live(&self.readers, limit).await
    }

    async fn runs_of(
        &self,
        tenant: TenantId,
        before: Option<RunId>,
        limit: usize,
    ) -> Result<Vec<Run>, StoreError> {
        lists::runs_of(&self.readers, tenant, before, limit).await
    }

    async fn plan(&self, id: RunId) -> Result<Option<Arc<str>>, StoreError> {
        lists::plan(&self.readers, id).await
    }

    async fn jobs_of_run(
        &self,
        run: RunId,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        lists::jobs_of_run(&self.readers, run, after, limit).await
    }

    async fn successes(
        &self,
        tenant: TenantId,
        keys: &[Digest],
    ) -> Result<Vec<(Digest, RunId, JobId)>, StoreError> {
        lists::successes(&self.readers, tenant, keys).await
    }

    async fn job_keyed(&self, tenant: TenantId, key: &str) -> Result<Option<JobId>, StoreError> {
        lists::job_keyed(&self.readers, tenant, key).await
    }

    async fn run(&self, id: RunId) -> Result<Option<Run>, StoreError> {
        finders::run(&self.readers, id).await
    }

    async fn job_file(&self, id: JobId) -> Result<Option<JobFile>, StoreError> {
        files::job_file(&self.readers, id).await
    }

    async fn execution_job(&self, id: ExecId) -> Result<Option<JobId>, StoreError> {
        finders::execution_job(&self.readers, id).await
    }

    async fn job_files_after(&self, after: Option<JobId>, limit: usize) -> Result<Vec<JobFile>, StoreError> {
        files::job_files_after(&self.readers, after, limit).await
    }

    async fn run_files_after(&self, after: Option<RunId>, limit: usize) -> Result<Vec<RunFile>, StoreError> {
        files::run_files_after(&self.readers, after, limit).await
    }

    async fn steps_files_after(
        &self,
        of: Logged,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<StepsFile>, StoreError> {
        files::steps_files_after(&self.readers, of, after, limit).await
    }

    async fn id_after(&self, of: Examined, after: Option<&str>) -> Result<Option<String>, StoreError> {
        files::id_after(&self.readers, of, after).await
    }

    async fn deliveries_after(
        &self,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        finders::deliveries_after(&self.readers, after, limit).await
    }

    async fn events_of(&self, root: &str) -> Result<Vec<Event>, StoreError> {
        finders::events_of(&self.readers, root).await
    }

    async fn events_after(&self, seq: i64, limit: usize) -> Result<Vec<Event>, StoreError> {
        finders::events_after(&self.readers, seq, limit).await
    }

    async fn events_scan(
        &self,
        tenant: TenantId,
        after: i64,
        scan_max: usize,
    ) -> Result<(Vec<Event>, i64), StoreError> {
        lists::events_scan(&self.readers, tenant, after, scan_max).await
    }

    async fn log(&self, id: ExecId) -> Result<Option<Log>, StoreError> {
        logs::log(&self.readers, id).await
    }

    async fn log_chunks(&self, id: ExecId, from: u64, bytes_max: usize) -> Result<Vec<LogChunk>, StoreError> {
        logs::log_chunks(&self.readers, id, from, bytes_max).await
    }

    async fn logs_due(
        &self,
        _now: Time,
        ago: Duration,
        after: Option<ExecId>,
        limit: usize,
    ) -> Result<Vec<(Log, TenantId)>, StoreError> {
        logs::due(&self.readers, ago, after, limit).await
    }

    async fn log_files_after(&self, after: Option<ExecId>, limit: usize) -> Result<Vec<LogFile>, StoreError> {
        logs::files_after(&self.readers, after, limit).await
    }

    async fn log_bounds(&self) -> Result<LogBounds, StoreError> {
        finders::log_bounds(&self.readers).await
    }

    async fn upload(&self, id: UploadId) -> Result<Option<Upload>, StoreError> {
        artifact_finders::upload(&self.readers, id).await
    }

    async fn blob(&self, id: BlobId) -> Result<Option<Blob>, StoreError> {
        artifact_finders::blob(&self.readers, id).await
    }

    async fn blob_bytes(&self, id: BlobId) -> Result<Option<Arc<[u8]>>, StoreError> {
        artifact_finders::blob_bytes(&self.readers, id).await
    }

    async fn blob_of(&self, tenant: TenantId, digest: Digest) -> Result<Option<Blob>, StoreError> {
        artifact_finders::blob_of(&self.readers, tenant, digest).await
    }

    async fn usage(&self, tenant: TenantId) -> Result<Usage, StoreError> {
        artifact_finders::usage(&self.readers, tenant).await
    }

    async fn version(&self, name: &VersionName) -> Result<Option<Version>, StoreError> {
        artifact_finders::version(&self.readers, name).await
    }

    async fn versions_of(
        &self,
        tenant: TenantId,
        package: Option<&str>,
        after: Option<VersionId>,
        limit: usize,
    ) -> Result<Vec<Version>, StoreError> {
        artifact_finders::versions_of(&self.readers, tenant, package, after, limit).await
    }

    async fn bundle_of(&self, job: JobId) -> Result<Option<Bundle>, StoreError> {
        artifact_finders::bundle_of(&self.readers, job).await
    }

    async fn collection(&self, id: CollectionId) -> Result<Option<Collection>, StoreError> {
        artifact_finders::collection(&self.readers, id).await
    }

    async fn collector(&self) -> Result<Collector, StoreError> {
        artifact_finders::collector(&self.readers).await
    }

    async fn blobs_unreferenced(&self, after: Option<BlobId>, limit: usize) -> Result<Vec<Blob>, StoreError> {
        artifact_finders::blobs_unreferenced(&self.readers, after, limit).await
    }

    async fn artifacts_due(&self, _now: Time, limit: usize) -> Result<ArtifactsDue, StoreError> {
        artifact_finders::due(&self.readers, limit).await
    }

    async fn find_cache(
        &self,
        tenant: TenantId,
        trusts: &[Trust],
        key: &str,
        prefix: Option<&str>,
    ) -> Result<Option<records::Cache>, StoreError> {
        cache_finders::cache(&self.readers, tenant, trusts, key, prefix).await
    }

    async fn cache_with(&self, tenant: TenantId, id: CacheId) -> Result<Option<records::Cache>, StoreError> {
        cache_finders::cache_with(&self.readers, tenant, id).await
    }

    async fn caches_of(
        &self,
        tenant: TenantId,
        after: Option<CacheId>,
        limit: usize,
    ) -> Result<Vec<records::Cache>, StoreError> {
        cache_finders::caches_of(&self.readers, tenant, after, limit).await
    }

    async fn caches_due(
        &self,
        _now: Time,
        ttl: Duration,
        bytes_max: u64,
        limit: usize,
    ) -> Result<CachesDue, StoreError> {
        cache_finders::due(&self.readers, ttl, bytes_max, limit).await
    }

    async fn blob_files_after(
        &self,
        after: Option<BlobId>,
        limit: usize,
    ) -> Result<Vec<BlobFile>, StoreError> {
        artifact_finders::blob_files_after(&self.readers, after, limit).await
    }

    async fn usage_files_after(
        &self,
        after: Option<TenantId>,
        limit: usize,
    ) -> Result<Vec<UsageFile>, StoreError> {
        artifact_finders::usage_files_after(&self.readers, after, limit).await
    }

    async fn key(&self, name: &'static str, offered: [u8; 32]) -> Result<[u8; 32], StoreError> {
        keys::key(&self.writers, name, offered).await
    }

    async fn timekeeping(&self) -> Result<Timekeeping, StoreError> {
        finders::now(&self.readers).await.map(|now| Timekeeping::Database { now })
    }

    /// The database has a clock of its own; what a process thinks of the time is nothing to keep.
    async fn keep_anchor(&self, _found: Option<&Anchor>, offered: &Anchor) -> Result<Anchor, StoreError> {
        Ok(offered.clone())
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        finders::integrity(&self.readers).await
    }
}
