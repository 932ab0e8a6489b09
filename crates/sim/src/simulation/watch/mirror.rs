//! The copy, and how a save goes into it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decisions::records::{
    Attempt, AttemptKey, Blob, Bundle, Collection, Delivery, EffectRow, Execution, Job, Log, LogChunk, Run,
    Upload, Version,
};
use decisions::{Book, Policy};
use machines::delivery;
use wire::{BlobId, CollectionId, ExecId, JobId, MessageId, RunId, Time, UploadId, VersionId};

use crate::history::Violation;
use crate::simulation::disk::Disk;
use crate::simulation::trace::of_text;

/// What a save writes.
#[derive(Debug, Default)]
pub struct Written {
    pub runs: Vec<Arc<Run>>,
    pub jobs: Vec<Arc<Job>>,
    pub attempts: Vec<Arc<Attempt>>,
    pub executions: Vec<Arc<Execution>>,
    pub deliveries: Vec<Arc<Delivery>>,
    pub logs: Vec<Arc<Log>>,
    pub uploads: Vec<Arc<Upload>>,
    pub blobs: Vec<Arc<Blob>>,
    pub versions: Vec<Arc<Version>>,
    pub bundles: Vec<Arc<Bundle>>,
    pub collections: Vec<Arc<Collection>>,
    pub chunks: Vec<LogChunk>,
    pub effects: Vec<EffectRow>,
    /// Machine, state and event.
    steps: Vec<(&'static str, &'static str, &'static str)>,
}

impl Written {
    pub fn of(book: &Book) -> Written {
        let steps = book.appended.transitions.iter();
        Written {
            runs: book.runs.written().cloned().collect(),
            jobs: book.jobs.written().cloned().collect(),
            attempts: book.attempts.written().cloned().collect(),
            executions: book.executions.written().cloned().collect(),
            deliveries: book.deliveries.written().cloned().collect(),
            logs: book.logs.written().cloned().collect(),
            uploads: book.uploads.written().cloned().collect(),
            blobs: book.blobs.written().cloned().collect(),
            versions: book.versions.written().cloned().collect(),
            bundles: book.bundles.written().cloned().collect(),
            collections: book.collections.written().cloned().collect(),
            chunks: book.appended.log_chunks.clone(),
            effects: book.appended.effects.clone(),
            steps: steps.map(|it| (it.machine, it.from.unwrap_or_default(), it.event)).collect(),
        }
    }

    pub fn in_short(&self) -> String {
        let steps: Vec<String> =
            self.steps.iter().map(|(machine, from, event)| format!("{machine} {from}+{event}")).collect();
        if steps.is_empty() { "something small".into() } else { steps.join(", ") }
    }

    /// For the trace.
    pub fn number(&self) -> u64 {
        let steps = self.steps.iter().fold(0_u64, |sum, (machine, from, event)| {
            sum.rotate_left(7)
                ^ of_text(machine)
                ^ of_text(from).rotate_left(1)
                ^ of_text(event).rotate_left(2)
        });
        let records = self.jobs.len() + self.executions.len() * 3 + self.deliveries.len() * 7;
        steps ^ (records as u64) << 40 ^ (self.blobs.len() as u64) << 50 ^ (self.chunks.len() as u64) << 55
    }
}

pub struct Watch {
    pub policy: Policy,
    pub runs: BTreeMap<RunId, Arc<Run>>,
    pub jobs: BTreeMap<JobId, Arc<Job>>,
    pub attempts: BTreeMap<AttemptKey, Arc<Attempt>>,
    pub executions: BTreeMap<ExecId, Arc<Execution>>,
    pub deliveries: BTreeMap<MessageId, Arc<Delivery>>,
    pub logs: BTreeMap<ExecId, Arc<Log>>,
    pub uploads: BTreeMap<UploadId, Arc<Upload>>,
    pub blobs: BTreeMap<BlobId, Arc<Blob>>,
    pub versions: BTreeMap<VersionId, Arc<Version>>,
    pub bundles: BTreeMap<ExecId, Arc<Bundle>>,
    pub collections: BTreeMap<CollectionId, Arc<Collection>>,
    pub(super) executions_of: BTreeMap<JobId, Vec<ExecId>>,
    pub(super) jobs_of: BTreeMap<RunId, BTreeSet<JobId>>,
    /// Until when bytes were promised to somebody.
    pub(super) promises: BTreeMap<BlobId, Time>,
    /// Dead letters, also those that were sent again.
    pub(super) dead: BTreeSet<MessageId>,
    /// How many subscribers each event has.
    pub subscribers: BTreeMap<&'static str, usize>,
    /// How often each row of each machine was taken.
    pub steps: BTreeMap<(&'static str, &'static str, &'static str), u64>,
    pub violations: Vec<Violation>,
}

/// One is enough to know; more of the same only take room.
const VIOLATIONS_MAX: usize = 50;

impl Watch {
    pub fn new(policy: Policy) -> Watch {
        Watch {
            policy,
            runs: BTreeMap::new(),
            jobs: BTreeMap::new(),
            attempts: BTreeMap::new(),
            executions: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            logs: BTreeMap::new(),
            uploads: BTreeMap::new(),
            blobs: BTreeMap::new(),
            versions: BTreeMap::new(),
            bundles: BTreeMap::new(),
            collections: BTreeMap::new(),
            executions_of: BTreeMap::new(),
            jobs_of: BTreeMap::new(),
            promises: BTreeMap::new(),
            dead: BTreeSet::new(),
            subscribers: BTreeMap::new(),
            steps: BTreeMap::new(),
            violations: Vec::new(),
        }
    }

    pub fn broke(&mut self, rule: &'static str, what: impl Into<String>) {
        if self.violations.len() < VIOLATIONS_MAX {
            self.violations.push(Violation::new(rule, what));
        }
    }

    /// A save went through. First it is held against what was there, then it is there.
    pub fn wrote(&mut self, written: Written, decided_at: Time, disk: &Disk) {
        self.before_work(&written, decided_at);
        self.before_told(&written);
        self.before_bytes(&written, decided_at, disk);
        self.apply(&written);
        self.after_work(&written);
        self.after_bytes(&written, disk);
    }

    fn apply(&mut self, written: &Written) {
        for step in &written.steps {
            *self.steps.entry(*step).or_default() += 1;
        }
        for it in &written.executions {
            let of_job = self.executions_of.entry(it.job()).or_default();
            if !of_job.contains(&it.id) {
                of_job.push(it.id);
            }
        }
        for it in &written.jobs {
            if let Some(run) = it.run {
                self.jobs_of.entry(run).or_default().insert(it.id);
            }
        }
        for it in &written.deliveries {
            if it.state.get() == delivery::State::DeadLetter {
                self.dead.insert(it.id);
            }
        }
        self.runs.extend(written.runs.iter().map(|it| (it.id, it.clone())));
        self.jobs.extend(written.jobs.iter().map(|it| (it.id, it.clone())));
        self.attempts.extend(written.attempts.iter().map(|it| (it.key, it.clone())));
        self.executions.extend(written.executions.iter().map(|it| (it.id, it.clone())));
        self.deliveries.extend(written.deliveries.iter().map(|it| (it.id, it.clone())));
        self.logs.extend(written.logs.iter().map(|it| (it.execution, it.clone())));
        self.uploads.extend(written.uploads.iter().map(|it| (it.id, it.clone())));
        self.blobs.extend(written.blobs.iter().map(|it| (it.id, it.clone())));
        self.versions.extend(written.versions.iter().map(|it| (it.id, it.clone())));
        self.bundles.extend(written.bundles.iter().map(|it| (it.execution, it.clone())));
        self.collections.extend(written.collections.iter().map(|it| (it.id, it.clone())));
    }
}
