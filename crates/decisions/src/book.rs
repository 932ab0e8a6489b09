//! The book: the records a batch of commands needs, as loaded, and as the commands decided so far have left them.
//!
//! A store fills it, decisions read it, and a store writes what changed. It notes what was read, so that a store
//! shared by several servers can make sure that it still holds when the changes are written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use machines::job;
use wire::{
    BlobId, CollectionId, Digest, ExecId, JobId, MessageId, RunId, TenantId, TokenId, UploadId, VersionId,
};

use crate::changed::Changed;
use crate::records::{
    Attempt, AttemptKey, Blob, BlobBytes, Bundle, Cache, CacheName, Collection, Collector, Delivery,
    EffectRow, Execution, Group, GroupId, Job, Log, LogChunk, LogTrim, Possession, PossessionKey, Queue,
    QueueId, ReadyKey, Run, Runner, RunnerKey, Tenant, Token, Transition, Upload, Usage, Version,
    VersionName, Webhook, WebhookKey,
};

/// A record kept under a key.
pub trait Kept: Clone + PartialEq + 'static {
    type Key: Ord + Clone;
    fn key(&self) -> Self::Key;
    fn shelf(book: &Book) -> &Shelf<Self>;
    fn shelf_mut(book: &mut Book) -> &mut Shelf<Self>;
    fn changed(changes: &Changes) -> &Changed<Self>;
    fn changed_mut(changes: &mut Changes) -> &mut Changed<Self>;
}

/// All records of one kind in the book, in key order: the one global order in which stores write.
#[derive(Debug)]
pub struct Shelf<R: Kept>(BTreeMap<R::Key, Slot<R>>);

/// Records are shared, not copied: a store remembers what it wrote, and most of what is loaded is only read.
#[derive(Debug)]
struct Slot<R> {
    /// As loaded; `None` when a decision made it.
    before: Option<Arc<R>>,
    now: Arc<R>,
    written: bool,
    read: AtomicBool,
}

impl<R: Kept> Default for Shelf<R> {
    fn default() -> Self {
        Shelf(BTreeMap::new())
    }
}

impl<R: Kept> Shelf<R> {
    /// A store brings a record. One that is here already stays as it is.
    pub fn bring(&mut self, record: impl Into<Arc<R>>) {
        let record = record.into();
        self.0.entry(record.key()).or_insert_with(|| Slot {
            before: Some(record.clone()),
            now: record,
            written: false,
            read: AtomicBool::new(false),
        });
    }

    pub fn has(&self, key: &R::Key) -> bool {
        self.0.contains_key(key)
    }

    /// The record, and a note that a decision rests on it.
    pub fn get(&self, key: &R::Key) -> Option<&R> {
        let slot = self.0.get(key)?;
        slot.read.store(true, Ordering::Relaxed);
        Some(&slot.now)
    }

    /// The record as it was loaded, whatever the batch has made of it since.
    pub fn loaded(&self, key: &R::Key) -> Option<&R> {
        self.0.get(key)?.before.as_deref()
    }

    /// The record without the note: for stores, and where being late does no harm.
    pub fn peek(&self, key: &R::Key) -> Option<&R> {
        self.0.get(key).map(|slot| &*slot.now)
    }

    pub fn peek_all(&self) -> impl Iterator<Item = &R> {
        self.0.values().map(|slot| &*slot.now)
    }

    fn put(&mut self, record: Arc<R>) {
        match self.0.get_mut(&record.key()) {
            Some(slot) => {
                slot.now = record;
                slot.written = true;
            }
            None => {
                let slot = Slot { before: None, now: record, written: true, read: AtomicBool::new(false) };
                self.0.insert(slot.now.key(), slot);
            }
        }
    }

    /// The record as it was written, if it was.
    pub fn written_at(&self, key: &R::Key) -> Option<&Arc<R>> {
        self.0.get(key).filter(|slot| slot.written).map(|slot| &slot.now)
    }

    /// What was written, to be remembered.
    pub fn written(&self) -> impl Iterator<Item = &Arc<R>> {
        self.0.values().filter(|slot| slot.written).map(|slot| &slot.now)
    }

    /// What must be written, in key order: (as loaded, as it shall be).
    pub fn writes(&self) -> impl Iterator<Item = (Option<&R>, &R)> {
        self.0.values().filter(|slot| slot.written).map(|slot| (slot.before.as_deref(), &*slot.now))
    }

    /// What was loaded and read but not written, in key order: it must still hold when the writes happen.
    pub fn reads(&self) -> impl Iterator<Item = &R> {
        self.0
            .values()
            .filter(|slot| !slot.written && slot.read.load(Ordering::Relaxed))
            .map(|slot| &*slot.now)
    }
}

/// What one decision changes.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Changes {
    pub tenants: Changed<Tenant>,
    pub runs: Changed<Run>,
    pub jobs: Changed<Job>,
    pub attempts: Changed<Attempt>,
    pub executions: Changed<Execution>,
    pub runners: Changed<Runner>,
    pub queues: Changed<Queue>,
    pub deliveries: Changed<Delivery>,
    pub webhooks: Changed<Webhook>,
    pub tokens: Changed<Token>,
    pub logs: Changed<Log>,
    pub uploads: Changed<Upload>,
    pub blobs: Changed<Blob>,
    pub possessions: Changed<Possession>,
    pub usages: Changed<Usage>,
    pub versions: Changed<Version>,
    pub bundles: Changed<Bundle>,
    pub caches: Changed<Cache>,
    pub collections: Changed<Collection>,
    pub collector: Changed<Collector>,
    pub groups: Changed<Group>,
    pub appended: Appended,
}

/// Rows that are written once and never change.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Appended {
    /// What a runner gets as `job_spec`, as JSON.
    pub specs: Vec<(JobId, Arc<str>)>,
    /// A run's plan, as JSON.
    pub plans: Vec<(RunId, Arc<str>)>,
    /// (needed, dependent).
    pub needs: Vec<(JobId, JobId)>,
    pub effects: Vec<EffectRow>,
    pub log_chunks: Vec<LogChunk>,
    /// Chunks that go, also of those that have just come.
    pub log_trims: Vec<LogTrim>,
    /// Of blobs that this commit makes.
    pub blob_bytes: Vec<BlobBytes>,
    /// Blobs whose bytes go with this commit.
    pub bytes_gone: Vec<BlobId>,
    pub transitions: Vec<Transition>,
}

impl Appended {
    fn extend(&mut self, more: Appended) {
        self.specs.extend(more.specs);
        self.plans.extend(more.plans);
        self.needs.extend(more.needs);
        self.effects.extend(more.effects);
        self.log_chunks.extend(more.log_chunks);
        self.log_trims.extend(more.log_trims);
        self.blob_bytes.extend(more.blob_bytes);
        self.bytes_gone.extend(more.bytes_gone);
        self.transitions.extend(more.transitions);
    }
}

#[derive(Debug, Default)]
pub struct Book {
    pub tenants: Shelf<Tenant>,
    pub runs: Shelf<Run>,
    pub jobs: Shelf<Job>,
    pub attempts: Shelf<Attempt>,
    pub executions: Shelf<Execution>,
    pub runners: Shelf<Runner>,
    pub queues: Shelf<Queue>,
    pub deliveries: Shelf<Delivery>,
    pub webhooks: Shelf<Webhook>,
    pub tokens: Shelf<Token>,
    pub logs: Shelf<Log>,
    pub uploads: Shelf<Upload>,
    pub blobs: Shelf<Blob>,
    pub possessions: Shelf<Possession>,
    pub usages: Shelf<Usage>,
    pub versions: Shelf<Version>,
    pub bundles: Shelf<Bundle>,
    pub caches: Shelf<Cache>,
    pub collections: Shelf<Collection>,
    pub collector: Shelf<Collector>,
    pub groups: Shelf<Group>,
    pub appended: Appended,

    pub tenant_names: BTreeMap<String, TenantId>,
    pub triggers: BTreeMap<(TenantId, String), RunId>,
    pub job_keys: BTreeMap<(TenantId, String), JobId>,
    /// Attempts that may be leased, as far as they were asked for.
    pub ready: BTreeSet<ReadyKey>,
    pub specs: BTreeMap<JobId, Arc<str>>,
    pub plans: BTreeMap<RunId, Arc<str>>,
    /// Of runs that are swept: the next open jobs, in order, [`CHUNK`](crate::policy::CHUNK) at most.
    pub sweeps: BTreeMap<RunId, Vec<JobId>>,
    /// Of jobs that release: the next dependents, in order, likewise.
    pub dependents: BTreeMap<JobId, Vec<JobId>>,
    /// Of deliveries in ordered lanes that shall be claimed: the first that is open in their lane.
    pub lane_heads: BTreeMap<MessageId, MessageId>,
    /// Of runs that are run again: the jobs that succeeded, by name.
    pub succeeded: BTreeMap<RunId, BTreeMap<String, JobId>>,
    /// Of concurrency groups that were asked for: their runs, as far as they were not over.
    pub group_runs: BTreeMap<GroupId, BTreeSet<RunId>>,
    /// The blob that is here, by digest.
    pub blobs_here: BTreeMap<Digest, BlobId>,
    pub version_names: BTreeMap<VersionName, VersionId>,
    /// Who possesses a blob.
    pub possessors: BTreeMap<BlobId, BTreeSet<TenantId>>,
}

impl Book {
    /// Takes over what a decision changed; the next command of the batch sees it.
    pub fn apply(&mut self, changes: Changes) {
        for attempt in changes.attempts.values() {
            if let Some(left) = self.attempts.peek(&attempt.key).and_then(Attempt::ready_key) {
                self.ready.remove(&left);
            }
            self.ready.extend(attempt.ready_key());
        }
        for run in changes.runs.values() {
            self.triggers.extend(run.trigger_key.clone().map(|key| ((run.tenant, key), run.id)));
            if let Some(runs) = run.group_id().and_then(|group| self.group_runs.get_mut(&group)) {
                runs.insert(run.id);
            }
        }
        for job in changes.jobs.values() {
            self.job_keys.extend(job.key.clone().map(|key| ((job.tenant, key), job.id)));
            if let Some(succeeded) = job.run.and_then(|run| self.succeeded.get_mut(&run))
                && job.state == job::State::Succeeded
            {
                succeeded.insert(job.name.clone(), job.id);
            }
        }
        for tenant in changes.tenants.values() {
            self.tenant_names.insert(tenant.name.clone(), tenant.id);
        }
        for blob in changes.blobs.values() {
            if blob.is_here() {
                self.blobs_here.insert(blob.digest, blob.id);
            } else if self.blobs_here.get(&blob.digest) == Some(&blob.id) {
                self.blobs_here.remove(&blob.digest);
            }
        }
        for possession in changes.possessions.values() {
            self.possessors.entry(possession.blob).or_default().insert(possession.key.tenant);
        }
        for version in changes.versions.values() {
            self.version_names.insert(version.name.clone(), version.id);
        }
        self.specs.extend(changes.appended.specs.iter().cloned());
        self.plans.extend(changes.appended.plans.iter().cloned());
        self.put_all(changes);
    }
}

macro_rules! kept {
    ($($record:ty, $key:ty, $shelf:ident, |$it:ident| $key_of:expr;)+) => {$(
        impl Kept for $record {
            type Key = $key;
            fn key(&self) -> $key { let $it = self; $key_of }
            fn shelf(book: &Book) -> &Shelf<Self> { &book.$shelf }
            fn shelf_mut(book: &mut Book) -> &mut Shelf<Self> { &mut book.$shelf }
            fn changed(changes: &Changes) -> &Changed<Self> { &changes.$shelf }
            fn changed_mut(changes: &mut Changes) -> &mut Changed<Self> { &mut changes.$shelf }
        }
    )+

        impl Book {
            fn put_all(&mut self, changes: Changes) {
                $( changes.$shelf.into_shared().for_each(|record| self.$shelf.put(record)); )+
                self.appended.extend(changes.appended);
            }

            /// Nothing to write.
            pub fn is_unchanged(&self) -> bool {
                self.appended == Appended::default() $( && self.$shelf.writes().next().is_none() )+
            }
        }
    };
}

kept! {
    Tenant, TenantId, tenants, |it| it.id;
    Run, RunId, runs, |it| it.id;
    Job, JobId, jobs, |it| it.id;
    Attempt, AttemptKey, attempts, |it| it.key;
    Execution, ExecId, executions, |it| it.id;
    Runner, RunnerKey, runners, |it| it.key.clone();
    Queue, QueueId, queues, |it| it.id;
    Delivery, MessageId, deliveries, |it| it.id;
    Webhook, WebhookKey, webhooks, |it| it.key.clone();
    Token, TokenId, tokens, |it| it.id;
    Log, ExecId, logs, |it| it.execution;
    Upload, UploadId, uploads, |it| it.id;
    Blob, BlobId, blobs, |it| it.id;
    Possession, PossessionKey, possessions, |it| it.key;
    Usage, TenantId, usages, |it| it.tenant;
    Version, VersionId, versions, |it| it.id;
    Bundle, ExecId, bundles, |it| it.execution;
    Cache, CacheName, caches, |it| it.name.clone();
    Collection, CollectionId, collections, |it| it.id;
    Collector, (), collector, |_it| ();
    Group, GroupId, groups, |it| it.id;
}
