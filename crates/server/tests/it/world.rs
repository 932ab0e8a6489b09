//! A world for scripts: the real `Perform` over a real store, with the clock, the mint and the names of a script.
//!
//! Hints are dropped: they may be lost, and a tick must find the same work.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::words::Words;
use decisions::doctor::{Finding, JobFile, RunFile, check_delivery, check_job, check_run};
use decisions::draft::Stated;
use decisions::records::{Delivery, Entity, Execution, Run, Tenant, Transition};
use decisions::tenants::EnsureTenant;
use decisions::{Answer, Ask, Changes, Command, Policy};
use machines::describe::{Description, Row};
use machines::{Machine, tenant};
use server::perform::{BATCH_MAX, Batch, Failure, Perform, Settled};
use server::ticks;
use store::Store;
use wire::{ExecId, JobId, LeaseId, MessageId, RunId, RunnerId, TenantId, Time};

/// 2026-01-04T08:00:00Z.
pub const BEGIN: Time = Time::from_seconds(1_767_513_600);

/// The most rounds until nothing is due any more.
const ROUNDS_MAX: usize = 100;

/// What a word of a script stands for.
#[derive(Debug, Clone)]
pub enum Named {
    Job(JobId),
    Run(RunId),
    Lease(LeaseName),
    /// A delivery, and the try that was claimed last.
    Message(MessageId, u32),
}

#[derive(Debug, Clone)]
pub struct LeaseName {
    pub lease: LeaseId,
    pub execution: ExecId,
    pub runner: RunnerId,
}

pub struct World<S> {
    pub store: Arc<S>,
    perform: Perform<usize>,
    pub policy: Policy,
    pub now: Time,
    pub tenant: TenantId,
    pub names: BTreeMap<String, Named>,
    number: u16,
    minted: u64,
    log_rows: i64,
}

impl<S: Store> World<S> {
    /// A store with a tenant of this world's own.
    pub async fn begin(store: Arc<S>, policy: Policy) -> World<S> {
        World::begin_as(store, policy, 0).await
    }

    /// Worlds that share a store have different numbers, and with them different ids.
    pub async fn begin_as(store: Arc<S>, policy: Policy, number: u16) -> World<S> {
        let mut world = World {
            store,
            perform: Perform::new(policy.clone()),
            policy,
            now: BEGIN,
            tenant: TenantId::FIRST,
            names: BTreeMap::new(),
            number,
            minted: 0,
            log_rows: 0,
        };
        let id = TenantId::minted(BEGIN, world.random());
        let name = format!("tenant-{number}");
        let answers = world.perform(vec![EnsureTenant { id, name }.into()]).await;
        assert_eq!(answers, [Ok(Answer::TenantReady(id))]);
        world.tenant = id;
        world.log_growth().await;
        world
    }

    /// The process ends and another one begins on the same records.
    pub fn restart(&mut self, store: Arc<S>) {
        self.store = store;
        self.perform = Perform::new(self.policy.clone());
    }

    /// Performs commands in one batch, as far as the core keeps them together; answers come in their order.
    pub async fn perform(&mut self, commands: Vec<Command>) -> Vec<Result<Answer, Failure>> {
        for (ticket, command) in commands.into_iter().enumerate() {
            self.perform.handle_command(command, ticket).expect("a script waits for few commands");
        }
        let mut answers = BTreeMap::new();
        while let Some(batch) = self.perform.poll_batch(BATCH_MAX) {
            answers.extend(self.run_batch(batch).await.answers);
        }
        answers.into_values().collect()
    }

    pub async fn perform_one(&mut self, command: impl Into<Command>) -> Result<Answer, Failure> {
        self.perform(vec![command.into()]).await.remove(0)
    }

    async fn run_batch(&mut self, mut batch: Batch<usize>) -> Settled<usize> {
        let loaded = match self.store.load(&batch.asks(), self.now).await {
            Ok(loaded) => loaded,
            Err(error) => return self.perform.handle_saved(batch, Err(error)),
        };
        let mut book = loaded.book;
        batch.handle_loaded(&mut book, loaded.now);
        let saved = self.store.save(loaded.session, book).await;
        self.perform.handle_saved(batch, saved)
    }

    /// Performs what is due until nothing moves; returns how many commands moved something.
    pub async fn tick(&mut self) -> usize {
        let mut moved = 0;
        for _ in 0..ROUNDS_MAX {
            let due = self.store.due(self.now, ticks::ROUND_MAX).await.expect("the store answers");
            let answers = self.perform(ticks::commands(&due, || 0.5)).await;
            let moves =
                answers.iter().filter(|answer| **answer == Ok(Answer::Settled { moved: true })).count();
            let bug = answers.iter().find(|answer| matches!(answer, Err(Failure::Bug(_))));
            assert!(bug.is_none(), "a due command met a mistake of ours: {bug:?}");
            moved += moves;
            if moves == 0 {
                return moved;
            }
        }
        panic!("after {ROUNDS_MAX} rounds something is still due");
    }

    /// Never the same twice, always the same in the next test run.
    pub fn random<const N: usize>(&mut self) -> [u8; N] {
        self.minted += 1;
        let seed = (self.minted << 16 | u64::from(self.number)).to_be_bytes();
        std::array::from_fn(|index| seed.get(index).copied().unwrap_or(0x5a))
    }
}

/// Past the one way in.
impl<S: Store> World<S> {
    /// Walks the tenant into a state that no command leads to yet.
    pub async fn set_tenant(&mut self, words: &Words<'_>) -> Result<(), String> {
        let mut loaded =
            self.store.load(&[Ask::Tenant(self.tenant)], self.now).await.expect("the store answers");
        let tenant = loaded.book.tenants.peek(&self.tenant).ok_or("there is no tenant")?.clone();
        let state = tenant::State::parse(words.at(0)?).ok_or("a tenant has no such state")?;
        let way = way(tenant.state.get().as_str(), state.as_str()).ok_or("no row leads there")?;
        let transitions = way.into_iter().map(|(from, row)| Transition {
            at: self.now,
            machine: "tenant",
            entity: Entity::Tenant(tenant.id),
            from: Some(from),
            event: row.event,
            to: row.to,
            owner: row.owner,
            cause: "a test needs it there".into(),
        });
        let mut changes = Changes::default();
        changes.appended.transitions.extend(transitions);
        let tenant = Tenant { state: Stated::stored(state), ..tenant };
        changes.tenants = [(tenant.id, tenant)].into();
        loaded.book.apply(changes);
        self.store.save(loaded.session, loaded.book).await.map_err(|error| error.to_string())
    }
}

/// Questions about stored things.
impl<S: Store> World<S> {
    pub async fn job_file(&self, id: JobId) -> JobFile {
        let file = self.store.job_file(id).await.expect("the store answers");
        file.unwrap_or_else(|| panic!("{id} is not stored"))
    }

    pub async fn run_record(&self, id: RunId) -> Run {
        let run = self.store.run(id).await.expect("the store answers");
        run.unwrap_or_else(|| panic!("{id} is not stored"))
    }

    pub async fn run_file(&self, id: RunId) -> RunFile {
        let before = RunId::from_u128(id.as_u128() - 1);
        let page = self.store.run_files_after(Some(before), 1).await.expect("the store answers");
        page.into_iter().find(|file| file.run.id == id).unwrap_or_else(|| panic!("{id} is not stored"))
    }

    pub async fn execution(&self, id: ExecId) -> Option<Execution> {
        let job = self.store.execution_job(id).await.expect("the store answers")?;
        self.job_file(job).await.executions.into_iter().find(|execution| execution.id == id)
    }

    pub async fn deliveries(&self) -> Vec<Delivery> {
        let mut all: Vec<Delivery> = Vec::new();
        loop {
            let after = all.last().map(|delivery| delivery.id);
            let page = self.store.deliveries_after(after, 500).await.expect("the store answers");
            if page.is_empty() {
                all.retain(|delivery| delivery.tenant == self.tenant);
                return all;
            }
            all.extend(page);
        }
    }

    /// How many entries the log got since this was asked last.
    pub async fn log_growth(&mut self) -> i64 {
        let rows = self.store.log_bounds().await.expect("the store answers").rows;
        let before = std::mem::replace(&mut self.log_rows, rows);
        rows - before
    }

    /// What the doctor finds wrong with everything that has a name here.
    pub async fn own_findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for named in self.names.values() {
            match named {
                Named::Job(id) => {
                    let file = self.store.job_file(*id).await.expect("the store answers");
                    findings.extend(file.iter().flat_map(check_job));
                }
                Named::Run(id) if self.store.run(*id).await.expect("the store answers").is_some() => {
                    findings.extend(check_run(&self.run_file(*id).await));
                }
                Named::Run(_) | Named::Lease(_) | Named::Message(..) => {}
            }
        }
        findings.extend(self.deliveries().await.iter().flat_map(check_delivery));
        findings
    }

    /// The shortest name that a script gave to a job.
    pub fn name_of(&self, job: JobId) -> &str {
        let names = self.names.iter().filter(|(_, named)| matches!(named, Named::Job(id) if *id == job));
        names.map(|(name, _)| name.as_str()).min_by_key(|name| name.len()).unwrap_or("?")
    }
}

/// The rows that lead from one state of a tenant to another, the fewest first.
fn way(from: &'static str, to: &str) -> Option<Vec<(&'static str, &'static Row)>> {
    let table = Description::named("tenant").expect("it is one of ours");
    let mut ways = VecDeque::from([(from, Vec::new())]);
    let mut seen = BTreeSet::from([from]);
    while let Some((at, way)) = ways.pop_front() {
        if at == to {
            return Some(way);
        }
        for (from, row) in table.steps().filter(|(from, row)| *from == at && seen.insert(row.to)) {
            ways.push_back((row.to, way.iter().copied().chain([(from, row)]).collect()));
        }
    }
    None
}
