//! `deltaci explain ID`: what happened to one thing, and why; asked of a server, or read from a data directory.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::builder::NonEmptyStringValueParser;
use server::Clock;
use server::explain::{explain, jobs_named};
use store::Store;
use wire::api::{AuditEvent, PlanView, PlannedJobView};
use wire::{JobId, RunId};

use crate::api::Connection;
use crate::database::{Address, Database, Opened, Pointed, block_on};
use crate::output::{self, Exit, Problem, usage};
use crate::view;
use crate::view::screen::Screen;

/// Without --server or DELTACI_SERVER, or with --data or --database, the database itself is read.
#[derive(clap::Args)]
pub struct Args {
    /// run_…, job_… or the name its submitter gave it, job_…/2 (an attempt), exec_… (with its lease), upl_…, ver_…, blob_…, msg_… or ten_…
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    id: String,
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    pointed: Pointed,
    #[command(flatten)]
    connection: Connection,
}

/// What happened to a thing, and what was planned for it.
struct Told {
    events: Vec<AuditEvent>,
    plan: Option<Planned>,
}

/// The plan of a run; of a job, the plan of its run and the job's name in it.
struct Planned {
    plan: PlanView,
    job: Option<String>,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let from_server = args.connection.is_named() && !args.pointed.at_database;
    let told = if from_server { from_server_of(args)? } else { from_database_of(args)? };
    let place = if from_server { "the tenant" } else { "the database" };
    let Told { events, plan } =
        told.ok_or_else(|| usage(format!("nothing is known of `{}`; check the id and {place}", args.id)))?;
    if json {
        output::json(&events)?;
        return Ok(Exit::Success.into());
    }
    let screen = Screen::stdout();
    let mut text = view::timeline::text(screen, &events);
    if let Some(Planned { plan, job }) = plan {
        let named = |planned: &PlannedJobView| job.as_ref().is_none_or(|job| *job == planned.name);
        text.push('\n');
        text.push_str(&view::run::planned(screen, &plan, named, Clock::start().now()));
    }
    output::write(text.as_bytes())?;
    Ok(Exit::Success.into())
}

fn from_server_of(args: &Args) -> Result<Option<Told>> {
    let server = args.connection.open()?;
    block_on(async {
        let events = match server.events(&args.id).await {
            Err(error) if error.is("entity_not_found") => return Ok(None),
            events => events?,
        };
        let (run, job) = if args.id.parse::<RunId>().is_ok() {
            (Some(args.id.clone()), None)
        } else if args.id.parse::<JobId>().is_ok() {
            let job = server.job(&args.id).await?;
            (job.run_id.map(|run| run.to_string()), Some(job.name))
        } else {
            (None, None)
        };
        let plan = match run {
            Some(run) => server.run(&run).await?.plan,
            None => None,
        };
        Ok(Some(Told { events, plan: plan.map(|plan| Planned { plan, job }) }))
    })
}

fn from_database_of(args: &Args) -> Result<Option<Told>> {
    if let Address::OfData(path) = args.database.address()?
        && !path.exists()
    {
        let message = format!(
            "{} holds no records of runs; --data DIR names where they are, --server URL a server",
            args.database.data.display()
        );
        return Err(Problem { exit: Exit::Infrastructure, message }.into());
    }
    block_on(async {
        match args.database.open_existing().await? {
            Opened::Sqlite(store) => told(&store, &args.id).await,
            Opened::Postgres(store) => told(&*store, &args.id).await,
        }
    })
}

/// The job that its submitter named so. A name is one tenant's, and here are those of all.
async fn named<S: Store>(store: &S, name: &str) -> Result<Option<JobId>> {
    let jobs = jobs_named(store, name).await?;
    if jobs.len() > 1 {
        let ids = jobs.iter().map(JobId::to_string).collect::<Vec<_>>().join(", ");
        return Err(usage(format!("jobs of several tenants are named `{name}`; take one of the ids {ids}")));
    }
    Ok(jobs.first().copied())
}

async fn told<S: Store>(store: &S, id: &str) -> Result<Option<Told>> {
    let (mut id, mut events) = (id.to_owned(), explain(store, id).await?);
    if events.is_none()
        && let Some(job) = named(store, &id).await?
    {
        (id, events) = (job.to_string(), explain(store, &job.to_string()).await?);
    }
    let Some(events) = events else { return Ok(None) };
    let (run, job) = match (id.parse::<RunId>(), id.parse::<JobId>()) {
        (Ok(run), _) => (Some(run), None),
        (_, Ok(job)) => match store.job_file(job).await? {
            Some(file) => (file.job.run, Some(file.job.name)),
            None => (None, None),
        },
        (Err(_), Err(_)) => (None, None),
    };
    let plan = match run {
        Some(run) => store.plan(run).await?,
        None => None,
    };
    // What is stored says more about each job than is shown.
    let plan = plan.map(|text| serde_json::from_str(&text)).transpose().context("a plan cannot be read")?;
    Ok(Some(Told { events, plan: plan.map(|plan| Planned { plan, job }) }))
}
