//! Answers the asks of a batch.

use std::collections::BTreeSet;

use decisions::policy::CHUNK;
use decisions::records::{AttemptKey, GroupId, QueueId, ReadyKey};
use decisions::{Ask, Book};
use wire::{ExecId, JobId, MessageId, RunId};

use super::tables::{Seen, Tables};

pub struct Loader<'a> {
    pub tables: &'a Tables,
    pub book: Book,
    pub seen: Seen,
}

impl Loader<'_> {
    pub fn answer(&mut self, ask: &Ask) {
        let tables = self.tables;
        match ask {
            Ask::Tenant(id) => tables.tenants.bring(id, &mut self.book.tenants, &mut self.seen.tenants),
            Ask::TenantName(name) => {
                if let Some(tenant) = tables.tenants.all().find(|tenant| tenant.name == *name) {
                    self.book.tenant_names.insert(name.clone(), tenant.id);
                    tables.tenants.bring(&tenant.id, &mut self.book.tenants, &mut self.seen.tenants);
                }
            }
            Ask::Run(id) => self.run(*id),
            Ask::Plan(id) => self.book.plans.extend(tables.plans.get(id).map(|plan| (*id, plan.clone()))),
            Ask::Succeeded(id) => {
                let jobs = tables.jobs.all().filter(|job| job.run == Some(*id));
                let succeeded = jobs.filter(|job| job.state == machines::job::State::Succeeded);
                self.book.succeeded.insert(*id, succeeded.map(|job| (job.name.clone(), job.id)).collect());
            }
            Ask::Group(id) => self.group(*id),
            Ask::GroupOf(run, name) => self.group_of(*run, name.as_deref()),
            Ask::Family(id) | Ask::NewJob(id) => self.family(*id),
            Ask::Execution(id) | Ask::NewExecution(id) => self.execution(*id),
            Ask::Runner(key) => tables.runners.bring(key, &mut self.book.runners, &mut self.seen.runners),
            Ask::Token(id) => tables.tokens.bring(id, &mut self.book.tokens, &mut self.seen.tokens),
            Ask::Log(id) => tables.logs.bring(id, &mut self.book.logs, &mut self.seen.logs),
            Ask::Trigger(tenant, key) => {
                if let Some(id) = tables.triggers.get(&(*tenant, key.clone())) {
                    self.book.triggers.insert((*tenant, key.clone()), *id);
                    self.run(*id);
                }
            }
            Ask::JobKey(tenant, key) => {
                if let Some(id) = tables.job_keys.get(&(*tenant, key.clone())) {
                    self.book.job_keys.insert((*tenant, key.clone()), *id);
                    self.family(*id);
                }
            }
            Ask::Ready { queues, count } => queues.iter().for_each(|queue| self.ready(*queue, *count)),
            Ask::Spec(id) => self.spec(*id),
            Ask::Sweep(id) => self.sweep(*id),
            Ask::Release(id) => self.release(*id),
            Ask::Delivery(id) => self.delivery(*id),
            Ask::Claim(id) => {
                self.delivery(*id);
                self.book.lane_heads.extend(tables.lane_head(*id).map(|head| (*id, head)));
            }
            Ask::Upload(id) => self.upload(*id),
            Ask::Content(tenant, digest) => self.content(*tenant, *digest),
            Ask::Usage(tenant) => self.usage(*tenant),
            Ask::VersionName(name) => self.version_name(name),
            Ask::Version(id) => self.version(*id),
            Ask::Blob(id) => self.possessed(*id),
            Ask::Bundle(id) => self.bundle(*id),
            Ask::Cache(name) => self.cache(name),
            Ask::Collector => self.collector(),
            Ask::Collection(id) => self.collection(*id),
        }
    }

    fn delivery(&mut self, id: MessageId) {
        self.tables.deliveries.bring(&id, &mut self.book.deliveries, &mut self.seen.deliveries);
        if let Some(run) = self.tables.deliveries.get(&id).and_then(|it| it.reports) {
            self.run(run);
        }
    }

    fn run(&mut self, id: RunId) {
        self.tables.runs.bring(&id, &mut self.book.runs, &mut self.seen.runs);
    }

    fn group(&mut self, id: GroupId) {
        self.tables.groups.bring(&id, &mut self.book.groups, &mut self.seen.groups);
        let open = self.tables.runs.all().filter(|run| run.finished_at.is_none());
        let members = open.filter(|run| run.group_id() == Some(id)).map(|run| run.id);
        let newest: Vec<RunId> = members.collect::<Vec<_>>().into_iter().rev().take(CHUNK).collect();
        newest.iter().for_each(|run| self.run(*run));
        self.book.group_runs.insert(id, newest.into_iter().collect());
    }

    fn group_of(&mut self, id: RunId, name: Option<&str>) {
        self.run(id);
        if let Some(group) = self.tables.runs.get(&id).and_then(|run| run.group_named(name)) {
            self.group(group);
        }
    }

    fn spec(&mut self, id: JobId) {
        self.book.specs.extend(self.tables.specs.get(&id).map(|spec| (id, spec.clone())));
    }

    fn family(&mut self, id: JobId) {
        let Some(job) = self.tables.jobs.get(&id) else { return };
        self.tables.jobs.bring(&id, &mut self.book.jobs, &mut self.seen.jobs);
        if let Some(run) = job.run {
            self.run(run);
        }
        let key = AttemptKey { job: id, index: job.attempts };
        self.tables.attempts.bring(&key, &mut self.book.attempts, &mut self.seen.attempts);
        if let Some(execution) = self.tables.attempts.get(&key).and_then(|attempt| attempt.execution) {
            self.bring_execution(execution);
        }
    }

    fn execution(&mut self, id: ExecId) {
        let Some(execution) = self.tables.executions.get(&id) else { return };
        self.bring_execution(id);
        self.tables.attempts.bring(&execution.attempt, &mut self.book.attempts, &mut self.seen.attempts);
        if let Some(key) = self.tables.runner_key(execution) {
            self.tables.runners.bring(&key, &mut self.book.runners, &mut self.seen.runners);
        }
        self.family(execution.job());
    }

    fn bring_execution(&mut self, id: ExecId) {
        self.tables.executions.bring(&id, &mut self.book.executions, &mut self.seen.executions);
    }

    /// A batch asks once per lease; each ask brings the next `count` that no other ask has brought.
    fn ready(&mut self, queue: QueueId, count: usize) {
        let in_queue = self.tables.ready.iter().skip_while(|key| key.queue < queue);
        let in_queue = in_queue.take_while(|key| key.queue == queue);
        let waiting = in_queue.filter(|key| !self.book.ready.contains(*key));
        let next: Vec<ReadyKey> = waiting.take(count).copied().collect();
        for key in next {
            self.book.ready.insert(key);
            self.family(key.attempt.job);
            self.spec(key.attempt.job);
        }
    }

    fn sweep(&mut self, id: RunId) {
        self.run(id);
        let Some(run) = self.tables.runs.get(&id) else { return };
        let jobs = self.tables.jobs.all().filter(|job| job.run == Some(id) && !job.state.is_over());
        let later = jobs.filter(|job| run.swept_to.is_none_or(|to| job.id > to));
        let next: Vec<JobId> = later.map(|job| job.id).take(CHUNK).collect();
        next.iter().for_each(|job| self.family(*job));
        self.book.sweeps.insert(id, next);
    }

    fn release(&mut self, id: JobId) {
        self.family(id);
        let Some(job) = self.tables.jobs.get(&id) else { return };
        let after = job.released_to.unwrap_or(JobId::FIRST);
        let needs = self.tables.needs.range((id, after)..).take_while(|(needed, _)| *needed == id);
        let next: Vec<JobId> = needs.map(|(_, it)| *it).filter(|it| *it > after).take(CHUNK).collect();
        next.iter().for_each(|job| self.family(*job));
        self.book.dependents.insert(id, next);
    }

    pub fn bring_webhooks(&mut self) {
        let of_jobs = self.book.jobs.peek_all().map(|job| job.tenant);
        let of_runs = self.book.runs.peek_all().map(|run| run.tenant);
        let of_versions = self.book.versions.peek_all().map(|version| version.name.tenant);
        let of_tenants = self.book.tenants.peek_all().map(|tenant| tenant.id);
        let tenants: BTreeSet<_> = of_jobs.chain(of_runs).chain(of_versions).chain(of_tenants).collect();
        for webhook in self.tables.webhooks.all().filter(|webhook| tenants.contains(&webhook.key.tenant)) {
            self.tables.webhooks.bring(&webhook.key, &mut self.book.webhooks, &mut self.seen.webhooks);
        }
    }
}
