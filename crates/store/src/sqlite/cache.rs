//! Records as this process last committed them, so that a job's next message need not read them again.
//!
//! Only the writer's thread uses it, inside its transaction. It holds what was committed, never what was only written,
//! and it is emptied when another process has written to the file.

use std::hash::Hash;
use std::sync::Arc;

use decisions::Book;
use decisions::book::{Kept, Shelf};
use decisions::records::{Attempt, AttemptKey, Execution, Job, Log, Run, Runner, RunnerKey};
use rusqlite::Connection;
use wire::{ExecId, JobId, RunId};

use crate::remembered::{Remembered, SPEC_BYTES_MAX};

#[derive(Default)]
pub struct Cache {
    data_version: i64,
    pub jobs: Remembered<JobId, Job>,
    pub attempts: Remembered<AttemptKey, Attempt>,
    pub executions: Remembered<ExecId, Execution>,
    pub runs: Remembered<RunId, Run>,
    pub runners: Remembered<RunnerKey, Runner>,
    pub logs: Remembered<ExecId, Log>,
    pub specs: Remembered<JobId, Arc<str>>,
}

impl<R: Kept<Key: Hash + Eq>> Remembered<R::Key, R> {
    fn keep_written(&mut self, shelf: &Shelf<R>) {
        for (_, record) in shelf.writes() {
            self.keep(record.key(), record.clone());
        }
    }
}

impl Cache {
    /// To be called inside the write transaction: from here to its end nobody else can write.
    pub fn refresh(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        // Changes when another connection commits, not when this one does.
        let version = connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if version != self.data_version {
            *self = Cache { data_version: version, ..Cache::default() };
        }
        Ok(())
    }

    /// The book is durable now.
    pub fn committed(&mut self, book: &Book) {
        self.jobs.keep_written(&book.jobs);
        self.attempts.keep_written(&book.attempts);
        self.executions.keep_written(&book.executions);
        self.runs.keep_written(&book.runs);
        self.runners.keep_written(&book.runners);
        self.logs.keep_written(&book.logs);
        for (job, spec) in book.appended.specs.iter().filter(|(_, spec)| spec.len() <= SPEC_BYTES_MAX) {
            self.specs.keep(*job, spec.clone());
        }
    }
}
