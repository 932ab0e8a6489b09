//! Records in memory: the reference for the other stores, and the one that can fail on demand.
//!
//! It keeps the same constraints as the databases do, and protects what was read in the simplest way: each record has a
//! version, and a save on an older one is a conflict.

mod lists;
mod outbox;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use decisions::book::{Kept, Shelf};
use decisions::doctor::{JobFile, RunFile};
use decisions::policy::CHUNK;
use decisions::records::{
    Attempt, AttemptKey, Delivery, EffectRow, Event, Execution, Job, LaneKey, Log, LogChunk, Queue, QueueId,
    ReadyKey, Run, Runner, Tenant, Token, Transition, Webhook, WebhookKey,
};
use decisions::{Ask, Book};
use machines::delivery;
use wire::{ExecId, JobId, MessageId, RunId, RunnerId, TenantId, Time, TokenId};

use crate::{Due, Loaded, LogBounds, OutboxCounts, Store, StoreError};

/// What goes wrong with the next save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The request never arrives: nothing is written.
    LoseRequest,
    /// It is written, but the caller cannot know: the answer is lost on the way back.
    LoseAnswer,
    /// Somebody else moved first.
    Conflict,
}

#[derive(Debug, Default)]
pub struct Memory {
    tables: Mutex<Tables>,
    faults: Mutex<VecDeque<Fault>>,
}

impl Memory {
    /// The next saves fail like this, in order.
    pub fn inject(&self, faults: impl IntoIterator<Item = Fault>) {
        self.faults.lock().expect("no panic holds it").extend(faults);
    }

    fn tables(&self) -> std::sync::MutexGuard<'_, Tables> {
        self.tables.lock().expect("a panic while saving would have left half a batch")
    }
}

/// One kind of record, each with the number of times it was written.
#[derive(Debug, Clone)]
struct Table<R: Kept>(BTreeMap<R::Key, (u64, R)>);

impl<R: Kept> Default for Table<R> {
    fn default() -> Self {
        Table(BTreeMap::new())
    }
}

impl<R: Kept> Table<R> {
    fn get(&self, key: &R::Key) -> Option<&R> {
        self.0.get(key).map(|(_, record)| record)
    }

    fn all(&self) -> impl Iterator<Item = &R> {
        self.0.values().map(|(_, record)| record)
    }

    fn bring(&self, key: &R::Key, shelf: &mut Shelf<R>, seen: &mut BTreeMap<R::Key, u64>) {
        if let Some((version, record)) = self.0.get(key) {
            seen.insert(key.clone(), *version);
            shelf.bring(record.clone());
        }
    }

    /// What was read or is to be overwritten is still as it was seen, and what is new is still absent.
    fn check(&self, shelf: &Shelf<R>, seen: &BTreeMap<R::Key, u64>) -> Result<(), StoreError> {
        let touched = shelf.reads().chain(shelf.writes().map(|(_, record)| record));
        for record in touched {
            let version = self.0.get(&record.key()).map(|(version, _)| *version);
            if version != seen.get(&record.key()).copied() {
                return Err(StoreError::Conflict(std::any::type_name::<R>().into()));
            }
        }
        Ok(())
    }

    fn write(&mut self, shelf: &Shelf<R>) {
        for (_, record) in shelf.writes() {
            let slot = self.0.entry(record.key()).or_insert_with(|| (0, record.clone()));
            *slot = (slot.0 + 1, record.clone());
        }
    }
}

/// The versions a session saw.
#[derive(Debug, Default)]
pub struct Seen {
    tenants: BTreeMap<<Tenant as Kept>::Key, u64>,
    runs: BTreeMap<RunId, u64>,
    jobs: BTreeMap<JobId, u64>,
    attempts: BTreeMap<AttemptKey, u64>,
    executions: BTreeMap<ExecId, u64>,
    runners: BTreeMap<<Runner as Kept>::Key, u64>,
    deliveries: BTreeMap<MessageId, u64>,
    webhooks: BTreeMap<WebhookKey, u64>,
    tokens: BTreeMap<TokenId, u64>,
    logs: BTreeMap<ExecId, u64>,
}

#[derive(Debug, Default, Clone)]
struct Tables {
    tenants: Table<Tenant>,
    runs: Table<Run>,
    jobs: Table<Job>,
    attempts: Table<Attempt>,
    executions: Table<Execution>,
    runners: Table<Runner>,
    queues: Table<Queue>,
    deliveries: Table<Delivery>,
    webhooks: Table<Webhook>,
    tokens: Table<Token>,
    logs: Table<Log>,
    log_chunks: BTreeMap<(ExecId, u64), Arc<[u8]>>,
    by_job: BTreeSet<(JobId, ExecId)>,
    triggers: BTreeMap<(TenantId, String), RunId>,
    job_keys: BTreeMap<(TenantId, String), JobId>,
    ready: BTreeSet<ReadyKey>,
    specs: BTreeMap<JobId, Arc<str>>,
    plans: BTreeMap<RunId, Arc<str>>,
    needs: BTreeSet<(JobId, JobId)>,
    effects: Vec<EffectRow>,
    events: Vec<(String, Event)>,
}

impl Store for Memory {
    type Session = Seen;
    const SEES_AHEAD: bool = false;

    async fn load(&self, asks: &[Ask], now: Time) -> Result<Loaded<Seen>, StoreError> {
        let tables = self.tables();
        let mut loader = Loader { tables: &tables, book: Book::default(), seen: Seen::default() };
        for ask in asks {
            loader.answer(ask);
        }
        loader.bring_webhooks();
        Ok(Loaded { book: loader.book, now, session: loader.seen })
    }

    async fn save(&self, session: Seen, book: Book) -> Result<(), StoreError> {
        let fault = self.faults.lock().expect("no panic holds it").pop_front();
        match fault {
            Some(Fault::LoseRequest) => return Err(StoreError::Unavailable("the request was lost".into())),
            Some(Fault::Conflict) => return Err(StoreError::Conflict("injected".into())),
            Some(Fault::LoseAnswer) | None => {}
        }
        let mut tables = self.tables();
        tables.check(&session, &book)?;
        tables.check_constraints(&book)?;
        tables.write(&book);
        match fault {
            Some(Fault::LoseAnswer) => Err(StoreError::Unknown("the answer was lost".into())),
            Some(Fault::LoseRequest | Fault::Conflict) | None => Ok(()),
        }
    }

    async fn due(&self, now: Time, limit: usize) -> Result<Due, StoreError> {
        let tables = self.tables();
        let passed = |due_at: Option<Time>| due_at.filter(|due_at| *due_at <= now);
        let executions = tables.executions.all().filter_map(|it| passed(it.due_at).map(|at| (at, it.id)));
        let runs = tables.runs.all().filter_map(|it| passed(it.due_at).map(|at| (at, it.id)));
        let claimed = tables.deliveries.all().filter(|it| it.state.get() == delivery::State::Delivering);
        Ok(Due {
            executions: earliest(executions, limit),
            runs: earliest(runs, limit),
            sweeps: tables
                .runs
                .all()
                .filter(|run| run.sweep.is_some())
                .map(|run| run.id)
                .take(limit)
                .collect(),
            releases: tables.jobs.all().filter(|job| job.releasing).map(|job| job.id).take(limit).collect(),
            claims: earliest(claimed.filter_map(|it| passed(it.due_at).map(|at| (at, it.id))), limit),
        })
    }

    async fn lanes_ready(
        &self,
        now: Time,
        after: Option<&LaneKey>,
        limit: usize,
    ) -> Result<Vec<LaneKey>, StoreError> {
        Ok(self.tables().lanes_ready(now, after, limit))
    }

    async fn deliveries_ready_of(
        &self,
        lane: &LaneKey,
        now: Time,
        limit: usize,
    ) -> Result<Vec<MessageId>, StoreError> {
        Ok(self.tables().deliveries_ready_of(lane, now, limit))
    }

    async fn deliveries_in(
        &self,
        state: delivery::State,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        Ok(self.tables().deliveries_in(state, after, limit))
    }

    async fn outbox_counts(&self) -> Result<OutboxCounts, StoreError> {
        Ok(self.tables().outbox_counts())
    }

    async fn webhook(&self, key: &WebhookKey) -> Result<Option<Webhook>, StoreError> {
        Ok(self.tables().webhooks.get(key).cloned())
    }

    async fn webhooks_of(
        &self,
        tenant: TenantId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Webhook>, StoreError> {
        Ok(self.tables().webhooks_of(tenant, after, limit))
    }

    async fn queues(&self) -> Result<Vec<Queue>, StoreError> {
        Ok(self.tables().queues.all().cloned().collect())
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        Ok(self.tables().tenants.all().cloned().collect())
    }

    async fn runs_planning(&self, after: Option<RunId>, limit: usize) -> Result<Vec<RunId>, StoreError> {
        Ok(self.tables().runs_planning(after, limit))
    }

    async fn queues_ready(&self) -> Result<Vec<QueueId>, StoreError> {
        Ok(self.tables().queues_ready())
    }

    async fn tenant(&self, id: TenantId) -> Result<Option<Tenant>, StoreError> {
        Ok(self.tables().tenants.get(&id).cloned())
    }

    async fn tenant_named(&self, name: &str) -> Result<Option<Tenant>, StoreError> {
        Ok(self.tables().tenant_named(name).cloned())
    }

    async fn tenants_after(&self, after: Option<TenantId>, limit: usize) -> Result<Vec<Tenant>, StoreError> {
        Ok(self.tables().tenants_after(after, limit))
    }

    async fn token(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        Ok(self.tables().tokens.get(&id).cloned())
    }

    async fn tokens_of(
        &self,
        tenant: Option<TenantId>,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<Token>, StoreError> {
        Ok(self.tables().tokens_of(tenant, after, limit))
    }

    async fn runners_of(
        &self,
        tenant: Option<TenantId>,
        after: Option<RunnerId>,
        limit: usize,
    ) -> Result<Vec<Runner>, StoreError> {
        Ok(self.tables().runners_of(tenant, after, limit))
    }

    async fn executions_live(&self, limit: usize) -> Result<Vec<(Execution, TenantId)>, StoreError> {
        Ok(self.tables().executions_live(limit))
    }

    async fn runs_of(
        &self,
        tenant: TenantId,
        before: Option<RunId>,
        limit: usize,
    ) -> Result<Vec<Run>, StoreError> {
        Ok(self.tables().runs_of(tenant, before, limit))
    }

    async fn plan(&self, id: RunId) -> Result<Option<Arc<str>>, StoreError> {
        Ok(self.tables().plans.get(&id).cloned())
    }

    async fn jobs_of_run(
        &self,
        run: RunId,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        Ok(self.tables().jobs_of_run(run, after, limit))
    }

    async fn job_keyed(&self, tenant: TenantId, key: &str) -> Result<Option<JobId>, StoreError> {
        Ok(self.tables().job_keys.get(&(tenant, key.to_owned())).copied())
    }

    async fn run(&self, id: RunId) -> Result<Option<Run>, StoreError> {
        Ok(self.tables().runs.get(&id).cloned())
    }

    async fn job_file(&self, id: JobId) -> Result<Option<JobFile>, StoreError> {
        let tables = self.tables();
        Ok(tables.jobs.get(&id).map(|job| tables.job_file(job)))
    }

    async fn execution_job(&self, id: ExecId) -> Result<Option<JobId>, StoreError> {
        Ok(self.tables().executions.get(&id).map(Execution::job))
    }

    async fn job_files_after(&self, after: Option<JobId>, limit: usize) -> Result<Vec<JobFile>, StoreError> {
        let tables = self.tables();
        let later = tables.jobs.all().filter(|job| after.is_none_or(|after| job.id > after));
        Ok(later.take(limit).map(|job| tables.job_file(job)).collect())
    }

    async fn run_files_after(&self, after: Option<RunId>, limit: usize) -> Result<Vec<RunFile>, StoreError> {
        let tables = self.tables();
        let later = tables.runs.all().filter(|run| after.is_none_or(|after| run.id > after));
        Ok(later.take(limit).map(|run| tables.run_file(run)).collect())
    }

    async fn deliveries_after(
        &self,
        after: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        let tables = self.tables();
        let later = tables.deliveries.all().filter(|it| after.is_none_or(|after| it.id > after));
        Ok(later.take(limit).cloned().collect())
    }

    async fn events_of(&self, root: &str) -> Result<Vec<Event>, StoreError> {
        Ok(self.tables().events_of(root))
    }

    async fn events_after(&self, seq: i64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let tables = self.tables();
        Ok(tables
            .events
            .iter()
            .skip(seq.max(0) as usize)
            .take(limit)
            .map(|(_, event)| event.clone())
            .collect())
    }

    async fn events_scan(
        &self,
        tenant: TenantId,
        after: i64,
        scan_max: usize,
    ) -> Result<(Vec<Event>, i64), StoreError> {
        Ok(self.tables().events_scan(tenant, after, scan_max))
    }

    async fn log(&self, id: ExecId) -> Result<Option<Log>, StoreError> {
        Ok(self.tables().logs.get(&id).copied())
    }

    async fn log_chunks(&self, id: ExecId, from: u64, bytes_max: usize) -> Result<Vec<LogChunk>, StoreError> {
        Ok(self.tables().log_chunks(id, from, bytes_max))
    }

    async fn log_bounds(&self) -> Result<LogBounds, StoreError> {
        let rows = self.tables().events.len() as i64;
        Ok(LogBounds { rows, last_seq: rows })
    }

    async fn integrity(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }
}

fn earliest<I: Ord>(due: impl Iterator<Item = (Time, I)>, limit: usize) -> Vec<I> {
    let ordered: BTreeSet<(Time, I)> = due.collect();
    ordered.into_iter().take(limit).map(|(_, id)| id).collect()
}

struct Loader<'a> {
    tables: &'a Tables,
    book: Book,
    seen: Seen,
}

impl Loader<'_> {
    fn answer(&mut self, ask: &Ask) {
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
                let names =
                    jobs.filter(|job| job.state == machines::job::State::Succeeded).map(|it| it.name.clone());
                self.book.succeeded.insert(*id, names.collect());
            }
            Ask::Family(id) => self.family(*id),
            Ask::Execution(id) => self.execution(*id),
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
    fn ready(&mut self, queue: decisions::records::QueueId, count: usize) {
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

    fn bring_webhooks(&mut self) {
        let of_jobs = self.book.jobs.peek_all().map(|job| job.tenant);
        let of_runs = self.book.runs.peek_all().map(|run| run.tenant);
        let tenants: BTreeSet<_> =
            of_jobs.chain(of_runs).chain(self.book.tenants.peek_all().map(|tenant| tenant.id)).collect();
        for webhook in self.tables.webhooks.all().filter(|webhook| tenants.contains(&webhook.key.tenant)) {
            self.tables.webhooks.bring(&webhook.key, &mut self.book.webhooks, &mut self.seen.webhooks);
        }
    }
}

impl Tables {
    fn check(&self, seen: &Seen, book: &Book) -> Result<(), StoreError> {
        self.tenants.check(&book.tenants, &seen.tenants)?;
        self.runs.check(&book.runs, &seen.runs)?;
        self.jobs.check(&book.jobs, &seen.jobs)?;
        self.attempts.check(&book.attempts, &seen.attempts)?;
        self.executions.check(&book.executions, &seen.executions)?;
        self.runners.check(&book.runners, &seen.runners)?;
        self.deliveries.check(&book.deliveries, &seen.deliveries)?;
        self.webhooks.check(&book.webhooks, &seen.webhooks)?;
        self.tokens.check(&book.tokens, &seen.tokens)?;
        self.logs.check(&book.logs, &seen.logs)
    }

    fn write(&mut self, book: &Book) {
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
        self.specs.extend(book.appended.specs.iter().cloned());
        self.plans.extend(book.appended.plans.iter().cloned());
        self.needs.extend(book.appended.needs.iter().copied());
        self.effects.extend(book.appended.effects.iter().cloned());
        for chunk in &book.appended.log_chunks {
            self.log_chunks.insert((chunk.execution, chunk.offset), chunk.bytes.clone());
        }
        book.appended.log_trims.iter().for_each(|trim| self.trim(trim));
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

    fn job_file(&self, job: &Job) -> JobFile {
        let first = AttemptKey { job: job.id, index: 0 };
        let attempts =
            self.attempts.0.range(first..).map(|(_, (_, it))| it).take_while(|it| it.key.job == job.id);
        let attempts: Vec<Attempt> = attempts.cloned().collect();
        let mut executions: Vec<Execution> = self.executions_of(job.id).cloned().collect();
        executions.sort_by_key(|execution| execution.token);
        JobFile {
            job: job.clone(),
            attempts,
            executions,
            ready: self.ready.iter().filter(|key| key.attempt.job == job.id).copied().collect(),
            effects: self.effects.iter().filter(|effect| effect.job == job.id).cloned().collect(),
            events: self.events_of(&job.id.to_string()),
        }
    }

    fn run_file(&self, run: &Run) -> RunFile {
        let messages = self.deliveries.all().filter(|delivery| delivery.reports == Some(run.id));
        let open = messages.filter(|delivery| {
            !matches!(delivery.state.get(), delivery::State::Delivered | delivery::State::DeadLetter)
        });
        RunFile {
            run: run.clone(),
            jobs: self.jobs.all().filter(|job| job.run == Some(run.id)).cloned().collect(),
            events: self.events_of(&run.id.to_string()),
            reports_open: open.count() as u32,
        }
    }

    fn executions_of(&self, job: JobId) -> impl Iterator<Item = &Execution> {
        let ids = self.by_job.range((job, ExecId::FIRST)..).take_while(move |(of, _)| *of == job);
        ids.filter_map(|(_, id)| self.executions.get(id))
    }

    fn events_of(&self, root: &str) -> Vec<Event> {
        self.events.iter().filter(|(filed, _)| filed == root).map(|(_, event)| event.clone()).collect()
    }
}

/// The constraints that the databases enforce by unique indexes, on the tables as they would be.
impl Tables {
    fn check_constraints(&self, book: &Book) -> Result<(), StoreError> {
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
        Ok(())
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
