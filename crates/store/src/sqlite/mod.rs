//! Records in one SQLite file with a write-ahead log, one writer, readers that never block it.
//!
//! Batches are decided one after the other, each on what the one before it leaves, and written in that order. While the
//! syncer's thread brings one to the disk, the writer's saves the next, and the loader answers the asks of the one after
//! that. Nobody hears of anything that is not on the disk.

mod artifacts;
mod blobs;
mod bundles;
mod caches;
mod clock;
mod collections;
mod finders;
mod groups;
mod keys;
mod known;
mod lists;
mod load;
mod loader;
mod logs;
mod open;
mod outbox;
#[cfg(test)]
mod plans;
mod rows;
mod save;
mod syncer;
mod tokens;
mod uploads;
mod versions;
mod wal;
mod writer;

use std::path::Path;
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
use rusqlite::Connection;
use wire::{
    BlobId, CacheId, CollectionId, Digest, ExecId, JobId, MessageId, RunId, RunnerId, TenantId, Time,
    TokenId, UploadId, VersionId,
};

use crate::{
    Anchor, ArtifactsDue, CachesDue, Due, Loaded, LogBounds, OpenError, OutboxCounts, Store, StoreError,
    Timekeeping,
};
use finders::Readers;
use loader::Loader;
pub use loader::Session;

pub struct Sqlite {
    /// Dropped first: the log is put away by the writer if nobody else has the file open.
    readers: Readers,
    loader: Loader,
}

impl Sqlite {
    /// Opens the file, or makes it; brings its schema up to date.
    pub fn open(path: &Path) -> Result<Sqlite, OpenError> {
        let _others_wait = open::wait_for_others(path);
        open::check(path)?;
        let writing = open::connect_and_migrate(path)?;
        let reading = open::connect_existing(path)?;
        Ok(Sqlite::on(path, reading, writing))
    }

    /// Opens a file that must exist, for reading; nothing is changed, and a server may be at work on it.
    pub fn open_existing(path: &Path) -> Result<Sqlite, OpenError> {
        open::check(path)?;
        if !path.exists() {
            return Err(OpenError::Unreachable(format!("{} does not exist", path.display())));
        }
        let (reading, writing) = (open::connect_existing(path)?, open::connect_existing(path)?);
        Ok(Sqlite::on(path, reading, writing))
    }

    /// As [`Sqlite::open_existing`], also if it is damaged, as long as there is something to read: for whoever looks for
    /// damage. What would have been the reason to refuse it comes along.
    pub fn open_damaged(path: &Path) -> Result<(Sqlite, Option<String>), OpenError> {
        let reason = match Sqlite::open_existing(path) {
            Err(OpenError::Corrupt(reason)) => one_line(&reason),
            opened => return opened.map(|store| (store, None)),
        };
        let connect = || open::connect_existing(path).map_err(|_| OpenError::Corrupt(reason.clone()));
        let (reading, writing) = (connect()?, connect()?);
        Ok((Sqlite::on(path, reading, writing), Some(reason)))
    }

    fn on(path: &Path, reading: Connection, writing: Connection) -> Sqlite {
        let path = &open::followed(path); // a link may be led elsewhere while we are at work
        let (loader, horizon) = Loader::start(reading, writing, wal::log_of(path));
        Sqlite { readers: Readers::new(path, horizon), loader }
    }
}

impl Store for Sqlite {
    type Session = Session;
    const SEES_AHEAD: bool = true;

    fn has_stopped(&self) -> bool {
        self.readers.horizon().is_lost()
    }

    async fn load(&self, asks: &[Ask], now: Time) -> Result<Loaded<Session>, StoreError> {
        let (book, session) = self.loader.load(asks).await?;
        Ok(Loaded { book, now, session })
    }

    async fn save(&self, session: Session, book: Book) -> Result<(), StoreError> {
        session.save(book).await
    }

    async fn due(&self, now: Time, limit: usize) -> Result<Due, StoreError> {
        self.readers.read(move |connection| finders::due(connection, now, limit)).await
    }

    async fn lanes_ready(
        &self,
        now: Time,
        after: Option<&LaneKey>,
        limit: usize,
    ) -> Result<Vec<LaneKey>, StoreError> {
        let after = after.cloned();
        self.readers.read(move |connection| outbox::lanes_ready(connection, now, after.as_ref(), limit)).await
    }

    async fn deliveries_ready_of(
        &self,
        lane: &LaneKey,
        now: Time,
        limit: usize,
    ) -> Result<Vec<MessageId>, StoreError> {
        let lane = lane.clone();
        self.readers.read(move |connection| outbox::deliveries_ready_of(connection, &lane, now, limit)).await
    }

    async fn deliveries_in(
        &self,
        state: delivery::State,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.readers.read(move |connection| outbox::deliveries_in(connection, state, after, limit)).await
    }

    async fn outbox_counts(&self) -> Result<OutboxCounts, StoreError> {
        self.readers.read(outbox::outbox_counts).await
    }

    async fn webhook(&self, key: &WebhookKey) -> Result<Option<Webhook>, StoreError> {
        let key = key.clone();
        self.readers.read(move |connection| outbox::webhook(connection, &key)).await
    }

    async fn webhooks_of(
        &self,
        tenant: TenantId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Webhook>, StoreError> {
        let after = after.map(str::to_owned);
        self.readers
            .read(move |connection| outbox::webhooks_of(connection, tenant, after.as_deref(), limit))
            .await
    }

    async fn queues_named(&self, ids: Vec<QueueId>) -> Result<Vec<Queue>, StoreError> {
        self.readers.read(move |connection| finders::queues_named(connection, &ids)).await
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        self.readers.read(finders::tenants).await
    }

    async fn runs_planning(&self, after: Option<RunId>, limit: usize) -> Result<Vec<RunId>, StoreError> {
        self.readers.read(move |connection| lists::runs_planning(connection, after, limit)).await
    }

    async fn queues_ready(&self) -> Result<Vec<QueueId>, StoreError> {
        self.readers.read(lists::queues_ready).await
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>, StoreError> {
        self.readers.read(move |connection| lists::tenant(connection, id)).await
    }

    async fn tenant_named(&self, name: &str) -> Result<Option<Tenant>, StoreError> {
        let name = name.to_owned();
        self.readers.read(move |connection| lists::tenant_named(connection, &name)).await
    }

    async fn tenants_after(&self, after: Option<TenantId>, limit: usize) -> Result<Vec<Tenant>, StoreError> {
        self.readers.read(move |connection| lists::tenants_after(connection, after, limit)).await
    }

    async fn token(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        self.readers.read(move |connection| tokens::token(connection, id)).await
    }

    async fn tokens_of(
        &self,
        tenant: Option<TenantId>,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<Token>, StoreError> {
        self.readers.read(move |connection| tokens::tokens_of(connection, tenant, after, limit)).await
    }

    async fn runners_of(
        &self,
        tenant: Option<TenantId>,
        after: Option<RunnerId>,
        limit: usize,
    ) -> Result<Vec<Runner>, StoreError> {
        self.readers.read(move |connection| lists::runners_of(connection, tenant, after, limit)).await
    }

    async fn executions_live(&self, limit: usize) -> Result<Vec<(Execution, TenantId)>, StoreError> {
        self.readers.read(move |connection| lists::executions_live(connection, limit)).await
    }

    async fn runs_of(
        &self,
        tenant: TenantId,
        before: Option<RunId>,
        limit: usize,
    ) -> Result<Vec<Run>, StoreError> {
        self.readers.read(move |connection| lists::runs_of(connection, tenant, before, limit)).await
    }

    async fn plan(&self, id: RunId) -> Result<Option<Arc<str>>, StoreError> {
        self.readers.read(move |connection| lists::plan(connection, id)).await
    }

    async fn jobs_of_run(
        &self,
        run: RunId,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        self.readers.read(move |connection| lists::jobs_of_run(connection, run, after, limit)).await
    }

    async fn successes(
        &self,
        tenant: TenantId,
        keys: &[Digest],
    ) -> Result<Vec<(Digest, RunId, JobId)>, StoreError> {
        let keys = keys.to_vec();
        self.readers.read(move |connection| lists::successes(connection, tenant, &keys)).await
    }

    async fn job_keyed(&self, tenant: TenantId, key: &str) -> Result<Option<JobId>, StoreError> {
        let key = key.to_owned();
        self.readers.read(move |connection| lists::job_keyed(connection, tenant, &key)).await
    }

    async fn run(&self, id: RunId) -> Result<Option<Run>, StoreError> {
        self.readers.read(move |connection| rows::run(connection, id)).await
    }

    async fn job_file(&self, id: JobId) -> Result<Option<JobFile>, StoreError> {
        self.readers.read(move |connection| finders::job_file(connection, id)).await
    }

    async fn execution_job(&self, id: ExecId) -> Result<Option<JobId>, StoreError> {
        let job = move |connection: &_| Ok(rows::execution(connection, id)?.map(|execution| execution.job()));
        self.readers.read(job).await
    }

    async fn job_files_after(&self, after: Option<JobId>, limit: usize) -> Result<Vec<JobFile>, StoreError> {
        self.readers.read(move |connection| finders::job_files_after(connection, after, limit)).await
    }

    async fn run_files_after(&self, after: Option<RunId>, limit: usize) -> Result<Vec<RunFile>, StoreError> {
        self.readers.read(move |connection| finders::run_files_after(connection, after, limit)).await
    }

    async fn steps_files_after(
        &self,
        of: Logged,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<StepsFile>, StoreError> {
        let after = after.unwrap_or_default().to_owned();
        self.readers.read(move |connection| finders::steps_files_after(connection, of, &after, limit)).await
    }

    async fn id_after(&self, of: Examined, after: Option<&str>) -> Result<Option<String>, StoreError> {
        let after = after.unwrap_or_default().to_owned();
        self.readers.read(move |connection| finders::id_after(connection, of, &after)).await
    }

    async fn deliveries_after(
        &self,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.readers.read(move |connection| finders::deliveries_after(connection, after, limit)).await
    }

    async fn events_of(&self, root: &str) -> Result<Vec<Event>, StoreError> {
        let root = root.to_owned();
        self.readers.read(move |connection| finders::events_of(connection, &root)).await
    }

    async fn events_after(&self, seq: i64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.readers.read(move |connection| finders::events_after(connection, seq, limit)).await
    }

    async fn events_scan(
        &self,
        tenant: TenantId,
        after: i64,
        scan_max: usize,
    ) -> Result<(Vec<Event>, i64), StoreError> {
        self.readers.read(move |connection| lists::events_scan(connection, tenant, after, scan_max)).await
    }

    async fn log(&self, id: ExecId) -> Result<Option<Log>, StoreError> {
        self.readers.read(move |connection| logs::log(connection, id)).await
    }

    async fn log_chunks(&self, id: ExecId, from: u64, bytes_max: usize) -> Result<Vec<LogChunk>, StoreError> {
        self.readers.read(move |connection| logs::log_chunks(connection, id, from, bytes_max)).await
    }

    async fn logs_due(
        &self,
        now: Time,
        ago: Duration,
        after: Option<ExecId>,
        limit: usize,
    ) -> Result<Vec<(Log, TenantId)>, StoreError> {
        let ended_by = now.minus(ago);
        self.readers.read(move |connection| logs::due(connection, ended_by, after, limit)).await
    }

    async fn log_files_after(&self, after: Option<ExecId>, limit: usize) -> Result<Vec<LogFile>, StoreError> {
        self.readers.read(move |connection| logs::files_after(connection, after, limit)).await
    }

    async fn log_bounds(&self) -> Result<LogBounds, StoreError> {
        self.readers.read(finders::log_bounds).await
    }

    async fn upload(&self, id: UploadId) -> Result<Option<Upload>, StoreError> {
        self.readers.read(move |connection| uploads::upload(connection, id)).await
    }

    async fn blob(&self, id: BlobId) -> Result<Option<Blob>, StoreError> {
        self.readers.read(move |connection| blobs::blob(connection, id)).await
    }

    async fn blob_bytes(&self, id: BlobId) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.readers.read(move |connection| blobs::bytes(connection, id)).await
    }

    async fn blob_of(&self, tenant: TenantId, digest: Digest) -> Result<Option<Blob>, StoreError> {
        self.readers.read(move |connection| blobs::blob_of(connection, tenant, digest)).await
    }

    async fn usage(&self, tenant: TenantId) -> Result<Usage, StoreError> {
        let usage = self.readers.read(move |connection| blobs::usage(connection, tenant)).await?;
        Ok(usage.unwrap_or(Usage { tenant, bytes: 0, blobs: 0 }))
    }

    async fn version(&self, name: &VersionName) -> Result<Option<Version>, StoreError> {
        let name = name.clone();
        self.readers.read(move |connection| versions::version_named(connection, &name)).await
    }

    async fn versions_of(
        &self,
        tenant: TenantId,
        package: Option<&str>,
        after: Option<VersionId>,
        limit: usize,
    ) -> Result<Vec<Version>, StoreError> {
        let package = package.map(ToOwned::to_owned);
        let list =
            move |connection: &_| versions::versions_of(connection, tenant, package.as_deref(), after, limit);
        self.readers.read(list).await
    }

    async fn bundle_of(&self, job: JobId) -> Result<Option<Bundle>, StoreError> {
        self.readers.read(move |connection| bundles::bundle_of(connection, job)).await
    }

    async fn collection(&self, id: CollectionId) -> Result<Option<Collection>, StoreError> {
        self.readers.read(move |connection| collections::collection(connection, id)).await
    }

    async fn collector(&self) -> Result<Collector, StoreError> {
        Ok(self.readers.read(collections::collector).await?.unwrap_or_default())
    }

    async fn blobs_unreferenced(&self, after: Option<BlobId>, limit: usize) -> Result<Vec<Blob>, StoreError> {
        self.readers.read(move |connection| blobs::unreferenced(connection, after, limit)).await
    }

    async fn artifacts_due(&self, now: Time, limit: usize) -> Result<ArtifactsDue, StoreError> {
        self.readers.read(move |connection| artifacts::due(connection, now, limit)).await
    }

    async fn find_cache(
        &self,
        tenant: TenantId,
        trusts: &[Trust],
        key: &str,
        prefix: Option<&str>,
    ) -> Result<Option<Cache>, StoreError> {
        let (trusts, key, prefix) = (trusts.to_owned(), key.to_owned(), prefix.map(ToOwned::to_owned));
        let find = move |connection: &_| caches::cache(connection, tenant, &trusts, &key, prefix.as_deref());
        self.readers.read(find).await
    }

    async fn cache_with(&self, tenant: TenantId, id: CacheId) -> Result<Option<Cache>, StoreError> {
        self.readers.read(move |connection| caches::cache_with(connection, tenant, id)).await
    }

    async fn caches_of(
        &self,
        tenant: TenantId,
        after: Option<CacheId>,
        limit: usize,
    ) -> Result<Vec<Cache>, StoreError> {
        self.readers.read(move |connection| caches::caches_of(connection, tenant, after, limit)).await
    }

    async fn caches_due(
        &self,
        now: Time,
        ttl: Duration,
        bytes_max: u64,
        limit: usize,
    ) -> Result<CachesDue, StoreError> {
        self.readers.read(move |connection| caches::due(connection, now, ttl, bytes_max, limit)).await
    }

    async fn blob_files_after(
        &self,
        after: Option<BlobId>,
        limit: usize,
    ) -> Result<Vec<BlobFile>, StoreError> {
        self.readers.read(move |connection| blobs::files_after(connection, after, limit)).await
    }

    async fn usage_files_after(
        &self,
        after: Option<TenantId>,
        limit: usize,
    ) -> Result<Vec<UsageFile>, StoreError> {
        self.readers.read(move |connection| blobs::usages_after(connection, after, limit)).await
    }

    async fn key(&self, name: &'static str, offered: [u8; 32]) -> Result<[u8; 32], StoreError> {
        if let Some(known) = self.readers.read(move |connection| keys::key(connection, name)).await? {
            return Ok(known);
        }
        let path = self.readers.path().to_owned();
        self.readers.read(move |_| keys::make(&path, name, offered)).await
    }

    async fn timekeeping(&self) -> Result<Timekeeping, StoreError> {
        self.readers.read(clock::kept).await.map(Timekeeping::Process)
    }

    async fn keep_anchor(&self, found: Option<&Anchor>, offered: &Anchor) -> Result<Anchor, StoreError> {
        let (path, found, offered) = (self.readers.path().to_owned(), found.cloned(), offered.clone());
        self.readers.read(move |_| clock::keep(&path, found.as_ref(), &offered)).await
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        self.readers.read(finders::integrity).await
    }
}

/// SQLite writes what it finds in several lines below a heading.
fn one_line(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("***"));
    lines.collect::<Vec<_>>().join("; ")
}

/// What SQLite says, as a caller must take it.
fn refused(error: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode;
    if is_damage(&error) {
        return StoreError::Violation(format!("a stored record cannot be read: {error}"));
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) if was_taken_for_new(&error) => {
            StoreError::Conflict(error.to_string())
        }
        Some(ErrorCode::ConstraintViolation) => StoreError::Violation(error.to_string()),
        Some(ErrorCode::DiskFull) => StoreError::Unavailable("the disk is full; free some space".into()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Unavailable("another process holds the database".into())
        }
        Some(_) | None => StoreError::Unavailable(error.to_string()),
    }
}

/// A row that is there and is none of ours: whoever does not ask for it is served.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(
        error,
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
    )
}

/// The keys of what a load may take for new.
fn was_taken_for_new(error: &rusqlite::Error) -> bool {
    let text = error.to_string();
    text.ends_with(": jobs.id") || text.ends_with(": executions.id")
}
