//! Records in memory: the reference for the other stores, and the one that can fail on demand.
//!
//! It keeps the same constraints as the databases do, and protects what was read in the simplest way: each record has a
//! version, and a save on an older one is a conflict.

mod artifacts;
mod caches;
mod constraints;
mod files;
mod lists;
mod load;
mod outbox;
mod tables;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
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

use crate::{
    Anchor, ArtifactsDue, CachesDue, Due, Kept, Loaded, LogBounds, OutboxCounts, Store, StoreError,
    Timekeeping,
};
use load::Loader;
pub use tables::Seen;
use tables::Tables;

/// What goes wrong with the next save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The request never arrives: nothing is written.
    LoseRequest,
    /// It is written, but the caller cannot know: the answer is lost on the way back.
    LoseAnswer,
    /// Somebody else moved first.
    Conflict,
}

#[derive(Debug, Default)]
pub struct Memory {
    tables: Mutex<Tables>,
    /// Of the saves to come; `None`: that one goes well.
    faults: Mutex<VecDeque<Option<Fault>>>,
    keys: Mutex<BTreeMap<&'static str, [u8; 32]>>,
    anchor: Mutex<Option<Anchor>>,
}

impl Memory {
    /// The next saves fail like this, in order.
    pub fn inject(&self, faults: impl IntoIterator<Item = Fault>) {
        self.faults.lock().expect("no panic holds it").extend(faults.into_iter().map(Some));
    }

    /// So many saves go well, then one fails.
    pub fn inject_after(&self, saves: usize, fault: Fault) {
        let mut faults = self.faults.lock().expect("no panic holds it");
        faults.extend(std::iter::repeat_n(None, saves));
        faults.push_back(Some(fault));
    }

    /// Faults that are still to come.
    pub fn faults_left(&self) -> usize {
        self.faults.lock().expect("no panic holds it").iter().flatten().count()
    }

    fn tables(&self) -> std::sync::MutexGuard<'_, Tables> {
        self.tables.lock().expect("a panic while saving would have left half a batch")
    }
}

impl Store for Memory {
    type Session = Seen;
    const SEES_AHEAD: bool = false;

    async fn load(&self, asks: &[Ask], now: Time) -> Result<Loaded<Seen>, StoreError> {
        let tables = self.tables();
        let mut loader = Loader { tables: &tables, book: Book::default(), seen: Seen::default() };
        for ask in asks {
            loader.answer(ask);
        }
        loader.bring_webhooks();
        Ok(Loaded { book: loader.book, now, session: loader.seen })
    }

    async fn save(&self, session: Seen, book: Book) -> Result<(), StoreError> {
        let fault = self.faults.lock().expect("no panic holds it").pop_front().flatten();
        match fault {
            Some(Fault::LoseRequest) => return Err(StoreError::Unavailable("the request was lost".into())),
            Some(Fault::Conflict) => return Err(StoreError::Conflict("injected".into())),
            Some(Fault::LoseAnswer) | None => {}
        }
        let mut tables = self.tables();
        tables.check(&session, &book)?;
        tables.check_constraints(&book)?;
        tables.write(&book);
        match fault {
            Some(Fault::LoseAnswer) => Err(StoreError::Unknown("the answer was lost".into())),
            Some(Fault::LoseRequest | Fault::Conflict) | None => Ok(()),
        }
    }

    async fn due(&self, now: Time, limit: usize) -> Result<Due, StoreError> {
        let tables = self.tables();
        let passed = |due_at: Option<Time>| due_at.filter(|due_at| *due_at <= now);
        let executions = tables.executions.all().filter_map(|it| passed(it.due_at).map(|at| (at, it.id)));
        let runs = tables.runs.all().filter_map(|it| passed(it.due_at).map(|at| (at, it.id)));
        let claimed = tables.deliveries.all().filter(|it| it.state.get() == delivery::State::Delivering);
        Ok(Due {
            executions: earliest(executions, limit),
            runs: earliest(runs, limit),
            sweeps: tables
                .runs
                .all()
                .filter(|run| run.sweep.is_some())
                .map(|run| run.id)
                .take(limit)
                .collect(),
            releases: tables.jobs.all().filter(|job| job.releasing).map(|job| job.id).take(limit).collect(),
            claims: earliest(claimed.filter_map(|it| passed(it.due_at).map(|at| (at, it.id))), limit),
        })
    }

    async fn lanes_ready(
        &self,
        now: Time,
        after: Option<&LaneKey>,
        limit: usize,
    ) -> Result<Vec<LaneKey>, StoreError> {
        Ok(self.tables().lanes_ready(now, after, limit))
    }

    async fn deliveries_ready_of(
        &self,
        lane: &LaneKey,
        now: Time,
        limit: usize,
    ) -> Result<Vec<MessageId>, StoreError> {
        Ok(self.tables().deliveries_ready_of(lane, now, limit))
    }

    async fn deliveries_in(
        &self,
        state: delivery::State,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        Ok(self.tables().deliveries_in(state, after, limit))
    }

    async fn outbox_counts(&self) -> Result<OutboxCounts, StoreError> {
        Ok(self.tables().outbox_counts())
    }

    async fn webhook(&self, key: &WebhookKey) -> Result<Option<Webhook>, StoreError> {
        Ok(self.tables().webhooks.get(key).cloned())
    }

    async fn webhooks_of(
        &self,
        tenant: TenantId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Webhook>, StoreError> {
        Ok(self.tables().webhooks_of(tenant, after, limit))
    }

    async fn queues_named(&self, ids: Vec<QueueId>) -> Result<Vec<Queue>, StoreError> {
        let tables = self.tables();
        Ok(BTreeSet::from_iter(ids).iter().filter_map(|id| tables.queues.get(id)).cloned().collect())
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        Ok(self.tables().tenants.all().cloned().collect())
    }

    async fn runs_planning(&self, after: Option<RunId>, limit: usize) -> Result<Vec<RunId>, StoreError> {
        Ok(self.tables().runs_planning(after, limit))
    }

    async fn queues_ready(&self) -> Result<Vec<QueueId>, StoreError> {
        Ok(self.tables().queues_ready())
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>, StoreError> {
        Ok(self.tables().tenants.get(&id).cloned())
    }

    async fn tenant_named(&self, name: &str) -> Result<Option<Tenant>, StoreError> {
        Ok(self.tables().tenant_named(name).cloned())
    }

    async fn tenants_after(&self, after: Option<TenantId>, limit: usize) -> Result<Vec<Tenant>, StoreError> {
        Ok(self.tables().tenants_after(after, limit))
    }

    async fn token(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        Ok(self.tables().tokens.get(&id).cloned())
    }

    async fn tokens_of(
        &self,
        tenant: Option<TenantId>,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<Token>, StoreError> {
        Ok(self.tables().tokens_of(tenant, after, limit))
    }

    async fn runners_of(
        &self,
        tenant: Option<TenantId>,
        after: Option<RunnerId>,
        limit: usize,
    ) -> Result<Vec<Runner>, StoreError> {
        Ok(self.tables().runners_of(tenant, after, limit))
    }

    async fn executions_live(&self, limit: usize) -> Result<Vec<(Execution, TenantId)>, StoreError> {
        Ok(self.tables().executions_live(limit))
    }

    async fn runs_of(
        &self,
        tenant: TenantId,
        before: Option<RunId>,
        limit: usize,
    ) -> Result<Vec<Run>, StoreError> {
        Ok(self.tables().runs_of(tenant, before, limit))
    }

    async fn plan(&self, id: RunId) -> Result<Option<Arc<str>>, StoreError> {
        Ok(self.tables().plans.get(&id).cloned())
    }

    async fn jobs_of_run(
        &self,
        run: RunId,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        Ok(self.tables().jobs_of_run(run, after, limit))
    }

    async fn successes(
        &self,
        tenant: TenantId,
        keys: &[Digest],
    ) -> Result<Vec<(Digest, RunId, JobId)>, StoreError> {
        Ok(self.tables().successes(tenant, keys))
    }

    async fn job_keyed(&self, tenant: TenantId, key: &str) -> Result<Option<JobId>, StoreError> {
        Ok(self.tables().job_keys.get(&(tenant, key.to_owned())).copied())
    }

    async fn run(&self, id: RunId) -> Result<Option<Run>, StoreError> {
        Ok(self.tables().runs.get(&id).cloned())
    }

    async fn job_file(&self, id: JobId) -> Result<Option<JobFile>, StoreError> {
        let tables = self.tables();
        Ok(tables.jobs.get(&id).map(|job| tables.job_file(job)))
    }

    async fn execution_job(&self, id: ExecId) -> Result<Option<JobId>, StoreError> {
        Ok(self.tables().executions.get(&id).map(Execution::job))
    }

    async fn job_files_after(&self, after: Option<JobId>, limit: usize) -> Result<Vec<JobFile>, StoreError> {
        let tables = self.tables();
        let later = tables.jobs.all().filter(|job| after.is_none_or(|after| job.id > after));
        Ok(later.take(limit).map(|job| tables.job_file(job)).collect())
    }

    async fn run_files_after(&self, after: Option<RunId>, limit: usize) -> Result<Vec<RunFile>, StoreError> {
        let tables = self.tables();
        let later = tables.runs.all().filter(|run| after.is_none_or(|after| run.id > after));
        Ok(later.take(limit).map(|run| tables.run_file(run)).collect())
    }

    async fn steps_files_after(
        &self,
        of: Logged,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<StepsFile>, StoreError> {
        Ok(self.tables().steps_files_after(of, after, limit))
    }

    async fn id_after(&self, of: Examined, after: Option<&str>) -> Result<Option<String>, StoreError> {
        let ids = self.tables().ids(of);
        Ok(ids.into_iter().filter(|id| after.is_none_or(|after| id.as_str() > after)).min())
    }

    async fn deliveries_after(
        &self,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        let tables = self.tables();
        let later = tables.deliveries.all().filter(|it| after.is_none_or(|after| it.id > after));
        Ok(later.take(limit).cloned().collect())
    }

    async fn events_of(&self, root: &str) -> Result<Vec<Event>, StoreError> {
        Ok(self.tables().events_of(root))
    }

    async fn events_after(&self, seq: i64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let tables = self.tables();
        Ok(tables
            .events
            .iter()
            .skip(seq.max(0) as usize)
            .take(limit)
            .map(|(_, event)| event.clone())
            .collect())
    }

    async fn events_scan(
        &self,
        tenant: TenantId,
        after: i64,
        scan_max: usize,
    ) -> Result<(Vec<Event>, i64), StoreError> {
        Ok(self.tables().events_scan(tenant, after, scan_max))
    }

    async fn log(&self, id: ExecId) -> Result<Option<Log>, StoreError> {
        Ok(self.tables().logs.get(&id).copied())
    }

    async fn log_chunks(&self, id: ExecId, from: u64, bytes_max: usize) -> Result<Vec<LogChunk>, StoreError> {
        Ok(self.tables().log_chunks(id, from, bytes_max))
    }

    async fn logs_due(
        &self,
        now: Time,
        ago: Duration,
        after: Option<ExecId>,
        limit: usize,
    ) -> Result<Vec<(Log, TenantId)>, StoreError> {
        Ok(self.tables().logs_due(now.minus(ago), after, limit))
    }

    async fn log_files_after(&self, after: Option<ExecId>, limit: usize) -> Result<Vec<LogFile>, StoreError> {
        Ok(self.tables().log_files_after(after, limit))
    }

    async fn log_bounds(&self) -> Result<LogBounds, StoreError> {
        let rows = self.tables().events.len() as i64;
        Ok(LogBounds { rows, last_seq: rows })
    }

    async fn upload(&self, id: UploadId) -> Result<Option<Upload>, StoreError> {
        Ok(self.tables().uploads.get(&id).cloned())
    }

    async fn blob(&self, id: BlobId) -> Result<Option<Blob>, StoreError> {
        Ok(self.tables().blobs.get(&id).cloned())
    }

    async fn blob_bytes(&self, id: BlobId) -> Result<Option<Arc<[u8]>>, StoreError> {
        Ok(self.tables().blob_bytes.get(&id).cloned())
    }

    async fn blob_of(&self, tenant: TenantId, digest: Digest) -> Result<Option<Blob>, StoreError> {
        Ok(self.tables().blob_of(tenant, digest).cloned())
    }

    async fn usage(&self, tenant: TenantId) -> Result<Usage, StoreError> {
        Ok(self.tables().usages.get(&tenant).cloned().unwrap_or(Usage { tenant, bytes: 0, blobs: 0 }))
    }

    async fn version(&self, name: &VersionName) -> Result<Option<Version>, StoreError> {
        Ok(self.tables().version_named(name).cloned())
    }

    async fn versions_of(
        &self,
        tenant: TenantId,
        package: Option<&str>,
        after: Option<VersionId>,
        limit: usize,
    ) -> Result<Vec<Version>, StoreError> {
        Ok(self.tables().versions_of(tenant, package, after, limit))
    }

    async fn bundle_of(&self, job: JobId) -> Result<Option<Bundle>, StoreError> {
        let tables = self.tables();
        let bundles = tables.bundles.all().filter(|bundle| bundle.job == job);
        Ok(bundles.max_by_key(|bundle| (bundle.created_at, bundle.execution)).cloned())
    }

    async fn collection(&self, id: CollectionId) -> Result<Option<Collection>, StoreError> {
        Ok(self.tables().collections.get(&id).cloned())
    }

    async fn collector(&self) -> Result<Collector, StoreError> {
        Ok(self.tables().collector.get(&()).cloned().unwrap_or_default())
    }

    async fn blobs_unreferenced(&self, after: Option<BlobId>, limit: usize) -> Result<Vec<Blob>, StoreError> {
        Ok(self.tables().blobs_unreferenced(after, limit))
    }

    async fn artifacts_due(&self, now: Time, limit: usize) -> Result<ArtifactsDue, StoreError> {
        Ok(self.tables().artifacts_due(now, limit))
    }

    async fn find_cache(
        &self,
        tenant: TenantId,
        trusts: &[Trust],
        key: &str,
        prefix: Option<&str>,
    ) -> Result<Option<Cache>, StoreError> {
        Ok(self.tables().cache(tenant, trusts, key, prefix))
    }

    async fn cache_with(&self, tenant: TenantId, id: CacheId) -> Result<Option<Cache>, StoreError> {
        Ok(self.tables().cache_with(tenant, id))
    }

    async fn caches_of(
        &self,
        tenant: TenantId,
        after: Option<CacheId>,
        limit: usize,
    ) -> Result<Vec<Cache>, StoreError> {
        Ok(self.tables().caches_of(tenant, after, limit))
    }

    async fn caches_due(
        &self,
        now: Time,
        ttl: Duration,
        bytes_max: u64,
        limit: usize,
    ) -> Result<CachesDue, StoreError> {
        Ok(self.tables().caches_due(now, ttl, bytes_max, limit))
    }

    async fn blob_files_after(
        &self,
        after: Option<BlobId>,
        limit: usize,
    ) -> Result<Vec<BlobFile>, StoreError> {
        Ok(self.tables().blob_files_after(after, limit))
    }

    async fn usage_files_after(
        &self,
        after: Option<TenantId>,
        limit: usize,
    ) -> Result<Vec<UsageFile>, StoreError> {
        Ok(self.tables().usage_files_after(after, limit))
    }

    async fn key(&self, name: &'static str, offered: [u8; 32]) -> Result<[u8; 32], StoreError> {
        Ok(*self.keys.lock().expect("no panic holds it").entry(name).or_insert(offered))
    }

    async fn timekeeping(&self) -> Result<Timekeeping, StoreError> {
        let anchor = self.anchor.lock().expect("no panic holds it").clone();
        let tables = self.tables();
        let latest = tables.events.last().map(|(_, event)| event.at);
        let live = tables.executions.all().filter(|execution| execution.finished_at.is_none());
        let leases_until = live.map(|execution| execution.expires_at).max();
        Ok(Timekeeping::Process(Kept { anchor, latest, leases_until }))
    }

    async fn keep_anchor(&self, found: Option<&Anchor>, offered: &Anchor) -> Result<Anchor, StoreError> {
        let mut anchor = self.anchor.lock().expect("no panic holds it");
        if anchor.as_ref() == found {
            *anchor = Some(offered.clone());
        }
        Ok(anchor.clone().unwrap_or_else(|| offered.clone()))
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
}

fn earliest<I: Ord>(due: impl Iterator<Item = (Time, I)>, limit: usize) -> Vec<I> {
    let ordered: BTreeSet<(Time, I)> = due.collect();
    ordered.into_iter().take(limit).map(|(_, id)| id).collect()
}
