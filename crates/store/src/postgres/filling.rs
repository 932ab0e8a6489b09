//! The book while it is being filled: what becomes of each row, and what else it shows to be needed.

use std::collections::BTreeSet;

use decisions::Book;
use decisions::records::{Attempt, Delivery, Execution, Job, Run, Runner, Tenant, Webhook};
use wire::{ExecId, JobId, RunId, RunnerId, TenantId, Time};

use crate::StoreError;
use crate::postgres::rows::Cells;
use crate::postgres::tables::{Versions, seen, width};

#[derive(Default)]
pub struct Filling {
    pub book: Book,
    pub versions: Versions,
    pub now: Option<Time>,
    /// Needed, as far as is known.
    pub members: BTreeSet<Member>,
    pub runs: BTreeSet<RunId>,
    pub runners: BTreeSet<RunnerId>,
    pub specs: BTreeSet<JobId>,
}

/// Whose family is needed. For an execution that includes its own attempt, which need not be the latest; the execution
/// itself is in the book and is not read again.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    pub job: JobId,
    pub own_attempt: Option<u32>,
    pub execution: Option<ExecId>,
}

impl Member {
    pub fn of(job: JobId) -> Member {
        Member { job, own_attempt: None, execution: None }
    }
}

/// One method per question: it takes a row.
impl Filling {
    pub fn nothing(&mut self, _: &mut Cells<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    pub fn clock(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.now = Some(cells.next()?);
        Ok(())
    }

    pub fn execution(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, execution): (_, Execution) = seen(cells)?;
        let own_attempt = Some(execution.attempt.index);
        self.members.insert(Member { job: execution.job(), own_attempt, execution: Some(execution.id) });
        self.runs.extend(execution.run);
        self.runners.insert(execution.runner.clone());
        self.versions.bring(&mut self.book, (version, execution));
        Ok(())
    }

    pub fn job_key(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (tenant, key, job): (TenantId, String, JobId) = (cells.next()?, cells.next()?, cells.next()?);
        self.book.job_keys.insert((tenant, key), job);
        self.members.insert(Member::of(job));
        Ok(())
    }

    pub fn trigger(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, run): (_, Run) = seen(cells)?;
        self.book.triggers.extend(run.trigger_key.clone().map(|key| ((run.tenant, key), run.id)));
        self.versions.bring(&mut self.book, (version, run));
        Ok(())
    }

    pub fn tenant(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.versions.bring::<Tenant>(&mut self.book, seen(cells)?);
        Ok(())
    }

    pub fn tenant_name(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, tenant): (_, Tenant) = seen(cells)?;
        self.book.tenant_names.insert(tenant.name.clone(), tenant.id);
        self.versions.bring(&mut self.book, (version, tenant));
        Ok(())
    }

    pub fn run(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.versions.bring::<Run>(&mut self.book, seen(cells)?);
        Ok(())
    }

    pub fn runner(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.versions.bring::<Runner>(&mut self.book, seen(cells)?);
        Ok(())
    }

    pub fn delivery(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, delivery): (_, Delivery) = seen(cells)?;
        self.runs.extend(delivery.reports);
        self.versions.bring(&mut self.book, (version, delivery));
        Ok(())
    }

    pub fn webhook(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.versions.bring::<Webhook>(&mut self.book, seen(cells)?);
        Ok(())
    }

    pub fn plan(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let run = cells.next()?;
        self.book.plans.insert(run, cells.raw::<&str>()?.into());
        Ok(())
    }

    pub fn spec(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let job = cells.next()?;
        self.book.specs.insert(job, cells.raw::<&str>()?.into());
        Ok(())
    }

    pub fn succeeded(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let run = cells.next()?;
        self.book.succeeded.insert(run, cells.raw::<Vec<String>>()?.into_iter().collect());
        Ok(())
    }

    pub fn sweep(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let run = cells.next()?;
        let jobs: Vec<JobId> = cells.ids()?;
        self.members.extend(jobs.iter().copied().map(Member::of));
        self.book.sweeps.insert(run, jobs);
        Ok(())
    }

    pub fn release(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let job = cells.next()?;
        let dependents: Vec<JobId> = cells.ids()?;
        self.members.extend(dependents.iter().copied().map(Member::of));
        self.book.dependents.insert(job, dependents);
        Ok(())
    }

    pub fn family(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, job): (_, Job) = seen(cells)?;
        self.runs.extend(job.run);
        self.versions.bring(&mut self.book, (version, job));
        self.versions.bring::<Attempt>(&mut self.book, seen(cells)?);
        if cells.is_null()? {
            cells.skip(width::<Execution>());
            return Ok(());
        }
        let (version, execution): (_, Execution) = seen(cells)?;
        self.versions.bring(&mut self.book, (version, execution));
        Ok(())
    }

    /// Whose webhooks may be told about something.
    pub fn tenants(&self) -> BTreeSet<TenantId> {
        let of_tenants = self.book.tenants.peek_all().map(|tenant| tenant.id);
        let of_runs = self.book.runs.peek_all().map(|run| run.tenant);
        let of_jobs = self.book.jobs.peek_all().map(|job| job.tenant);
        of_tenants.chain(of_runs).chain(of_jobs).collect()
    }
}
