//! What a server gets to see: the answers to what its command asks for, and nothing else.

use std::collections::BTreeSet;

use decisions::records::{Attempt, AttemptKey, ReadyKey};
use decisions::{Ask, Book, Command};
use wire::{ExecId, JobId, MessageId, RunId};

use super::records::Records;

/// The book for one command.
pub fn load(records: &Records, command: &Command) -> Book {
    let mut asks = Vec::new();
    command.asks(&mut asks);
    let mut loader = Loader { records, book: Book::default() };
    asks.iter().for_each(|ask| loader.answer(ask));
    loader.bring_webhooks();
    loader.book
}

struct Loader<'a> {
    records: &'a Records,
    book: Book,
}

impl Loader<'_> {
    fn answer(&mut self, ask: &Ask) {
        let records = self.records;
        match ask {
            Ask::Tenant(id) => records.tenants.bring(id, &mut self.book.tenants),
            Ask::TenantName(name) => {
                if let Some(tenant) = records.tenants.all().find(|tenant| tenant.name == *name) {
                    self.book.tenant_names.insert(name.clone(), tenant.id);
                    records.tenants.bring(&tenant.id, &mut self.book.tenants);
                }
            }
            Ask::Run(id) => self.run(*id),
            Ask::Family(id) | Ask::NewJob(id) => self.family(*id),
            Ask::Execution(id) | Ask::NewExecution(id) => self.execution(*id),
            Ask::Runner(key) => records.runners.bring(key, &mut self.book.runners),
            Ask::Ready { queues, count } => {
                let ready: BTreeSet<ReadyKey> =
                    records.attempts.all().filter_map(Attempt::ready_key).collect();
                for queue in queues {
                    let next = ready.iter().filter(|key| key.queue == *queue).take(*count);
                    next.for_each(|key| self.ready(*key));
                }
            }
            Ask::Spec(id) => self.spec(*id),
            Ask::Sweep(id) => self.sweep(*id),
            Ask::Release(id) => self.release(*id),
            Ask::Delivery(id) | Ask::Claim(id) => self.delivery(*id),
            // The others are about records that no model keeps yet: the first that does adds its line here.
            other => panic!("no model answers {other:?}"),
        }
    }

    fn run(&mut self, id: RunId) {
        self.records.runs.bring(&id, &mut self.book.runs);
    }

    fn spec(&mut self, id: JobId) {
        self.book.specs.extend(self.records.specs.get(&id).map(|spec| (id, spec.clone())));
    }

    fn family(&mut self, id: JobId) {
        let Some(job) = self.records.jobs.get(&id) else { return };
        self.records.jobs.bring(&id, &mut self.book.jobs);
        job.run.into_iter().for_each(|run| self.run(run));
        let key = AttemptKey { job: id, index: job.attempts };
        self.records.attempts.bring(&key, &mut self.book.attempts);
        if let Some(execution) = self.records.attempts.get(&key).and_then(|attempt| attempt.execution) {
            self.records.executions.bring(&execution, &mut self.book.executions);
        }
    }

    fn execution(&mut self, id: ExecId) {
        let Some(execution) = self.records.executions.get(&id) else { return };
        self.records.executions.bring(&id, &mut self.book.executions);
        self.records.attempts.bring(&execution.attempt, &mut self.book.attempts);
        if let Some(job) = self.records.jobs.get(&execution.job()) {
            self.records.runners.bring(&execution.runner_key(job.tenant), &mut self.book.runners);
        }
        self.family(execution.job());
    }

    fn ready(&mut self, key: ReadyKey) {
        self.book.ready.insert(key);
        self.family(key.attempt.job);
        self.spec(key.attempt.job);
    }

    fn sweep(&mut self, id: RunId) {
        self.run(id);
        let Some(run) = self.records.runs.get(&id) else { return };
        let open = self.records.jobs.all().filter(|job| job.run == Some(id) && !job.state.is_over());
        let next: Vec<JobId> =
            open.map(|job| job.id).filter(|id| run.swept_to.is_none_or(|to| *id > to)).collect();
        next.iter().for_each(|job| self.family(*job));
        self.book.sweeps.insert(id, next);
    }

    fn release(&mut self, id: JobId) {
        self.family(id);
        let Some(job) = self.records.jobs.get(&id) else { return };
        let dependents = self.records.needs.iter().filter(|(needed, _)| *needed == id).map(|(_, it)| *it);
        let next: Vec<JobId> = dependents.filter(|id| job.released_to.is_none_or(|to| *id > to)).collect();
        next.iter().for_each(|job| self.family(*job));
        self.book.dependents.insert(id, next);
    }

    fn delivery(&mut self, id: MessageId) {
        let Some(delivery) = self.records.deliveries.get(&id) else { return };
        self.records.deliveries.bring(&id, &mut self.book.deliveries);
        delivery.reports.into_iter().for_each(|run| self.run(run));
        let of_lane =
            |it: &&decisions::records::Delivery| it.is_open() && it.lane_key() == delivery.lane_key();
        let head = self.records.deliveries.all().filter(of_lane).min_by_key(|it| it.turn);
        self.book.lane_heads.extend(head.map(|head| (id, head.id)));
    }

    fn bring_webhooks(&mut self) {
        let keys: Vec<_> = self.records.webhooks.all().map(|webhook| webhook.key.clone()).collect();
        keys.iter().for_each(|key| self.records.webhooks.bring(key, &mut self.book.webhooks));
    }
}
