//! A server reduced to its core: load, decide, save. Several of them may share a database.

use std::sync::atomic::{AtomicU64, Ordering};

use decisions::records::{PlanJob, Queue, Trust};
use decisions::runs::{CreateRun, RunOrigin};
use decisions::tenants::EnsureTenant;
use decisions::{Answer, Command, Policy, Refusal, decide, jobs, leases};
use store::{Loaded, Postgres, Store, StoreError};
use wire::runner::CompleteStatus;
use wire::{ExecId, JobId, LeaseId, RunId, RunnerId, TenantId, Time};

pub struct Server {
    pub store: Postgres,
    pub policy: Policy,
}

pub type Answers = Vec<Result<Answer, Refusal>>;
pub type Prepared = (Loaded<<Postgres as Store>::Session>, Answers);

impl Server {
    pub async fn start(url: &str) -> Server {
        let server = Server { store: Postgres::open(url).await.unwrap(), policy: Policy::default() };
        server.perform([EnsureTenant { id: tenant(), name: "default".into() }.into()]).await.unwrap();
        server
    }

    /// Everything but the save.
    pub async fn prepare(&self, commands: impl IntoIterator<Item = Command>) -> Result<Prepared, StoreError> {
        let commands: Vec<Command> = commands.into_iter().collect();
        let mut asks = Vec::new();
        commands.iter().for_each(|command| command.asks(&mut asks));
        let mut loaded = self.store.load(&asks, Time::from_seconds(0)).await?;
        let mut answers = Vec::new();
        for command in &commands {
            let decision = decide(&loaded.book, command, loaded.now, &self.policy);
            answers.push(decision.map(|decision| {
                loaded.book.apply(decision.changes);
                decision.answer
            }));
        }
        Ok((loaded, answers))
    }

    pub async fn finish(&self, (loaded, answers): Prepared) -> Result<Answers, StoreError> {
        self.store.save(loaded.session, loaded.book).await?;
        Ok(answers)
    }

    pub async fn perform(&self, commands: impl IntoIterator<Item = Command>) -> Result<Answers, StoreError> {
        let prepared = self.prepare(commands).await?;
        self.finish(prepared).await
    }

    /// One command that must pass.
    pub async fn must(&self, command: impl Into<Command>) -> Answer {
        self.perform([command.into()]).await.unwrap().pop().unwrap().unwrap()
    }

    pub async fn submit(&self) -> JobId {
        let command = submit();
        let id = command.id;
        self.must(command).await;
        id
    }
}

pub fn number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

pub fn tenant() -> TenantId {
    TenantId::from_u128(1)
}

pub fn runner(name: &str) -> RunnerId {
    RunnerId::parse(name).unwrap()
}

pub fn queue() -> Queue {
    Queue::for_requirements(tenant(), &[])
}

pub fn submit() -> jobs::SubmitJob {
    jobs::SubmitJob {
        id: JobId::from_u128(number().into()),
        tenant: tenant(),
        key: None,
        payload: serde_json::value::RawValue::from_string("{}".into()).unwrap(),
        runs_on: vec![],
        priority: 0,
        attempts_max: None,
        timeout_seconds: None,
        effect_once: false,
    }
}

pub fn lease(name: &str) -> leases::Lease {
    let number = number();
    let mut secret = [0; 32];
    secret[..8].copy_from_slice(&number.to_be_bytes());
    leases::Lease {
        runner: runner(name),
        tenant: None,
        capabilities: vec![],
        wanted: leases::Wanted::Any(vec![queue().id]),
        execution: ExecId::from_u128(number.into()),
        lease: LeaseId::minted(ExecId::from_u128(number.into()), secret),
    }
}

pub fn ack(lease: &leases::Lease) -> leases::Ack {
    leases::Ack { lease: lease.lease.key(), runner: lease.runner.clone() }
}

pub fn heartbeat(lease: &leases::Lease) -> leases::Heartbeat {
    leases::Heartbeat { lease: lease.lease.key(), runner: lease.runner.clone(), phase: None }
}

pub fn complete(lease: &leases::Lease) -> leases::Complete {
    leases::Complete {
        lease: lease.lease.key(),
        runner: lease.runner.clone(),
        status: CompleteStatus::Succeeded,
        exit_code: 0,
        summary: String::new(),
        artifacts: String::new(),
        stored: None,
        saves: None,
    }
}

/// A run of `width` jobs and one that needs them all.
pub fn run_of(width: usize) -> CreateRun {
    let job = |name: String, needs: Vec<String>| -> PlanJob {
        serde_json::from_value(serde_json::json!({ "name": name, "needs": needs, "spec": {} })).unwrap()
    };
    let names: Vec<String> = (0..width).map(|number| format!("job-{number}")).collect();
    let mut plan: Vec<PlanJob> = names.iter().map(|name| job(name.clone(), vec![])).collect();
    plan.push(job("last".into(), names));
    CreateRun {
        id: RunId::from_u128(number().into()),
        tenant: tenant(),
        trigger_key: None,
        origin: RunOrigin::default(),
        trust: Trust::default(),
        fail_fast: false,
        plan: Some(plan.into()),
    }
}

pub fn granted(answers: &Answers) -> Vec<JobId> {
    let jobs = answers.iter().filter_map(|answer| match answer {
        Ok(Answer::Granted(granted)) => Some(granted.job),
        Ok(_) | Err(_) => None,
    });
    jobs.collect()
}
