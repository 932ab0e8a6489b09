//! The binary as a user meets it: what it prints, what it exits with, on databases made by the real engine.

mod artifacts;
mod bench;
mod client;
#[path = "../../../runner/tests/it/depot/mod.rs"]
mod depot;
mod doctor;
mod e2e;
mod explain;
mod harness;
mod local;
mod machines;
mod outbox;
mod runner;
mod serving;
mod verify;

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use decisions::jobs::SubmitJob;
use decisions::leases::{Ack, Complete, Lease, Wanted};
use decisions::records::Queue;
use decisions::tenants::EnsureTenant;
use decisions::{Answer, Policy};
use serde_json::value::RawValue;
use server::{Clock, Engine, Mint};
use store::Sqlite;
use wire::runner::CompleteStatus;
use wire::{ExecId, JobId, RunnerId, TenantId};

fn deltaci(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deltaci"));
    command
        .args(words)
        .env_remove("DELTACI_DATABASE")
        .env_remove("DELTACI_DATA")
        .env_remove("DELTACI_TOKEN")
        .env_remove("DELTACI_SERVER")
        .env("NO_COLOR", "1");
    command.output().expect("the binary starts")
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("stdout is text")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("stderr is text")
}

/// A job that a tenant named so.
fn submitted(file: &Path, tenant: &str, key: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = Engine::start(Arc::new(Sqlite::open(file).unwrap()), Clock::start(), Policy::default());
        let (id, name) = (Mint.tenant(engine.clock().now()), tenant.to_owned());
        engine.perform(EnsureTenant { id, name }).await.unwrap();
        let payload = RawValue::from_string("{}".into()).unwrap();
        engine.perform(submission(Mint.job(engine.clock().now()), id, Some(key), payload)).await.unwrap();
        engine.stop().await;
    });
}

/// One job that was submitted, leased, acknowledged and completed.
fn finished_job(file: &Path) -> (JobId, ExecId) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let made = runtime.block_on(async {
        let engine = Engine::start(Arc::new(Sqlite::open(file).unwrap()), Clock::start(), Policy::default());
        let now = engine.clock().now();
        let tenant = Mint.tenant(now);
        engine.perform(EnsureTenant { id: tenant, name: "default".into() }).await.unwrap();
        let job = Mint.job(now);
        let payload = RawValue::from_string("{}".into()).unwrap();
        engine.perform(submission(job, tenant, None, payload)).await.unwrap();
        let (runner, execution) = (RunnerId::parse("a").unwrap(), Mint.execution(now));
        let lease = Mint.lease(execution);
        let key = lease.key();
        let wanted = Wanted::Any(vec![Queue::for_requirements(tenant, &[]).id]);
        engine
            .perform(Lease {
                runner: runner.clone(),
                tenant: None,
                capabilities: vec![],
                wanted,
                execution,
                lease,
            })
            .await
            .unwrap();
        engine.perform(Ack { lease: key, runner: runner.clone() }).await.unwrap();
        let complete = Complete {
            lease: key,
            runner,
            status: CompleteStatus::Succeeded,
            exit_code: 0,
            summary: String::new(),
            artifacts: String::new(),
            stored: None,
            saves: None,
        };
        assert_eq!(engine.perform(complete).await.unwrap(), Answer::Completed { accepted: true });
        engine.stop().await;
        (job, execution)
    });
    drop(runtime);
    await_put_away(file);
    made
}

/// Until everything is in the file itself: a thread that outlives the store sees to that.
fn await_put_away(file: &Path) {
    let log = file.with_extension("db-wal");
    let until = Instant::now() + Duration::from_secs(60);
    while std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        assert!(Instant::now() < until, "somebody has {} open", log.display());
        std::thread::yield_now();
    }
}

fn submission(id: JobId, tenant: TenantId, key: Option<&str>, payload: Box<RawValue>) -> SubmitJob {
    SubmitJob {
        id,
        tenant,
        key: key.map(str::to_owned),
        payload,
        runs_on: vec![],
        priority: 0,
        attempts_max: None,
        timeout_seconds: None,
        effect_once: false,
    }
}
