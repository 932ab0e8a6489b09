//! The book while it is being filled: what is still needed, and what becomes of each row.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use decisions::Book;
use decisions::records::{
    Attempt, Delivery, Execution, Group, GroupId, Job, Log, ReadyKey, Run, Runner, RunnerKey, Tenant, Token,
    Webhook,
};
use wire::{BlobId, Digest, ExecId, JobId, RunId, RunnerId, TenantId, UploadId};

use crate::StoreError;
use crate::postgres::cache::Found;
use crate::postgres::moment::Moment;
use crate::postgres::rows::{Cells, Version};
use crate::postgres::tables::{Versions, seen, width};
use crate::postgres::wanted::Wanted;

#[derive(Default)]
pub struct Filling {
    pub book: Book,
    pub versions: Versions,
    pub moment: Option<Moment>,
    pub needs: Needs,
    /// Read from the tables, not recalled.
    pub found: Found,
    /// Whose webhooks are in the book, or on their way.
    told: BTreeSet<TenantId>,
    /// Runners that hold leases of these jobs, of tenants that only the jobs will name.
    holders: BTreeMap<JobId, BTreeSet<RunnerId>>,
    /// Groups that only the runs will name.
    groups_of: BTreeMap<RunId, BTreeSet<Option<String>>>,
}

/// What is known to be needed and not in the book yet.
#[derive(Default)]
pub struct Needs {
    /// What only the asks themselves can name.
    pub wanted: Wanted,
    pub executions: BTreeSet<ExecId>,
    pub members: BTreeSet<Member>,
    pub runs: BTreeSet<RunId>,
    pub groups: BTreeSet<GroupId>,
    pub runners: BTreeSet<RunnerKey>,
    pub logs: BTreeSet<ExecId>,
    pub specs: BTreeSet<JobId>,
    pub webhooks: BTreeSet<TenantId>,
    pub uploads: BTreeSet<UploadId>,
    pub contents: BTreeSet<(TenantId, Digest)>,
    pub tenants: BTreeSet<TenantId>,
    pub blobs: BTreeSet<BlobId>,
}

/// Whose family is needed. For an execution that includes its own attempt, which need not be the latest; the execution
/// itself is in the book and is not read again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

impl Filling {
    pub fn with(mut wanted: Wanted) -> Filling {
        let mut filling = Filling::default();
        let needs = &mut filling.needs;
        needs.executions = std::mem::take(&mut wanted.executions);
        needs.members = std::mem::take(&mut wanted.jobs).into_iter().map(Member::of).collect();
        needs.runs = std::mem::take(&mut wanted.runs);
        needs.runners = std::mem::take(&mut wanted.runners);
        needs.logs = std::mem::take(&mut wanted.logs);
        needs.specs = std::mem::take(&mut wanted.specs);
        needs.uploads = std::mem::take(&mut wanted.uploads);
        needs.contents = std::mem::take(&mut wanted.contents);
        filling.groups_of = std::mem::take(&mut wanted.groups_of);
        for group in std::mem::take(&mut wanted.groups) {
            filling.need_group(group);
        }
        for tenant in &wanted.tenants {
            filling.may_be_told(*tenant);
        }
        filling.needs.wanted = wanted;
        filling
    }

    /// What may be leased, and what a lease needs to know of it.
    pub fn bring_candidates(&mut self, candidates: &BTreeSet<ReadyKey>) {
        for key in candidates {
            self.needs.members.insert(Member::of(key.attempt.job));
            self.needs.specs.insert(key.attempt.job);
            self.book.ready.insert(*key);
        }
    }

    /// Something about this tenant may happen: its subscribers are needed.
    pub fn may_be_told(&mut self, tenant: TenantId) {
        if self.told.insert(tenant) {
            self.needs.webhooks.insert(tenant);
        }
    }

    pub fn bring_execution(&mut self, (version, execution): (Version, Arc<Execution>)) {
        let own_attempt = Some(execution.attempt.index);
        self.needs.members.insert(Member {
            job: execution.job(),
            own_attempt,
            execution: Some(execution.id),
        });
        self.need_run(execution.run);
        self.need_runner_of(&execution);
        self.versions.bring(&mut self.book, (version, execution));
    }

    fn need_runner_of(&mut self, execution: &Execution) {
        let id = execution.runner.clone();
        if execution.runner_shared {
            return self.need_runner(RunnerKey { tenant: None, id });
        }
        match self.book.jobs.peek(&execution.job()).map(|job| job.tenant) {
            Some(tenant) => self.need_runner(execution.runner_key(tenant)),
            None => drop(self.holders.entry(execution.job()).or_default().insert(id)),
        }
    }

    fn need_runner(&mut self, key: RunnerKey) {
        if !self.book.runners.has(&key) {
            self.needs.runners.insert(key);
        }
    }

    pub fn bring_tenant(&mut self, (version, tenant): (Version, Arc<Tenant>)) {
        self.may_be_told(tenant.id);
        self.versions.bring(&mut self.book, (version, tenant));
    }

    pub fn bring_run(&mut self, (version, run): (Version, Arc<Run>)) {
        self.may_be_told(run.tenant);
        for name in self.groups_of.remove(&run.id).unwrap_or_default() {
            if let Some(group) = run.group_named(name.as_deref()) {
                self.need_group(group);
            }
        }
        self.versions.bring(&mut self.book, (version, run));
    }

    pub fn bring_job(&mut self, (version, job): (Version, Arc<Job>)) {
        self.may_be_told(job.tenant);
        self.need_run(job.run);
        for id in self.holders.remove(&job.id).unwrap_or_default() {
            self.need_runner(RunnerKey { tenant: Some(job.tenant), id });
        }
        self.versions.bring(&mut self.book, (version, job));
    }

    /// Whoever asks for a group gets a list of its runs, also an empty one.
    fn need_group(&mut self, id: GroupId) {
        if self.book.group_runs.insert(id, BTreeSet::new()).is_none() {
            self.needs.groups.insert(id);
        }
    }

    fn need_run(&mut self, run: Option<RunId>) {
        self.needs.runs.extend(run.filter(|run| !self.book.runs.has(run)));
    }
}

/// One method per question: it takes a row of the answer.
impl Filling {
    pub fn nothing(&mut self, _: &mut Cells<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    pub fn moment(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.moment = Some(Moment::read(cells)?);
        Ok(())
    }

    pub fn execution(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.bring_execution(seen(cells)?);
        Ok(())
    }

    pub fn job_key(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (tenant, key, job): (TenantId, String, JobId) = (cells.next()?, cells.next()?, cells.next()?);
        self.book.job_keys.insert((tenant, key), job);
        self.needs.members.insert(Member::of(job));
        Ok(())
    }

    pub fn trigger(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, run): (_, Arc<Run>) = seen(cells)?;
        self.book.triggers.extend(run.trigger_key.clone().map(|key| ((run.tenant, key), run.id)));
        self.bring_run((version, run));
        Ok(())
    }

    pub fn tenant(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let found: (Version, Arc<Tenant>) = seen(cells)?;
        self.found.tenants.push(found.clone());
        self.bring_tenant(found);
        Ok(())
    }

    pub fn tenant_name(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, tenant): (_, Arc<Tenant>) = seen(cells)?;
        self.book.tenant_names.insert(tenant.name.clone(), tenant.id);
        self.bring_tenant((version, tenant));
        Ok(())
    }

    pub fn run(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.bring_run(seen(cells)?);
        Ok(())
    }

    pub fn group(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.versions.bring::<Group>(&mut self.book, seen(cells)?);
        Ok(())
    }

    pub fn group_run(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, run): (_, Arc<Run>) = seen(cells)?;
        let members = run.group_id().and_then(|group| self.book.group_runs.get_mut(&group));
        members.map(|members| members.insert(run.id));
        self.bring_run((version, run));
        Ok(())
    }

    pub fn runner(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let found = seen::<Runner>(cells)?;
        self.found.runners.push(found.clone());
        self.versions.bring(&mut self.book, found);
        Ok(())
    }

    pub fn token(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.versions.bring::<Token>(&mut self.book, seen(cells)?);
        Ok(())
    }

    pub fn log(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.versions.bring::<Log>(&mut self.book, seen(cells)?);
        Ok(())
    }

    pub fn delivery(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, delivery): (_, Arc<Delivery>) = seen(cells)?;
        self.need_run(delivery.reports);
        self.versions.bring(&mut self.book, (version, delivery));
        Ok(())
    }

    pub fn lane_head(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.book.lane_heads.insert(cells.next()?, cells.next()?);
        Ok(())
    }

    pub fn webhook(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let found = seen::<Webhook>(cells)?;
        self.found.webhooks.entry(found.1.key.tenant).or_default().push(found.clone());
        self.versions.bring(&mut self.book, found);
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
        let names = cells.raw::<Vec<String>>()?;
        self.book.succeeded.insert(run, names.into_iter().zip(cells.ids()?).collect());
        Ok(())
    }

    pub fn sweep(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let run = cells.next()?;
        let jobs: Vec<JobId> = cells.ids()?;
        self.needs.members.extend(jobs.iter().copied().map(Member::of));
        self.book.sweeps.insert(run, jobs);
        Ok(())
    }

    pub fn release(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let job = cells.next()?;
        let dependents: Vec<JobId> = cells.ids()?;
        self.needs.members.extend(dependents.iter().copied().map(Member::of));
        self.book.dependents.insert(job, dependents);
        Ok(())
    }

    pub fn family(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.bring_job(seen(cells)?);
        self.versions.bring::<Attempt>(&mut self.book, seen(cells)?);
        if cells.is_null()? {
            cells.skip(width::<Execution>());
            return Ok(());
        }
        self.versions.bring::<Execution>(&mut self.book, seen(cells)?);
        Ok(())
    }
}
