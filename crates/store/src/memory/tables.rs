//! The tables: records by key, each with a version, and what follows from them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decisions::Book;
use decisions::book::{Kept, Shelf};
use decisions::records::{
    Attempt, AttemptKey, Blob, Bundle, Cache, CacheName, Collection, Collector, Delivery, EffectRow, Event,
    Execution, Group, GroupId, Job, LaneKey, Log, Possession, PossessionKey, Queue, ReadyKey, Run, Runner,
    Tenant, Token, Transition, Upload, Usage, Version, VersionName, Webhook, WebhookKey,
};
use wire::{
    BlobId, CollectionId, Digest, ExecId, JobId, MessageId, RunId, TenantId, TokenId, UploadId, VersionId,
};

use super::outbox::OpenLane;
use crate::StoreError;

/// One kind of record, each with the number of times it was written.
#[derive(Debug, Clone)]
pub struct Table<R: Kept>(pub BTreeMap<R::Key, (u64, R)>);

impl<R: Kept> Default for Table<R> {
    fn default() -> Self {
        Table(BTreeMap::new())
    }
}

impl<R: Kept> Table<R> {
    pub fn get(&self, key: &R::Key) -> Option<&R> {
        self.0.get(key).map(|(_, record)| record)
    }

    pub fn all(&self) -> impl Iterator<Item = &R> {
        self.0.values().map(|(_, record)| record)
    }

    pub fn bring(&self, key: &R::Key, shelf: &mut Shelf<R>, seen: &mut BTreeMap<R::Key, u64>) {
        if let Some((version, record)) = self.0.get(key) {
            seen.insert(key.clone(), *version);
            shelf.bring(record.clone());
        }
    }

    /// What was read or is to be overwritten is still as it was seen, and what is new is still absent.
    pub fn check(&self, shelf: &Shelf<R>, seen: &BTreeMap<R::Key, u64>) -> Result<(), StoreError> {
        let touched = shelf.reads().chain(shelf.writes().map(|(_, record)| record));
        for record in touched {
            let key = record.key();
            let version = self.0.get(&key).map(|(version, _)| version);
            if version != seen.get(&key) {
                return Err(StoreError::Conflict(std::any::type_name::<R>().into()));
            }
        }
        Ok(())
    }

    pub fn write(&mut self, shelf: &Shelf<R>) {
        for (_, record) in shelf.writes() {
            let slot = self.0.entry(record.key()).or_insert_with(|| (0, record.clone()));
            *slot = (slot.0 + 1, record.clone());
        }
    }
}

/// The versions a session saw.
#[derive(Debug, Default)]
pub struct Seen {
    pub tenants: BTreeMap<<Tenant as Kept>::Key, u64>,
    pub runs: BTreeMap<RunId, u64>,
    pub jobs: BTreeMap<JobId, u64>,
    pub attempts: BTreeMap<AttemptKey, u64>,
    pub executions: BTreeMap<ExecId, u64>,
    pub runners: BTreeMap<<Runner as Kept>::Key, u64>,
    pub deliveries: BTreeMap<MessageId, u64>,
    pub webhooks: BTreeMap<WebhookKey, u64>,
    pub tokens: BTreeMap<TokenId, u64>,
    pub logs: BTreeMap<ExecId, u64>,
    pub uploads: BTreeMap<UploadId, u64>,
    pub blobs: BTreeMap<BlobId, u64>,
    pub possessions: BTreeMap<PossessionKey, u64>,
    pub usages: BTreeMap<TenantId, u64>,
    pub versions: BTreeMap<VersionId, u64>,
    pub bundles: BTreeMap<ExecId, u64>,
    pub caches: BTreeMap<CacheName, u64>,
    pub collections: BTreeMap<CollectionId, u64>,
    pub collector: BTreeMap<(), u64>,
    pub groups: BTreeMap<GroupId, u64>,
}

#[derive(Debug, Default, Clone)]
pub struct Tables {
    pub tenants: Table<Tenant>,
    pub runs: Table<Run>,
    pub jobs: Table<Job>,
    pub attempts: Table<Attempt>,
    pub executions: Table<Execution>,
    pub runners: Table<Runner>,
    pub queues: Table<Queue>,
    pub deliveries: Table<Delivery>,
    pub webhooks: Table<Webhook>,
    pub tokens: Table<Token>,
    pub logs: Table<Log>,
    pub uploads: Table<Upload>,
    pub blobs: Table<Blob>,
    pub possessions: Table<Possession>,
    pub usages: Table<Usage>,
    pub versions: Table<Version>,
    pub bundles: Table<Bundle>,
    pub caches: Table<Cache>,
    pub collections: Table<Collection>,
    pub collector: Table<Collector>,
    pub groups: Table<Group>,
    pub log_chunks: BTreeMap<(ExecId, u64), Arc<[u8]>>,
    pub blob_bytes: BTreeMap<BlobId, Arc<[u8]>>,
    pub by_job: BTreeSet<(JobId, ExecId)>,
    pub triggers: BTreeMap<(TenantId, String), RunId>,
    pub job_keys: BTreeMap<(TenantId, String), JobId>,
    pub ready: BTreeSet<ReadyKey>,
    pub open_deliveries: BTreeMap<LaneKey, OpenLane>,
    pub blobs_here: BTreeMap<Digest, BlobId>,
    pub version_names: BTreeMap<VersionName, VersionId>,
    pub specs: BTreeMap<JobId, Arc<str>>,
    pub plans: BTreeMap<RunId, Arc<str>>,
    pub needs: BTreeSet<(JobId, JobId)>,
    pub effects: Vec<EffectRow>,
    pub events: Vec<(String, Event)>,
}

impl Tables {
    pub fn check(&self, seen: &Seen, book: &Book) -> Result<(), StoreError> {
        self.tenants.check(&book.tenants, &seen.tenants)?;
        self.runs.check(&book.runs, &seen.runs)?;
        self.jobs.check(&book.jobs, &seen.jobs)?;
        self.attempts.check(&book.attempts, &seen.attempts)?;
        self.executions.check(&book.executions, &seen.executions)?;
        self.runners.check(&book.runners, &seen.runners)?;
        self.deliveries.check(&book.deliveries, &seen.deliveries)?;
        self.webhooks.check(&book.webhooks, &seen.webhooks)?;
        self.tokens.check(&book.tokens, &seen.tokens)?;
        self.logs.check(&book.logs, &seen.logs)?;
        self.uploads.check(&book.uploads, &seen.uploads)?;
        self.blobs.check(&book.blobs, &seen.blobs)?;
        self.possessions.check(&book.possessions, &seen.possessions)?;
        self.usages.check(&book.usages, &seen.usages)?;
        self.versions.check(&book.versions, &seen.versions)?;
        self.bundles.check(&book.bundles, &seen.bundles)?;
        self.caches.check(&book.caches, &seen.caches)?;
        self.collections.check(&book.collections, &seen.collections)?;
        self.collector.check(&book.collector, &seen.collector)?;
        self.groups.check(&book.groups, &seen.groups)
    }

    pub fn write(&mut self, book: &Book) {
        for (before, attempt) in book.attempts.writes() {
            if let Some(left) = before.and_then(Attempt::ready_key) {
                self.ready.remove(&left);
            }
            self.ready.extend(attempt.ready_key());
        }
        for (_, execution) in book.executions.writes() {
            self.by_job.insert((execution.job(), execution.id));
        }
        for (_, run) in book.runs.writes() {
            self.triggers.extend(run.trigger_key.clone().map(|key| ((run.tenant, key), run.id)));
        }
        for (_, job) in book.jobs.writes() {
            self.job_keys.extend(job.key.clone().map(|key| ((job.tenant, key), job.id)));
        }
        for (_, delivery) in book.deliveries.writes() {
            self.note_open(delivery);
        }
        for (_, blob) in book.blobs.writes() {
            if blob.is_here() {
                self.blobs_here.insert(blob.digest, blob.id);
            } else if self.blobs_here.get(&blob.digest) == Some(&blob.id) {
                self.blobs_here.remove(&blob.digest);
            }
        }
        for (_, version) in book.versions.writes() {
            self.version_names.insert(version.name.clone(), version.id);
        }
        self.tenants.write(&book.tenants);
        self.runs.write(&book.runs);
        self.jobs.write(&book.jobs);
        self.attempts.write(&book.attempts);
        self.executions.write(&book.executions);
        self.runners.write(&book.runners);
        self.queues.write(&book.queues);
        self.deliveries.write(&book.deliveries);
        self.webhooks.write(&book.webhooks);
        self.tokens.write(&book.tokens);
        self.logs.write(&book.logs);
        self.uploads.write(&book.uploads);
        self.blobs.write(&book.blobs);
        self.possessions.write(&book.possessions);
        self.usages.write(&book.usages);
        self.versions.write(&book.versions);
        self.bundles.write(&book.bundles);
        self.caches.write(&book.caches);
        self.collections.write(&book.collections);
        self.collector.write(&book.collector);
        self.groups.write(&book.groups);
        self.specs.extend(book.appended.specs.iter().cloned());
        self.plans.extend(book.appended.plans.iter().cloned());
        self.needs.extend(book.appended.needs.iter().copied());
        self.effects.extend(book.appended.effects.iter().cloned());
        for chunk in &book.appended.log_chunks {
            self.log_chunks.insert((chunk.execution, chunk.offset), chunk.bytes.clone());
        }
        book.appended.log_trims.iter().for_each(|trim| self.trim(trim));
        self.blob_bytes.extend(book.appended.blob_bytes.iter().map(|it| (it.blob, it.bytes.clone())));
        for gone in &book.appended.bytes_gone {
            self.blob_bytes.remove(gone);
        }
        for transition in &book.appended.transitions {
            self.log(transition);
        }
    }

    fn log(&mut self, transition: &Transition) {
        let event = Event {
            seq: self.events.len() as i64 + 1,
            at: transition.at,
            machine: transition.machine.into(),
            entity: transition.entity.to_string(),
            from: transition.from.map(Into::into),
            event: transition.event.into(),
            to: transition.to.into(),
            owner: transition.owner.as_str().into(),
            cause: transition.cause.to_string(),
        };
        self.events.push((transition.entity.root().as_str().to_owned(), event));
    }
}
