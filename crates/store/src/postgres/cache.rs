//! Records as this process last wrote them, so that a job's next message need not read them again; and as it last found
//! them, tenants, subscribers and runners, whom every message names and hardly any writes.
//!
//! Every save of every server moves one counter in the database. As long as it stands where our own last save left it,
//! nobody else has written, and what we wrote is what is there. A load looks at it after its last answer, or in its snapshot.
//!
//! A server that took over from another may lack our last saves and count them again with other contents; but then we
//! have connected anew, and a new connection makes us forget.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;

use decisions::Book;
use decisions::book::{Kept, Shelf};
use decisions::records::{
    Attempt, AttemptKey, Execution, Job, Log, QueueId, Run, Runner, RunnerKey, Tenant, Upload, Webhook,
};
use wire::{ExecId, JobId, RunId, TenantId, UploadId};

use crate::postgres::rows::Version;
use crate::remembered::{Memorable, Remembered, SPEC_BYTES_MAX};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Save {
    pub number: i64,
    pub version: Version,
}

/// What a load read from the tables and others will ask for, too.
#[derive(Debug, Default)]
pub struct Found {
    pub tenants: Vec<(Version, Arc<Tenant>)>,
    /// Of each tenant that was asked about, also if it has none.
    pub webhooks: BTreeMap<TenantId, Vec<(Version, Arc<Webhook>)>>,
    pub runners: Vec<(Version, Arc<Runner>)>,
}

#[derive(Debug, Default)]
pub struct Cache {
    /// Connections that had been made when this began.
    connections: u64,
    /// The last save that is in here, and with it everything before. None until we have saved something.
    last: Option<Save>,
    /// Nobody else saved between our last save and the one before.
    is_alone: bool,
    pub tenants: Remembered<TenantId, (Version, Arc<Tenant>)>,
    /// All of a tenant, or nothing.
    pub webhooks: Remembered<TenantId, Vec<(Version, Arc<Webhook>)>>,
    /// Those that are there; none is ever removed.
    queues: Remembered<QueueId, ()>,
    pub runs: Remembered<RunId, (Version, Arc<Run>)>,
    pub jobs: Remembered<JobId, (Version, Arc<Job>)>,
    pub attempts: Remembered<AttemptKey, (Version, Arc<Attempt>)>,
    pub executions: Remembered<ExecId, (Version, Arc<Execution>)>,
    pub runners: Remembered<RunnerKey, (Version, Arc<Runner>)>,
    pub logs: Remembered<ExecId, (Version, Arc<Log>)>,
    pub uploads: Remembered<UploadId, (Version, Arc<Upload>)>,
    pub specs: Remembered<JobId, Arc<str>>,
}

impl<R: Kept<Key: Hash> + Memorable> Remembered<R::Key, (Version, Arc<R>)> {
    fn keep_versions(&mut self, shelf: &Shelf<R>, version: Version) {
        for record in shelf.written() {
            match record.is_over() {
                true => self.forget(&record.key()),
                false => self.keep(record.key(), (version, record.clone())),
            }
        }
    }
}

impl Cache {
    /// The last save that everything in here agrees with.
    pub fn last(&self) -> Option<Save> {
        self.last
    }

    /// Whether it is likely that nobody else has saved since.
    pub fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// So many connections have been made by now.
    pub fn connected(&mut self, connections: u64) {
        if self.connections != connections {
            *self = Cache { connections, ..Cache::default() };
        }
    }

    /// A save of ours has succeeded.
    pub fn saved(&mut self, save: Save, book: &Book) {
        let last = self.last.map(|last| last.number);
        if last.is_some_and(|last| last >= save.number) {
            return; // another session of ours was saved later and noted earlier
        }
        let is_alone = last == Some(save.number - 1);
        if !is_alone {
            self.forget(); // in between are saves that we know nothing of
        }
        self.is_alone = is_alone;
        self.last = Some(save);
        self.tenants.keep_versions(&book.tenants, save.version);
        for webhook in book.webhooks.written() {
            self.webhooks.forget(&webhook.key.tenant);
        }
        for (_, queue) in book.queues.writes() {
            self.queues.keep(queue.id, ());
        }
        self.runs.keep_versions(&book.runs, save.version);
        self.jobs.keep_versions(&book.jobs, save.version);
        self.attempts.keep_versions(&book.attempts, save.version);
        self.executions.keep_versions(&book.executions, save.version);
        self.runners.keep_versions(&book.runners, save.version);
        self.logs.keep_versions(&book.logs, save.version);
        self.uploads.keep_versions(&book.uploads, save.version);
        for (job, spec) in &book.appended.specs {
            if spec.len() <= SPEC_BYTES_MAX {
                self.specs.keep(*job, spec.clone());
            }
        }
        for job in book.jobs.written().filter(|job| job.is_over()) {
            self.specs.forget(&job.id);
        }
    }

    /// A load has found these as of a save; if that is still the last, nobody has changed them.
    pub fn loaded(&mut self, as_of: Save, found: Found) {
        if self.last != Some(as_of) {
            return;
        }
        for (version, tenant) in found.tenants {
            self.tenants.keep(tenant.id, (version, tenant));
        }
        for (tenant, webhooks) in found.webhooks {
            self.webhooks.keep(tenant, webhooks);
        }
        for (version, runner) in found.runners {
            self.runners.keep(runner.key(), (version, runner));
        }
    }

    pub fn has_queue(&self, id: QueueId) -> bool {
        self.queues.get(&id).is_some()
    }

    /// A save has failed: perhaps because something here is not as we believe.
    pub fn forget(&mut self) {
        *self = Cache { connections: self.connections, ..Cache::default() };
    }
}
