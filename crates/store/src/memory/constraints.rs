//! The constraints that the databases enforce by unique indexes and triggers, on the tables as they would be.

use std::collections::BTreeSet;

use decisions::Book;
use decisions::records::{AttemptKey, Execution, Tenant};
use wire::JobId;

use super::tables::Tables;
use crate::StoreError;

impl Tables {
    pub fn check_constraints(&self, book: &Book) -> Result<(), StoreError> {
        let taken = |taken: bool, by: &str| if taken { Err(StoreError::Conflict(by.into())) } else { Ok(()) };
        for (before, tenant) in book.tenants.writes() {
            let has_name = |known: &Tenant| known.name == tenant.name;
            taken(before.is_none() && self.tenants.all().any(has_name), "tenants_name_key")?;
        }
        for (before, run) in book.runs.writes() {
            let key = run.trigger_key.clone().map(|key| (run.tenant, key));
            taken(
                before.is_none() && key.is_some_and(|key| self.triggers.contains_key(&key)),
                "runs_trigger",
            )?;
        }
        for (before, job) in book.jobs.writes() {
            let key = job.key.clone().map(|key| (job.tenant, key));
            taken(before.is_none() && key.is_some_and(|key| self.job_keys.contains_key(&key)), "jobs_key")?;
        }
        let written: BTreeSet<JobId> =
            book.executions.writes().map(|(_, execution)| execution.job()).collect();
        for job in written {
            self.check_executions(book, job)?;
        }
        self.check_artifacts(book)
    }

    fn check_executions(&self, book: &Book, job: JobId) -> Result<(), StoreError> {
        let stored = self.executions_of(job).filter(|it| !book.executions.has(&it.id));
        let changed = book.executions.peek_all().filter(|it| it.job() == job);
        let all: Vec<&Execution> = stored.chain(changed).collect();
        if all.iter().filter(|it| it.status.get().has_committed()).count() > 1 {
            return Err(StoreError::Violation("executions_committed".into()));
        }
        let live: Vec<AttemptKey> =
            all.iter().filter(|it| it.lease.get().is_live()).map(|it| it.attempt).collect();
        if live.iter().collect::<BTreeSet<_>>().len() < live.len() {
            return Err(StoreError::Violation("executions_live".into()));
        }
        if all.iter().map(|it| it.token).collect::<BTreeSet<_>>().len() < all.len() {
            return Err(StoreError::Violation("executions_token".into()));
        }
        Ok(())
    }
}
