//! What a load need not read: records that this process wrote last, whether they are on disk or still on their way.
//!
//! Only the loader uses it. Books that are on their way come first, the newest before the others; behind them
//! is what was committed. Whether all this holds, the writer finds out before it writes: should a book on its way fail, or
//! another process write to the file, every batch that was decided on it is a conflict.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use decisions::Book;
use decisions::book::Kept;
use decisions::records::{
    Attempt, AttemptKey, Execution, Job, Log, ReadyKey, Run, Runner, RunnerKey, Tenant,
};
use wire::{BlobId, Digest, ExecId, JobId, RunId, TenantId};

use crate::remembered::{Memorable, Remembered, SPEC_BYTES_MAX};

#[derive(Default)]
pub struct Known {
    flying: VecDeque<Arc<Book>>,
    committed: Committed,
    /// Goes up when what was known turned out to be wrong.
    generation: u64,
}

#[derive(Default)]
pub struct Committed {
    tenants: Remembered<TenantId, Arc<Tenant>>,
    jobs: Remembered<JobId, Arc<Job>>,
    attempts: Remembered<AttemptKey, Arc<Attempt>>,
    executions: Remembered<ExecId, Arc<Execution>>,
    runs: Remembered<RunId, Arc<Run>>,
    runners: Remembered<RunnerKey, Arc<Runner>>,
    logs: Remembered<ExecId, Arc<Log>>,
    specs: Remembered<JobId, Arc<str>>,
}

/// A kind of record that is remembered after its commit.
pub trait Recalled: Kept<Key: Hash + Eq> + Memorable {
    fn recalled(committed: &Committed) -> &Remembered<Self::Key, Arc<Self>>;
    fn recalled_mut(committed: &mut Committed) -> &mut Remembered<Self::Key, Arc<Self>>;
}

macro_rules! recalled {
    ($($record:ty, $field:ident;)+) => {$(
        impl Recalled for $record {
            fn recalled(committed: &Committed) -> &Remembered<Self::Key, Arc<Self>> { &committed.$field }
            fn recalled_mut(committed: &mut Committed) -> &mut Remembered<Self::Key, Arc<Self>> {
                &mut committed.$field
            }
        }
    )+};
}

recalled! {
    Tenant, tenants;
    Job, jobs;
    Attempt, attempts;
    Execution, executions;
    Run, runs;
    Runner, runners;
    Log, logs;
}

/// What became of the oldest book on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    Durable,
    NotWritten,
    /// Somebody else has written to the file.
    Foreign,
}

/// How the books on their way change the queues.
#[derive(Debug, Default)]
pub struct QueueMoves {
    pub left: BTreeSet<ReadyKey>,
    pub entered: BTreeSet<ReadyKey>,
}

/// How the books on their way change which blob is here.
#[derive(Debug, Default)]
pub struct BlobMoves {
    pub here: BTreeMap<Digest, BlobId>,
    pub gone: BTreeSet<BlobId>,
}

impl Known {
    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub fn nothing_is_flying(&self) -> bool {
        self.flying.is_empty()
    }

    pub fn took_off(&mut self, book: Arc<Book>) {
        self.flying.push_back(book);
    }

    /// Word of a generation that was given up already changes nothing.
    pub fn landed(&mut self, generation: u64, landing: Landing) {
        if generation != self.generation {
            return;
        }
        match landing {
            Landing::Durable => {
                let book = self.flying.pop_front().expect("only what took off lands");
                self.committed.keep(&book);
            }
            Landing::NotWritten => self.give_up(),
            Landing::Foreign => {
                self.committed = Committed::default();
                self.give_up();
            }
        }
    }

    fn give_up(&mut self) {
        self.flying.clear();
        self.generation += 1;
    }

    fn newest<'a, T>(&'a self, find: impl Fn(&'a Book) -> Option<T>) -> Option<T> {
        self.flying.iter().rev().find_map(|book| find(book))
    }

    pub fn recall<R: Recalled>(&self, key: &R::Key) -> Option<&Arc<R>> {
        self.flying(key).or_else(|| R::recalled(&self.committed).get(key))
    }

    /// As a book on its way leaves it.
    pub fn flying<R: Kept>(&self, key: &R::Key) -> Option<&Arc<R>> {
        self.newest(|book| R::shelf(book).written_at(key))
    }

    /// All records of a kind that are on their way; of one that several books write, the newest comes first.
    pub fn all_flying<R: Kept>(&self) -> impl Iterator<Item = &Arc<R>> {
        self.flying.iter().rev().flat_map(|book| R::shelf(book).written())
    }

    pub fn spec(&self, job: JobId) -> Option<&Arc<str>> {
        self.newest(|book| book.specs.get(&job)).or_else(|| self.committed.specs.get(&job))
    }

    pub fn plan(&self, run: RunId) -> Option<&Arc<str>> {
        self.newest(|book| book.plans.get(&run))
    }

    pub fn tenant_named(&self, name: &str) -> Option<TenantId> {
        self.newest(|book| book.tenant_names.get(name)).copied()
    }

    pub fn run_triggered(&self, key: &(TenantId, String)) -> Option<RunId> {
        self.newest(|book| book.triggers.get(key)).copied()
    }

    pub fn job_keyed(&self, key: &(TenantId, String)) -> Option<JobId> {
        self.newest(|book| book.job_keys.get(key)).copied()
    }

    pub fn queue_moves(&self) -> QueueMoves {
        let mut moves = QueueMoves::default();
        for (before, now) in self.flying.iter().flat_map(|book| book.attempts.writes()) {
            let (left, entered) = (before.and_then(Attempt::ready_key), now.ready_key());
            if left == entered {
                continue;
            }
            if let Some(key) = left {
                moves.entered.remove(&key);
                moves.left.insert(key);
            }
            if let Some(key) = entered {
                moves.left.remove(&key);
                moves.entered.insert(key);
            }
        }
        moves
    }
}

impl Known {
    /// Over all books on their way, the newest last.
    pub fn blob_moves(&self) -> BlobMoves {
        let mut moves = BlobMoves::default();
        for blob in self.flying.iter().flat_map(|book| book.blobs.written()) {
            if blob.is_here() {
                moves.here.insert(blob.digest, blob.id);
                continue;
            }
            moves.gone.insert(blob.id);
            if moves.here.get(&blob.digest) == Some(&blob.id) {
                moves.here.remove(&blob.digest);
            }
        }
        moves
    }
}

impl Committed {
    fn keep(&mut self, book: &Book) {
        self.keep_written::<Tenant>(book);
        self.keep_written::<Job>(book);
        self.keep_written::<Attempt>(book);
        self.keep_written::<Execution>(book);
        self.keep_written::<Run>(book);
        self.keep_written::<Runner>(book);
        self.keep_written::<Log>(book);
        for (job, spec) in book.appended.specs.iter().filter(|(_, spec)| spec.len() <= SPEC_BYTES_MAX) {
            self.specs.keep(*job, spec.clone());
        }
        for job in book.jobs.written().filter(|job| job.is_over()) {
            self.specs.forget(&job.id);
        }
    }

    fn keep_written<R: Recalled>(&mut self, book: &Book) {
        for record in R::shelf(book).written() {
            let recalled = R::recalled_mut(self);
            match record.is_over() {
                true => recalled.forget(&record.key()),
                false => recalled.keep(record.key(), record.clone()),
            }
        }
    }
}
