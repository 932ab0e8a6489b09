//! Where commands are performed on a store: load what they ask for, decide, save. A server without its shell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use decisions::ask::merged;
use decisions::doctor::{
    BlobFile, JobFile, LogFile, RunFile, check_blob, check_delivery, check_job, check_log_file, check_run,
    replay,
};
use decisions::records::{
    Collector, Delivery, Event, Execution, Log, LogChunk, QueueId, Runner, Token, Upload, Usage, Version,
};
use decisions::{Answer, Ask, Book, Changes, Command, Granted, Policy, Refusal, decide};
use machines::Machine;
use store::{Loaded, Store, StoreError};
use wire::{Digest, JobId, MessageId, RunId, TenantId, Time};

use crate::commands;

pub struct Desk<S> {
    pub store: Arc<S>,
    pub policy: Policy,
    /// The process's time, in microseconds; stands still until a test moves it.
    clock: Arc<AtomicI64>,
}

impl<S> Clone for Desk<S> {
    fn clone(&self) -> Desk<S> {
        Desk { store: self.store.clone(), policy: self.policy.clone(), clock: self.clock.clone() }
    }
}

pub type Answers = Vec<Result<Answer, Refusal>>;

/// Commands that were decided and not yet saved.
pub struct Prepared<S: Store> {
    pub loaded: Loaded<S::Session>,
    pub answers: Answers,
}

/// More than any test writes.
const ALL: usize = 1_000_000;

impl<S: Store> Desk<S> {
    pub fn at(store: S) -> Desk<S> {
        let clock = Arc::new(AtomicI64::new(commands::START.as_micros()));
        Desk { store: Arc::new(store), policy: Policy::default(), clock }
    }

    /// A desk whose tenant exists.
    pub async fn open(self) -> Desk<S> {
        self.must(commands::ensure_tenant()).await;
        self
    }

    pub fn with_policy(&self, change: impl FnOnce(&mut Policy)) -> Desk<S> {
        let mut desk = self.clone();
        change(&mut desk.policy);
        desk
    }

    pub fn now(&self) -> Time {
        Time::from_micros(self.clock.load(Ordering::Relaxed))
    }

    pub fn pass(&self, time: Duration) {
        self.clock.fetch_add(time.as_micros() as i64, Ordering::Relaxed);
    }

    pub async fn load(&self, asks: &[Ask]) -> Loaded<S::Session> {
        self.store.load(asks, self.now()).await.unwrap()
    }

    /// The book alone; its session is dropped.
    pub async fn book(&self, asks: &[Ask]) -> Book {
        self.load(asks).await.book
    }

    /// What `see` makes of the book. The session is over when this returns: a dropped one may still be ending, and keep
    /// what it held from others for a moment.
    pub async fn look<T>(&self, asks: &[Ask], see: impl FnOnce(&Book) -> T) -> T {
        let loaded = self.load(asks).await;
        let seen = see(&loaded.book);
        self.store.save(loaded.session, loaded.book).await.unwrap();
        seen
    }

    /// Everything but the save.
    pub async fn prepare(
        &self,
        commands: impl IntoIterator<Item = impl Into<Command>>,
    ) -> Result<Prepared<S>, StoreError> {
        let commands: Vec<Command> = commands.into_iter().map(Into::into).collect();
        let mut loaded = self.store.load(&asks_of(&commands), self.now()).await?;
        let answers = decide_all(&mut loaded.book, &commands, loaded.now, &self.policy);
        Ok(Prepared { loaded, answers })
    }

    pub async fn finish(&self, prepared: Prepared<S>) -> Result<Answers, StoreError> {
        self.store.save(prepared.loaded.session, prepared.loaded.book).await?;
        Ok(prepared.answers)
    }

    pub async fn perform(
        &self,
        commands: impl IntoIterator<Item = impl Into<Command>>,
    ) -> Result<Answers, StoreError> {
        let prepared = self.prepare(commands).await?;
        self.finish(prepared).await
    }

    /// One command and its answer or refusal; the store must take it.
    pub async fn try_one(&self, command: impl Into<Command>) -> Result<Answer, Refusal> {
        let mut answers = self.perform([command.into()]).await.unwrap();
        answers.pop().expect("a command has an answer")
    }

    /// One command that must pass.
    pub async fn must(&self, command: impl Into<Command>) -> Answer {
        self.try_one(command).await.unwrap()
    }

    /// A batch in which every command must pass.
    pub async fn must_all(&self, commands: impl IntoIterator<Item = impl Into<Command>>) -> Vec<Answer> {
        let answers = self.perform(commands).await.unwrap();
        answers.into_iter().map(Result::unwrap).collect()
    }

    pub async fn must_grant(&self, lease: decisions::leases::Lease) -> Granted {
        match self.must(lease).await {
            Answer::Granted(granted) => *granted,
            other => panic!("no grant, but {other:?}"),
        }
    }

    /// Writes records that no decision made.
    pub async fn forge(&self, changes: Changes) -> Result<(), StoreError> {
        self.forge_after(&[], changes).await
    }

    /// Likewise, over records that were loaded.
    pub async fn forge_after(&self, asks: &[Ask], changes: Changes) -> Result<(), StoreError> {
        let mut loaded = self.load(asks).await;
        loaded.book.apply(changes);
        self.store.save(loaded.session, loaded.book).await
    }

    /// What may be claimed, lane by lane.
    pub async fn claimable(&self, limit: usize) -> Vec<MessageId> {
        let mut ready = Vec::new();
        for lane in self.store.lanes_ready(self.now(), None, ALL).await.unwrap() {
            ready.extend(self.store.deliveries_ready_of(&lane, self.now(), limit).await.unwrap());
        }
        ready
    }

    pub async fn job(&self, id: JobId) -> JobFile {
        self.store.job_file(id).await.unwrap().expect("the job is there")
    }

    pub async fn run(&self, id: RunId) -> decisions::records::Run {
        self.store.run(id).await.unwrap().expect("the run is there")
    }

    pub async fn contents(&self) -> Contents {
        contents(&*self.store).await
    }
}

pub fn asks_of(commands: &[Command]) -> Vec<Ask> {
    let mut asks = Vec::new();
    commands.iter().for_each(|command| command.asks(&mut asks));
    merged(asks)
}

/// Decides in order, each on what the ones before have left.
pub fn decide_all(book: &mut Book, commands: &[Command], now: Time, policy: &Policy) -> Answers {
    let decided = commands.iter().map(|command| {
        let decision = decide(book, command, now, policy)?;
        book.apply(decision.changes);
        Ok(decision.answer)
    });
    decided.collect()
}

/// Everything that can be asked of a store.
#[derive(Debug, PartialEq)]
pub struct Contents {
    pub tenants: Vec<decisions::records::Tenant>,
    pub queues: Vec<decisions::records::Queue>,
    pub jobs: Vec<JobFile>,
    pub runs: Vec<RunFile>,
    pub deliveries: Vec<Delivery>,
    pub events: Vec<Event>,
    pub tokens: Vec<Token>,
    pub runners: Vec<Runner>,
    pub queues_ready: Vec<QueueId>,
    pub live: Vec<(Execution, TenantId)>,
    pub logs: Vec<(Log, Vec<LogChunk>)>,
    pub log_files: Vec<LogFile>,
    pub blobs: Vec<BlobFile>,
    pub usages: Vec<Usage>,
    pub versions: Vec<Version>,
    /// Those that the log knows.
    pub uploads: Vec<Upload>,
    pub collector: Collector,
    /// For every key that a job has.
    pub successes: Vec<(Digest, RunId, JobId)>,
}

pub async fn contents<S: Store>(store: &S) -> Contents {
    let tenants = store.tenants().await.unwrap();
    let jobs = store.job_files_after(None, ALL).await.unwrap();
    let (mut tokens, mut runners) = (Vec::new(), Vec::new());
    for tenant in tenants.iter().map(|tenant| Some(tenant.id)).chain([None]) {
        tokens.extend(store.tokens_of(tenant, None, ALL).await.unwrap());
        runners.extend(store.runners_of(tenant, None, ALL).await.unwrap());
    }
    let mut logs = Vec::new();
    for execution in jobs.iter().flat_map(|file| &file.executions) {
        if let Some(log) = store.log(execution.id).await.unwrap() {
            logs.push((log, store.log_chunks(execution.id, 0, ALL).await.unwrap()));
        }
    }
    let (mut usages, mut versions) = (Vec::new(), Vec::new());
    for tenant in &tenants {
        usages.push(store.usage(tenant.id).await.unwrap());
        versions.extend(store.versions_of(tenant.id, None, None, ALL).await.unwrap());
    }
    let events = store.events_after(0, ALL).await.unwrap();
    let mut uploads = Vec::new();
    let begun = events.iter().filter(|event| event.machine == "upload" && event.from.is_none());
    for id in begun.map(|event| event.entity.parse().unwrap()) {
        uploads.push(store.upload(id).await.unwrap().expect("an upload that the log knows is there"));
    }
    let keys: BTreeSet<(TenantId, Digest)> =
        jobs.iter().filter_map(|file| Some((file.job.tenant, file.job.input_key?))).collect();
    let mut successes = Vec::new();
    for (tenant, key) in keys {
        successes.extend(store.successes(tenant, &[key]).await.unwrap());
    }
    Contents {
        successes,
        tokens,
        runners,
        logs,
        log_files: store.log_files_after(None, ALL).await.unwrap(),
        blobs: store.blob_files_after(None, ALL).await.unwrap(),
        usages,
        versions,
        uploads,
        collector: store.collector().await.unwrap(),
        queues_ready: store.queues_ready().await.unwrap(),
        live: store.executions_live(ALL).await.unwrap(),
        tenants,
        queues: store.queues_named(jobs.iter().map(|file| file.job.queue).collect()).await.unwrap(),
        jobs,
        runs: store.run_files_after(None, ALL).await.unwrap(),
        deliveries: store.deliveries_after(None, ALL).await.unwrap(),
        events,
    }
}

impl Contents {
    /// What the doctor finds, and whether the whole log leads to what is stored; empty when sound.
    pub fn problems(&self) -> Vec<String> {
        let jobs = self.jobs.iter().flat_map(check_job);
        let runs = self.runs.iter().flat_map(check_run);
        let findings = jobs.chain(runs).chain(self.deliveries.iter().flat_map(check_delivery));
        let bytes = self.log_files.iter().flat_map(check_log_file);
        let findings = findings.chain(bytes).chain(self.blobs.iter().flat_map(check_blob));
        let mut problems: Vec<String> = findings.map(|finding| format!("{finding:?}")).collect();
        let numbers: Vec<i64> = self.events.iter().map(|event| event.seq).collect();
        if numbers != (1..=numbers.len() as i64).collect::<Vec<_>>() {
            problems.push(format!("the log is numbered {numbers:?}"));
        }
        match replay(&self.events) {
            Ok(replayed) if replayed == self.states() => {}
            Ok(replayed) => problems.push(format!("the log leads to {replayed:?}, not {:?}", self.states())),
            Err(problem) => problems.push(problem),
        }
        problems.extend(self.logs.iter().filter_map(|(log, chunks)| log_problem(log, chunks)));
        problems
    }

    /// The state of everything that has one, by machine and entity.
    fn states(&self) -> BTreeMap<(String, String), String> {
        let mut states = BTreeMap::new();
        let mut note = |machine: &str, entity: String, state: &str| {
            states.insert((machine.to_owned(), entity), state.to_owned());
        };
        for tenant in &self.tenants {
            note("tenant", tenant.id.to_string(), tenant.state.get().as_str());
        }
        for RunFile { run, .. } in &self.runs {
            note("run", run.id.to_string(), run.state.get().as_str());
        }
        for attempt in self.jobs.iter().flat_map(|file| &file.attempts) {
            note("attempt", attempt.key.to_string(), attempt.state.get().as_str());
        }
        for execution in self.jobs.iter().flat_map(|file| &file.executions) {
            note("lease", execution.id.to_string(), execution.lease.get().as_str());
            note("execution", execution.id.to_string(), execution.status.get().as_str());
        }
        for BlobFile { blob, .. } in &self.blobs {
            note("blob", blob.id.to_string(), blob.state.get().as_str());
        }
        for version in &self.versions {
            note("version", version.id.to_string(), version.state.get().as_str());
        }
        for upload in &self.uploads {
            note("upload", upload.id.to_string(), upload.state.get().as_str());
        }
        for delivery in &self.deliveries {
            note("delivery", delivery.id.to_string(), delivery.state.get().as_str());
        }
        states
    }
}

/// The head and the tail are there without a gap, and no chunk lies in both.
fn log_problem(log: &Log, chunks: &[LogChunk]) -> Option<String> {
    if log.blob.is_some() {
        return None; // the doctor has looked
    }
    let (head, tail): (Vec<&LogChunk>, Vec<&LogChunk>) = chunks.iter().partition(|it| it.offset < log.head);
    let joined = |chunks: &[&LogChunk]| chunks.windows(2).all(|pair| pair[0].end() == pair[1].offset);
    let ends = |chunks: &[&LogChunk], end: u64| chunks.last().map_or(0, |it| it.end()) == end;
    let has_tail = log.received > log.head;
    let sound = joined(&head)
        && head.first().is_none_or(|first| first.offset == 0)
        && ends(&head, log.head)
        && joined(&tail)
        && tail.is_empty() != has_tail
        && (!has_tail || ends(&tail, log.received))
        && tail.first().is_none_or(|first| first.offset <= log.tail_from && first.end() > log.tail_from);
    (!sound).then(|| format!("{log:?} is kept as {chunks:?}"))
}
