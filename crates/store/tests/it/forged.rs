//! Records that no decision made: every field set, or none that may be missing, with values that are hard to store.

pub mod artifacts;

use std::time::Duration;

use decisions::Changes;
use decisions::draft::Stated;
use decisions::failures::{ClassSet, FailureClass};
use decisions::records::{
    Attempt, AttemptKey, Delivery, EffectRow, Execution, Job, Log, Outcome, Queue, QueueId, Run, Runner,
    RunnerKey, Sweep, Tenant, Token, TokenKind, Trust, Webhook, WebhookKey,
};
use machines::{attempt, delivery, execution, job, lease, run, tenant};
use wire::runner::CompleteStatus;
use wire::{Digest, MessageId, RunId, TenantId, Time, TokenSecret};

use crate::commands::{exec_id, job_id, lease_id, run_id, runner, token_id};

/// Quotes, wildcards, separators, other scripts, a composed and a decomposed ü, beyond the basic plane, control
/// characters; everything but a zero byte.
pub const HARD: &str =
    "'\"`\\ %_;-- \u{1}\t\r\n {}[]$1 größe gro\u{308}ße 日本語 עברית 👩‍🚀 \u{10ffff} \u{feff}";

pub fn at(micros: i64) -> Time {
    Time::from_micros(crate::commands::START.as_micros() + micros)
}

pub fn some_tenant(number: u128) -> Tenant {
    Tenant {
        id: TenantId::from_u128(number),
        name: format!("tenant-{number}"),
        state: Stated::stored(tenant::State::Ready),
        status_message: HARD.into(),
        desired_config: format!("{{{HARD:?}:1}}"),
        version: i64::MAX,
        created_at: at(1),
        updated_at: at(2),
    }
}

pub fn some_queue(tenant: TenantId) -> Queue {
    Queue { id: QueueId(i64::MIN), tenant, requires: vec![String::new(), HARD.into(), "os:linux".into()] }
}

pub fn some_webhook(tenant: TenantId) -> Webhook {
    let key = WebhookKey { tenant, name: HARD.into() };
    Webhook {
        key,
        url: HARD.into(),
        events: vec![HARD.into(), String::new()],
        secret: HARD.to_owned().into(),
        ordered: true,
        turns: i64::MAX,
        removed: true,
    }
}

pub fn full_runner() -> Runner {
    let key = RunnerKey { tenant: None, id: runner("~!@#$%^&*()_+{}|:\"<>?[]\\;',./`") };
    let capabilities = vec![HARD.into(), String::new()];
    Runner { key, capabilities, acks_missed: 2, barred_until: Some(at(5)), last_seen_at: at(-6) }
}

pub fn full_run(number: u128, tenant: TenantId) -> Run {
    Run {
        id: run_id(number),
        tenant,
        state: Stated::stored(run::State::Timeout),
        outcome: Some(run::State::Timeout),
        status_message: HARD.into(),
        attempt: 3,
        rerun_of: Some(RunId::from_u128(number)),
        trigger_key: Some(HARD.into()),
        repository: Some(HARD.into()),
        git_ref: Some("refs/heads/größe".into()),
        commit: Some("c0ffee".into()),
        base: Some(String::new()),
        fail_fast: true,
        trust: Trust::Untrusted,
        group: Some(HARD.into()),
        supersede: true,
        jobs_total: 10_000,
        jobs_open: 9_999,
        required_failed: 7,
        reports_open: 3,
        sweep: Some(Sweep::TimedOut),
        swept_to: Some(job_id(u128::MAX)),
        due_at: Some(at(7)),
        created_at: at(-8),
        updated_at: at(9),
        finished_at: Some(at(10)),
    }
}

pub fn bare_run(number: u128, tenant: TenantId) -> Run {
    Run {
        id: run_id(number),
        tenant,
        state: Stated::stored(run::State::Created),
        outcome: None,
        status_message: String::new(),
        attempt: 1,
        rerun_of: None,
        trigger_key: None,
        repository: None,
        git_ref: None,
        commit: None,
        base: None,
        fail_fast: false,
        trust: Trust::Trusted,
        group: None,
        supersede: false,
        jobs_total: 0,
        jobs_open: 0,
        required_failed: 0,
        reports_open: 0,
        sweep: None,
        swept_to: None,
        due_at: None,
        created_at: at(0),
        updated_at: at(0),
        finished_at: None,
    }
}

pub fn full_job(number: u128, tenant: TenantId, run: RunId, queue: QueueId) -> Job {
    Job {
        id: job_id(number),
        tenant,
        run: Some(run),
        name: HARD.into(),
        key: Some(HARD.into()),
        state: job::State::Canceled,
        required: true,
        effect_once: true,
        priority: i32::MIN,
        queue,
        attempts: 100,
        attempts_max: 100,
        retry_on: ClassSet::of(&FailureClass::ALL),
        timeout: Duration::from_micros(100_000_000_000_001),
        tokens: 12,
        needs_open: 13,
        has_dependents: true,
        counted_failed: true,
        releasing: true,
        released_to: Some(job_id(1)),
        spec_digest: std::array::from_fn(|index| 255 - index as u8),
        input_key: Some(Digest::from_bytes(std::array::from_fn(|index| 200 + index as u8))),
        reusable: false,
        free_at: Some(at(45)),
        created_at: at(-1),
        updated_at: at(1),
    }
}

pub fn bare_job(number: u128, tenant: TenantId, queue: QueueId) -> Job {
    Job {
        id: job_id(number),
        tenant,
        run: None,
        name: String::new(),
        key: None,
        state: job::State::Pending,
        required: false,
        effect_once: false,
        priority: i32::MAX,
        queue,
        attempts: 1,
        attempts_max: 1,
        retry_on: ClassSet::of(&[]),
        timeout: Duration::from_micros(1),
        tokens: 0,
        needs_open: 0,
        has_dependents: false,
        counted_failed: false,
        releasing: false,
        released_to: None,
        spec_digest: [0; 32],
        input_key: None,
        reusable: false,
        free_at: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub fn bare_attempt(job: u128, index: u32, queue: QueueId) -> Attempt {
    Attempt {
        key: AttemptKey { job: job_id(job), index },
        state: Stated::stored(attempt::State::Created),
        queue,
        priority: i32::MIN,
        since: at(0),
        lost_leases: 0,
        execution: None,
        failure_class: None,
        explanation: String::new(),
        created_at: at(0),
        updated_at: at(0),
        finished_at: None,
    }
}

pub fn full_attempt(job: u128, index: u32, queue: QueueId) -> Attempt {
    Attempt {
        state: Stated::stored(attempt::State::Stale),
        priority: i32::MAX,
        since: at(-3),
        lost_leases: 3,
        execution: Some(exec_id(u128::MAX)),
        failure_class: Some(FailureClass::Ambiguous),
        explanation: HARD.into(),
        created_at: at(-4),
        updated_at: at(4),
        finished_at: Some(at(5)),
        ..bare_attempt(job, index, queue)
    }
}

/// Ended, so that any number of them may exist.
pub fn bare_execution(number: u128, attempt: AttemptKey, token: u32) -> Execution {
    Execution {
        id: exec_id(number),
        attempt,
        run: None,
        token,
        runner: runner("r"),
        runner_shared: false,
        lease_hash: lease_id(number).hash(),
        lease: Stated::stored(lease::State::Revoked),
        status: Stated::stored(execution::State::Aborted),
        granted_at: at(0),
        expires_at: at(1),
        timeout_at: None,
        cancel_by: None,
        due_at: None,
        started_at: None,
        finished_at: Some(at(2)),
        commit_said: false,
        outcome: None,
        summary: String::new(),
        artifacts: String::new(),
    }
}

pub fn full_execution(number: u128, attempt: AttemptKey, token: u32, run: RunId) -> Execution {
    Execution {
        run: Some(run),
        runner: full_runner().key.id,
        runner_shared: true,
        lease: Stated::stored(lease::State::Active),
        status: Stated::stored(execution::State::Committed),
        granted_at: at(-1),
        expires_at: at(2),
        timeout_at: Some(at(3)),
        cancel_by: Some(at(4)),
        due_at: Some(at(-5)),
        started_at: Some(at(6)),
        finished_at: None, // it lives
        commit_said: true,
        outcome: Some(Outcome { status: CompleteStatus::Failed, exit_code: i32::MIN }),
        summary: HARD.into(),
        artifacts: format!("[{HARD:?}]"),
        ..bare_execution(number, attempt, token)
    }
}

pub fn bare_delivery(number: u128, tenant: TenantId) -> Delivery {
    Delivery {
        id: MessageId::from_u128(number),
        tenant,
        lane: String::new(),
        turn: 0,
        event: String::new(),
        subject: String::new(),
        url: String::new(),
        body: String::new(),
        state: Stated::stored(delivery::State::Pending),
        tries: 0,
        claims: 0,
        due_at: None,
        reports: None,
        last_error: String::new(),
        created_at: at(0),
        updated_at: at(0),
        delivered_at: None,
    }
}

pub fn full_delivery(number: u128, tenant: TenantId, run: RunId) -> Delivery {
    Delivery {
        lane: HARD.into(),
        turn: i64::MAX,
        event: "run.finished".into(),
        subject: HARD.into(),
        url: HARD.into(),
        body: format!("{{{HARD:?}: 1}}"),
        state: Stated::stored(delivery::State::RetryWait),
        tries: 8,
        claims: 11,
        due_at: Some(at(8)),
        reports: Some(run),
        last_error: HARD.into(),
        created_at: at(-9),
        updated_at: at(9),
        delivered_at: Some(at(10)),
        ..bare_delivery(number, tenant)
    }
}

pub fn some_effect(execution: &Execution, position: u32, kind: &'static str) -> EffectRow {
    EffectRow { job: execution.job(), execution: execution.id, position, kind, body: HARD.into() }
}

pub fn full_token(number: u128, tenant: TenantId) -> Token {
    let id = token_id(number);
    Token {
        id,
        kind: TokenKind::Runner,
        tenant: Some(tenant),
        name: HARD.into(),
        hash: TokenSecret::minted(id, [9; 32]).hash(),
        created_at: at(-3),
        revoked_at: Some(at(3)),
    }
}

pub fn full_log(number: u128) -> Log {
    let most = i64::MAX as u64;
    Log { execution: exec_id(number), received: most, head: most - 2, tail_from: most - 1, blob: None }
}

/// The parents that a job needs, the job, its one attempt and one execution of it.
pub fn little_world() -> Changes {
    let mut changes = Changes::default();
    let tenant = some_tenant(50);
    let queue = some_queue(tenant.id);
    let run = bare_run(50, tenant.id);
    let job = Job { run: Some(run.id), ..bare_job(50, tenant.id, queue.id) };
    let attempt = bare_attempt(50, 1, queue.id);
    let execution = bare_execution(50, attempt.key, 1);
    let delivery = bare_delivery(50, tenant.id);
    let runner = full_runner();
    changes.tenants.insert(tenant.id, tenant);
    changes.queues.insert(queue.id, queue);
    changes.runs.insert(run.id, run);
    changes.jobs.insert(job.id, job);
    changes.attempts.insert(attempt.key, attempt);
    changes.executions.insert(execution.id, execution);
    changes.deliveries.insert(delivery.id, delivery);
    changes.runners.insert(runner.key.clone(), runner);
    let (token, log) = (full_token(50, TenantId::from_u128(50)), full_log(50));
    changes.tokens.insert(token.id, token);
    changes.logs.insert(log.execution, log);
    changes
}
