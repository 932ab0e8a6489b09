//! `deltaci bench kernel`: lifecycles per second from many callers, in turns with the raw limit of the same store.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use decisions::Policy;
use server::{Clock, Engine};
use store::raw::{RawPostgres, RawSqlite};
use store::{Postgres, Sqlite, Store};
use wire::TenantId;

use crate::bench::amounts::{CALLERS_MAX, ITEMS_MAX, ROUNDS_MAX, count, seconds};
use crate::bench::callers::{Caller, Steps, Watch, tenant};
use crate::bench::folder::Folder;
use crate::bench::limit::Raw;
use crate::bench::report::{Report, Round};
use crate::bench::scale;
use crate::bench::told::told;
use crate::output::{Exit, Problem, progress};

#[derive(clap::Args)]
pub struct Args {
    /// The store to measure
    #[arg(long, value_enum, default_value_t = Kind::Sqlite)]
    store: Kind,
    /// For PostgreSQL: a database that may be written to
    #[arg(long, env = "DELTACI_TEST_POSTGRES", hide_env_values = true)]
    database: Option<String>,
    /// Callers at once
    #[arg(long, default_value_t = 256, value_parser = count::<usize>(CALLERS_MAX))]
    callers: usize,
    /// Rounds; in each, the raw limit is measured before and after the lifecycles
    #[arg(long, default_value_t = 5, value_parser = count::<usize>(ROUNDS_MAX))]
    rounds: usize,
    /// How long the lifecycles of a round run
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Also: leases in long queues, steps in large runs, memory (takes minutes)
    #[arg(long)]
    scale: bool,
    /// For --scale: how long a long queue is
    #[arg(long, default_value_t = 1_000_000, value_parser = count::<u64>(ITEMS_MAX))]
    queued: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Sqlite,
    Postgres,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let report = runtime.block_on(measure(args))?;
    told(&report, json, Report::tell)
}

async fn measure(args: &Args) -> Result<Report> {
    match args.store {
        Kind::Sqlite => {
            // Where data would be in real life: on a disk, not in memory.
            let folder = Folder::make()?;
            let raw = RawSqlite::open(&folder.path().join("raw.db")).context("the raw limit")?;
            let store = Sqlite::open(&folder.path().join("deltaci.db"))?;
            measure_store(args, store, "sqlite", Raw::Sqlite(raw)).await
        }
        Kind::Postgres => {
            let address = args.database.as_deref().ok_or_else(|| Problem {
                exit: Exit::Usage,
                message: "--store postgres needs --database postgres://…; `cargo xtask postgres -- COMMAND` gives one"
                    .into(),
            })?;
            let raw = RawPostgres::open(address).await.context("the raw limit")?;
            let store = Postgres::open(address).await?;
            measure_store(args, store, "postgres", Raw::Postgres(raw)).await
        }
    }
}

async fn measure_store<S: Store>(args: &Args, store: S, name: &'static str, raw: Raw) -> Result<Report> {
    let engine = Engine::start(Arc::new(store), Clock::start(), Policy::default());
    let tenant = tenant(&engine).await?;
    let mut rounds = Vec::new();
    for number in 1..=args.rounds {
        progress(&format!("round {number} of {}", args.rounds));
        rounds.push(round(args, &engine, tenant, &raw).await?);
    }
    raw.close().await?;
    let scale = match args.scale {
        true => Some(scale::measure(&engine, tenant, args.queued).await?),
        false => None,
    };
    engine.stop().await;
    Ok(Report::new(name, args.callers, rounds, scale))
}

const ROWS_A_TRANSACTION: u64 = 100;

/// The raw limit before and after: a disk that is slow now was slow for both.
async fn round<S: Store>(args: &Args, engine: &Engine<S>, tenant: TenantId, raw: &Raw) -> Result<Round> {
    let seconds = Duration::from_secs_f64(args.seconds);
    let before = raw.rate(ROWS_A_TRANSACTION, seconds / 4).await?;
    let (lifecycles_per_second, steps) = lifecycles(args.callers, engine, tenant, seconds).await?;
    let after = raw.rate(ROWS_A_TRANSACTION, seconds / 4).await?;
    Ok(Round {
        lifecycles_per_second,
        raw_rows_per_second: (before + after) / 2.0,
        raw_commits_per_second: raw.rate(1, seconds / 8).await?,
        steps,
    })
}

/// All callers run lifecycles until the time is up; a lifecycle counts when its last answer is there.
async fn lifecycles<S: Store>(
    callers: usize,
    engine: &Engine<S>,
    tenant: TenantId,
    seconds: Duration,
) -> Result<(f64, Vec<Steps>)> {
    let mut watch = Watch::start();
    let tasks: Vec<_> = (0..callers)
        .map(|number| {
            let caller = Caller::new(engine, tenant, &format!("runner-{number}"), &["os:linux"]);
            tokio::spawn(async move {
                let mut steps: Vec<Steps> = Vec::new();
                let mut watch = Watch::start();
                let mut spent = Duration::ZERO;
                while spent < seconds {
                    steps.push(caller.lifecycle().await?);
                    spent += watch.lap();
                }
                anyhow::Ok(steps)
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.context("a caller ended early")??);
    }
    Ok((all.len() as f64 / watch.lap().as_secs_f64(), all))
}
