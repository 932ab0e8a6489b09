//! Commands as a server would make them, with ids from small numbers so that a test can name them again.

use decisions::deliveries::{ClaimDelivery, DeliveryDelivered, DeliveryFailed};
use decisions::jobs::SubmitJob;
use decisions::leases::{Ack, Commit, Complete, Heartbeat, Lease, Wanted};
use decisions::logs::AppendLog;
use decisions::records::{Plan, PlanJob, Queue, QueueId, RunnerKey, TokenKind, Trust};
use decisions::runs::{CancelRun, CreateRun, RunOrigin};
use decisions::tenants::{EnsureTenant, PutWebhook};
use decisions::tokens::CreateToken;
use serde_json::json;
use serde_json::value::RawValue;
use wire::runner::{CompleteStatus, Effect};
use wire::{ExecId, JobId, LeaseId, MessageId, RunId, RunnerId, TenantId, Time, TokenId, TokenSecret};

/// When the process's clock starts, on stores that have none of their own.
pub const START: Time = Time::from_seconds(1_767_513_600);

pub fn tenant() -> TenantId {
    TenantId::from_u128(1)
}

pub fn ensure_tenant() -> EnsureTenant {
    EnsureTenant { id: tenant(), name: "default".into() }
}

pub fn job_id(number: u128) -> JobId {
    JobId::from_u128(number)
}

pub fn run_id(number: u128) -> RunId {
    RunId::from_u128(number)
}

pub fn exec_id(number: u128) -> ExecId {
    ExecId::from_u128(number)
}

pub fn lease_id(number: u128) -> LeaseId {
    let mut random = [0; 32];
    random[..16].copy_from_slice(&number.to_be_bytes());
    LeaseId::minted(exec_id(number), random)
}

pub fn runner(name: &str) -> RunnerId {
    RunnerId::parse(name).unwrap()
}

/// A runner that all tenants share.
pub fn shared(name: &str) -> RunnerKey {
    RunnerKey { tenant: None, id: runner(name) }
}

/// The queue of jobs that ask for these capabilities.
pub fn queue(requires: &[&str]) -> QueueId {
    let requires: Vec<String> = requires.iter().map(|it| (*it).into()).collect();
    Queue::for_requirements(tenant(), &requires).id
}

pub fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.into()).unwrap()
}

pub fn submit(number: u128) -> SubmitJob {
    SubmitJob {
        id: job_id(number),
        tenant: tenant(),
        key: None,
        payload: raw("{}"),
        runs_on: vec![],
        priority: 0,
        attempts_max: None,
        timeout_seconds: None,
        effect_once: false,
    }
}

/// A lease on whatever is ready, by a runner that needs nothing special.
pub fn lease(number: u128) -> Lease {
    lease_from(number, &[queue(&[])])
}

pub fn lease_from(number: u128, queues: &[QueueId]) -> Lease {
    Lease {
        runner: runner("r1"),
        tenant: None,
        capabilities: vec!["os:linux".into()],
        wanted: Wanted::Any(queues.to_vec()),
        execution: exec_id(number),
        lease: lease_id(number),
    }
}

pub fn lease_job(number: u128, job: JobId) -> Lease {
    Lease { wanted: Wanted::Job(job), ..lease(number) }
}

pub fn ack(lease: &Lease) -> Ack {
    Ack { lease: lease.lease.key(), runner: lease.runner.clone() }
}

pub fn heartbeat(lease: &Lease) -> Heartbeat {
    Heartbeat { lease: lease.lease.key(), runner: lease.runner.clone(), phase: None }
}

pub fn commit(lease: &Lease, effects: Vec<Effect>) -> Commit {
    Commit { lease: lease.lease.key(), runner: lease.runner.clone(), effects }
}

pub fn append(lease: &Lease, offset: u64, bytes: &[u8]) -> AppendLog {
    AppendLog { lease: lease.lease.key(), offset, bytes: bytes.into() }
}

pub fn token_id(number: u128) -> TokenId {
    TokenId::from_u128(number)
}

/// A token of the tenant's.
pub fn token(number: u128) -> CreateToken {
    let id = token_id(number);
    CreateToken {
        id,
        hash: TokenSecret::minted(id, [7; 32]).hash(),
        kind: TokenKind::Tenant,
        tenant: Some(tenant()),
        name: format!("token {number}"),
    }
}

pub fn complete(lease: &Lease) -> Complete {
    Complete {
        lease: lease.lease.key(),
        runner: lease.runner.clone(),
        status: CompleteStatus::Succeeded,
        exit_code: 0,
        summary: "all well".into(),
        artifacts: "[]".into(),
        stored: None,
        saves: None,
    }
}

/// A failure of a class that is retried, if the summary names one.
pub fn fail(lease: &Lease, summary: &str) -> Complete {
    Complete { status: CompleteStatus::Failed, exit_code: 1, summary: summary.into(), ..complete(lease) }
}

pub fn plan_job(name: &str, needs: &[&str]) -> PlanJob {
    serde_json::from_value(json!({ "name": name, "needs": needs, "spec": { "name": name } })).unwrap()
}

/// A run with these jobs, planned already.
pub fn run(number: u128, plan: impl Into<Plan>) -> CreateRun {
    CreateRun {
        id: run_id(number),
        tenant: tenant(),
        trigger_key: None,
        origin: RunOrigin::default(),
        trust: Trust::default(),
        fail_fast: false,
        plan: Some(plan.into()),
    }
}

/// A run of `width` jobs that need nothing.
pub fn wide_run(number: u128, width: usize) -> CreateRun {
    run(number, (0..width).map(|index| plan_job(&format!("job-{index}"), &[])).collect::<Vec<_>>())
}

/// A run of one job and `width` others that need it.
pub fn fan_out(number: u128, width: usize) -> CreateRun {
    let mut plan = vec![plan_job("first", &[])];
    plan.extend((0..width).map(|index| plan_job(&format!("job-{index}"), &["first"])));
    run(number, plan)
}

pub fn cancel_run(number: u128) -> CancelRun {
    CancelRun { tenant: tenant(), run: run_id(number), reason: "enough".into() }
}

pub fn webhook(name: &str, events: &[&str]) -> PutWebhook {
    PutWebhook {
        tenant: tenant(),
        name: name.into(),
        url: format!("https://example.org/{name}"),
        events: events.iter().map(|event| (*event).into()).collect(),
        secret: "a secret of some length".to_owned().into(),
        ordered: false,
    }
}

pub fn claim(delivery: MessageId) -> ClaimDelivery {
    ClaimDelivery { delivery }
}

pub fn delivered(delivery: MessageId, claim: u32) -> DeliveryDelivered {
    DeliveryDelivered { delivery, claim }
}

pub fn undelivered(delivery: MessageId, claim: u32) -> DeliveryFailed {
    DeliveryFailed { delivery, claim, error: "connection refused".into(), jitter: 0.0 }
}
