//! `deltaci bench kernel`: lifecycles per second from many callers, beside the raw limit of the same store.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use decisions::Policy;
use server::{Clock, Engine};
use store::{Postgres, Sqlite, Store};

use crate::bench::callers::{Caller, STEP_NAMES, Steps, Watch, tenant};
use crate::bench::limit::{self, Limit};
use crate::bench::report::{Measured, Report, Spread};
use crate::bench::scale;
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
    #[arg(long, default_value_t = 256)]
    callers: usize,
    /// How long each measurement runs
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Also: leases in long queues, steps in large runs, memory (takes minutes)
    #[arg(long)]
    scale: bool,
    /// For --scale: how long a long queue is
    #[arg(long, default_value_t = 1_000_000)]
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
    progress("");
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.print();
    }
    Ok(Exit::Success.into())
}

async fn measure(args: &Args) -> Result<Report> {
    let seconds = Duration::from_secs(args.seconds);
    match args.store {
        Kind::Sqlite => {
            // Beside the data it will hold in real life: on a disk, not in memory.
            let folder = tempfile::tempdir_in(".").context("a folder for the benchmark")?;
            progress("raw limit of SQLite");
            let limit = limit::sqlite(&folder.path().join("raw.db"), seconds).context("the raw limit")?;
            let store = Sqlite::open(&folder.path().join("deltaci.db"))?;
            measure_store(args, store, "sqlite", limit).await
        }
        Kind::Postgres => {
            let address = args.database.as_deref().ok_or_else(|| Problem {
                exit: Exit::Usage,
                message: "--store postgres needs --database postgres://…; `cargo xtask postgres -- COMMAND` gives one"
                    .into(),
            })?;
            progress("raw limit of PostgreSQL");
            let limit = limit::postgres(address, seconds).await.context("the raw limit")?;
            let store = Postgres::open(address).await?;
            measure_store(args, store, "postgres", limit).await
        }
    }
}

async fn measure_store<S: Store>(args: &Args, store: S, name: &'static str, limit: Limit) -> Result<Report> {
    let engine = Engine::start(Arc::new(store), Clock::start(), Policy::default());
    progress("lifecycles");
    let mut report = Report::new(name, args.callers, limit);
    report.lifecycles = lifecycles(&engine, args.callers, Duration::from_secs(args.seconds)).await?;
    if args.scale {
        report.scale = Some(scale::measure(&engine, args.queued).await?);
    }
    engine.stop().await;
    Ok(report.finish())
}

/// All callers run lifecycles until the time is up; a lifecycle counts when its last answer is there.
async fn lifecycles<S: Store>(engine: &Engine<S>, callers: usize, seconds: Duration) -> Result<Measured> {
    let tenant = tenant(engine).await?;
    let done = Arc::new(AtomicU64::new(0));
    let mut watch = Watch::start();
    let tasks: Vec<_> = (0..callers)
        .map(|number| {
            let caller = Caller::new(engine, tenant, &format!("runner-{number}"), &["os:linux"]);
            let done = done.clone();
            tokio::spawn(async move {
                let mut steps: Vec<Steps> = Vec::new();
                let mut clock = Watch::start();
                let mut spent = Duration::ZERO;
                while spent < seconds {
                    steps.push(caller.lifecycle().await?);
                    done.fetch_add(1, Ordering::Relaxed);
                    spent += clock.lap();
                }
                anyhow::Ok(steps)
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.context("a caller ended early")??);
    }
    let elapsed = watch.lap();
    let latencies = STEP_NAMES
        .iter()
        .enumerate()
        .map(|(step, name)| (*name, Spread::of(all.iter().map(|steps| steps[step]).collect())))
        .collect();
    Ok(Measured {
        lifecycles: done.load(Ordering::Relaxed),
        lifecycles_per_second: done.load(Ordering::Relaxed) as f64 / elapsed.as_secs_f64(),
        latencies,
    })
}
