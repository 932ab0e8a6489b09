//! A store that can be watched: it counts its saves, holds them up until it is told to go on, and refuses what a test
//! marks as guilty.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use decisions::doctor::{BlobFile, Examined, JobFile, LogFile, Logged, RunFile, StepsFile, UsageFile};
use decisions::records::{
    Blob, Bundle, Cache, Collection, Collector, Delivery, Event, Execution, Job, LaneKey, Log, LogChunk,
    Queue, QueueId, Run, Runner, Tenant, Token, Trust, Upload, Usage, Version, VersionName, Webhook,
    WebhookKey,
};
use decisions::{Ask, Book};
use store::{
    Anchor, ArtifactsDue, CachesDue, Due, Loaded, LogBounds, OutboxCounts, Store, StoreError, Timekeeping,
};
use tokio::sync::{Notify, Semaphore};
use wire::{
    BlobId, CacheId, CollectionId, Digest, ExecId, JobId, MessageId, RunId, RunnerId, TenantId, Time,
    TokenId, UploadId, VersionId,
};

pub struct Watched<S> {
    inner: S,
    saves: AtomicUsize,
    /// Each save takes one and does not give it back.
    permits: Semaphore,
    waiting: Notify,
    guilty: fn(&Book) -> bool,
    unreadable: fn(&[Ask]) -> bool,
    rows_lost: i64,
    problems: Vec<String>,
}

impl<S: Store> Watched<S> {
    /// Nothing holds a save up.
    pub fn open(inner: S) -> Watched<S> {
        let watched = Watched::held(inner);
        watched.release();
        watched
    }

    /// Every save waits until it is released.
    pub fn held(inner: S) -> Watched<S> {
        Watched {
            inner,
            saves: AtomicUsize::new(0),
            permits: Semaphore::new(0),
            waiting: Notify::new(),
            guilty: |_| false,
            unreadable: |_| false,
            rows_lost: 0,
            problems: Vec::new(),
        }
    }

    /// A constraint refuses whatever book is guilty.
    pub fn refusing(self, guilty: fn(&Book) -> bool) -> Watched<S> {
        Watched { guilty, ..self }
    }

    /// Whoever asks for it meets a row that cannot be read.
    pub fn damaged(self, unreadable: fn(&[Ask]) -> bool) -> Watched<S> {
        Watched { unreadable, ..self }
    }

    /// The audit log has lost this many rows.
    pub fn losing(self, rows_lost: i64) -> Watched<S> {
        Watched { rows_lost, ..self }
    }

    /// The storage engine finds this wrong with itself.
    pub fn broken(self, problem: &str) -> Watched<S> {
        Watched { problems: vec![problem.into()], ..self }
    }

    pub fn saves(&self) -> usize {
        self.saves.load(Ordering::SeqCst)
    }

    /// Until some save is held up.
    pub async fn save_waits(&self) {
        self.waiting.notified().await;
    }

    pub fn release_one(&self) {
        self.permits.add_permits(1);
    }

    /// From now on nothing waits.
    pub fn release(&self) {
        self.permits.add_permits(Semaphore::MAX_PERMITS / 2);
    }
}

impl<S: Store> Store for Watched<S> {
    type Session = S::Session;
    const SEES_AHEAD: bool = S::SEES_AHEAD;

    async fn load(&self, asks: &[Ask], now: Time) -> Result<Loaded<S::Session>, StoreError> {
        if (self.unreadable)(asks) {
            return Err(StoreError::Violation("damaged".into()));
        }
        self.inner.load(asks, now).await
    }

    async fn save(&self, session: S::Session, book: Book) -> Result<(), StoreError> {
        self.waiting.notify_one();
        self.permits.acquire().await.expect("it is never closed").forget();
        self.saves.fetch_add(1, Ordering::SeqCst);
        if (self.guilty)(&book) {
            return Err(StoreError::Violation("guilty".into()));
        }
        self.inner.save(session, book).await
    }

    async fn due(&self, now: Time, limit: usize) -> Result<Due, StoreError> {
        self.inner.due(now, limit).await
    }

    async fn lanes_ready(
        &self,
        now: Time,
        after: Option<&LaneKey>,
        limit: usize,
    ) -> Result<Vec<LaneKey>, StoreError> {
        self.inner.lanes_ready(now, after, limit).await
    }

    async fn deliveries_ready_of(
        &self,
        lane: &LaneKey,
        now: Time,
        limit: usize,
    ) -> Result<Vec<MessageId>, StoreError> {
        self.inner.deliveries_ready_of(lane, now, limit).await
    }

    async fn deliveries_in(
        &self,
        state: machines::delivery::State,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.inner.deliveries_in(state, after, limit).await
    }

    async fn outbox_counts(&self) -> Result<OutboxCounts, StoreError> {
        self.inner.outbox_counts().await
    }

    async fn webhook(&self, key: &WebhookKey) -> Result<Option<Webhook>, StoreError> {
        self.inner.webhook(key).await
    }

    async fn webhooks_of(
        &self,
        tenant: TenantId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Webhook>, StoreError> {
        self.inner.webhooks_of(tenant, after, limit).await
    }

    async fn queues_named(&self, ids: Vec<QueueId>) -> Result<Vec<Queue>, StoreError> {
        self.inner.queues_named(ids).await
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        self.inner.tenants().await
    }

    async fn runs_planning(&self, after: Option<RunId>, limit: usize) -> Result<Vec<RunId>, StoreError> {
        self.inner.runs_planning(after, limit).await
    }

    async fn queues_ready(&self) -> Result<Vec<QueueId>, StoreError> {
        self.inner.queues_ready().await
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>, StoreError> {
        self.inner.tenant(id).await
    }

    async fn tenant_named(&self, name: &str) -> Result<Option<Tenant>, StoreError> {
        self.inner.tenant_named(name).await
    }

    async fn tenants_after(&self, after: Option<TenantId>, limit: usize) -> Result<Vec<Tenant>, StoreError> {
        self.inner.tenants_after(after, limit).await
    }

    async fn token(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        self.inner.token(id).await
    }

    async fn tokens_of(
        &self,
        tenant: Option<TenantId>,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<Token>, StoreError> {
        self.inner.tokens_of(tenant, after, limit).await
    }

    async fn runners_of(
        &self,
        tenant: Option<TenantId>,
        after: Option<RunnerId>,
        limit: usize,
    ) -> Result<Vec<Runner>, StoreError> {
        self.inner.runners_of(tenant, after, limit).await
    }

    async fn executions_live(&self, limit: usize) -> Result<Vec<(Execution, TenantId)>, StoreError> {
        self.inner.executions_live(limit).await
    }

    async fn runs_of(
        &self,
        tenant: TenantId,
        before: Option<RunId>,
        limit: usize,
    ) -> Result<Vec<Run>, StoreError> {
        self.inner.runs_of(tenant, before, limit).await
    }

    async fn plan(&self, id: RunId) -> Result<Option<Arc<str>>, StoreError> {
        self.inner.plan(id).await
    }

    async fn jobs_of_run(
        &self,
        run: RunId,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        self.inner.jobs_of_run(run, after, limit).await
    }

    async fn successes(
        &self,
        tenant: TenantId,
        keys: &[Digest],
    ) -> Result<Vec<(Digest, RunId, JobId)>, StoreError> {
        self.inner.successes(tenant, keys).await
    }

    async fn job_keyed(&self, tenant: TenantId, key: &str) -> Result<Option<JobId>, StoreError> {
        self.inner.job_keyed(tenant, key).await
    }

    async fn run(&self, id: RunId) -> Result<Option<Run>, StoreError> {
        self.inner.run(id).await
    }

    async fn job_file(&self, id: JobId) -> Result<Option<JobFile>, StoreError> {
        self.inner.job_file(id).await
    }

    async fn execution_job(&self, id: ExecId) -> Result<Option<JobId>, StoreError> {
        self.inner.execution_job(id).await
    }

    async fn job_files_after(&self, after: Option<JobId>, limit: usize) -> Result<Vec<JobFile>, StoreError> {
        self.inner.job_files_after(after, limit).await
    }

    async fn run_files_after(&self, after: Option<RunId>, limit: usize) -> Result<Vec<RunFile>, StoreError> {
        self.inner.run_files_after(after, limit).await
    }

    async fn steps_files_after(
        &self,
        of: Logged,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<StepsFile>, StoreError> {
        self.inner.steps_files_after(of, after, limit).await
    }

    async fn id_after(&self, of: Examined, after: Option<&str>) -> Result<Option<String>, StoreError> {
        self.inner.id_after(of, after).await
    }

    async fn deliveries_after(
        &self,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.inner.deliveries_after(after, limit).await
    }

    async fn events_of(&self, root: &str) -> Result<Vec<Event>, StoreError> {
        self.inner.events_of(root).await
    }

    async fn events_after(&self, seq: i64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.inner.events_after(seq, limit).await
    }

    async fn events_scan(
        &self,
        tenant: TenantId,
        after: i64,
        scan_max: usize,
    ) -> Result<(Vec<Event>, i64), StoreError> {
        self.inner.events_scan(tenant, after, scan_max).await
    }

    async fn log(&self, id: ExecId) -> Result<Option<Log>, StoreError> {
        self.inner.log(id).await
    }

    async fn log_chunks(&self, id: ExecId, from: u64, bytes_max: usize) -> Result<Vec<LogChunk>, StoreError> {
        self.inner.log_chunks(id, from, bytes_max).await
    }

    async fn logs_due(
        &self,
        now: Time,
        ago: Duration,
        after: Option<ExecId>,
        limit: usize,
    ) -> Result<Vec<(Log, TenantId)>, StoreError> {
        self.inner.logs_due(now, ago, after, limit).await
    }

    async fn log_files_after(&self, after: Option<ExecId>, limit: usize) -> Result<Vec<LogFile>, StoreError> {
        self.inner.log_files_after(after, limit).await
    }

    async fn log_bounds(&self) -> Result<LogBounds, StoreError> {
        let bounds = self.inner.log_bounds().await?;
        Ok(LogBounds { rows: bounds.rows - self.rows_lost, ..bounds })
    }

    async fn upload(&self, id: UploadId) -> Result<Option<Upload>, StoreError> {
        self.inner.upload(id).await
    }

    async fn blob(&self, id: BlobId) -> Result<Option<Blob>, StoreError> {
        self.inner.blob(id).await
    }

    async fn blob_bytes(&self, id: BlobId) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.inner.blob_bytes(id).await
    }

    async fn blob_of(&self, tenant: TenantId, digest: Digest) -> Result<Option<Blob>, StoreError> {
        self.inner.blob_of(tenant, digest).await
    }

    async fn usage(&self, tenant: TenantId) -> Result<Usage, StoreError> {
        self.inner.usage(tenant).await
    }

    async fn version(&self, name: &VersionName) -> Result<Option<Version>, StoreError> {
        self.inner.version(name).await
    }

    async fn versions_of(
        &self,
        tenant: TenantId,
        package: Option<&str>,
        after: Option<VersionId>,
        limit: usize,
    ) -> Result<Vec<Version>, StoreError> {
        self.inner.versions_of(tenant, package, after, limit).await
    }

    async fn bundle_of(&self, job: JobId) -> Result<Option<Bundle>, StoreError> {
        self.inner.bundle_of(job).await
    }

    async fn find_cache(
        &self,
        tenant: TenantId,
        trusts: &[Trust],
        key: &str,
        prefix: Option<&str>,
    ) -> Result<Option<Cache>, StoreError> {
        self.inner.find_cache(tenant, trusts, key, prefix).await
    }

    async fn cache_with(&self, tenant: TenantId, id: CacheId) -> Result<Option<Cache>, StoreError> {
        self.inner.cache_with(tenant, id).await
    }

    async fn caches_of(
        &self,
        tenant: TenantId,
        after: Option<CacheId>,
        limit: usize,
    ) -> Result<Vec<Cache>, StoreError> {
        self.inner.caches_of(tenant, after, limit).await
    }

    async fn caches_due(
        &self,
        now: Time,
        ttl: Duration,
        bytes_max: u64,
        limit: usize,
    ) -> Result<CachesDue, StoreError> {
        self.inner.caches_due(now, ttl, bytes_max, limit).await
    }

    async fn collection(&self, id: CollectionId) -> Result<Option<Collection>, StoreError> {
        self.inner.collection(id).await
    }

    async fn collector(&self) -> Result<Collector, StoreError> {
        self.inner.collector().await
    }

    async fn blobs_unreferenced(&self, after: Option<BlobId>, limit: usize) -> Result<Vec<Blob>, StoreError> {
        self.inner.blobs_unreferenced(after, limit).await
    }

    async fn artifacts_due(&self, now: Time, limit: usize) -> Result<ArtifactsDue, StoreError> {
        self.inner.artifacts_due(now, limit).await
    }

    async fn blob_files_after(
        &self,
        after: Option<BlobId>,
        limit: usize,
    ) -> Result<Vec<BlobFile>, StoreError> {
        self.inner.blob_files_after(after, limit).await
    }

    async fn usage_files_after(
        &self,
        after: Option<TenantId>,
        limit: usize,
    ) -> Result<Vec<UsageFile>, StoreError> {
        self.inner.usage_files_after(after, limit).await
    }

    async fn key(&self, name: &'static str, offered: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.inner.key(name, offered).await
    }

    async fn timekeeping(&self) -> Result<Timekeeping, StoreError> {
        self.inner.timekeeping().await
    }

    async fn keep_anchor(&self, found: Option<&Anchor>, offered: &Anchor) -> Result<Anchor, StoreError> {
        self.inner.keep_anchor(found, offered).await
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        let found = self.inner.integrity().await?;
        Ok([found, self.problems.clone()].concat())
    }
}
