//! `deltaci logs ID`: what a job printed, or each job of a run; as it is now, or followed to the end.

mod follow;
mod followed;
mod whole;

use std::process::ExitCode;

use anyhow::Result;
use wire::api::{JobSummary, RunView};

use crate::api::Source;
use crate::commands::named::Named;
use crate::database::block_on;
use crate::output::usage;
use crate::view::screen::{Screen, Style, fitted, one_line, width};
use crate::wait;

/// Names before lines are cut to this.
const NAME_COLUMNS_MAX: usize = 28;
/// Names that an error lists.
const NAMES_MAX: usize = 10;

#[derive(clap::Args)]
pub struct Args {
    /// A job (job_…, or the id its submitter chose) or a run (run_…)
    id: String,
    /// Go on until it is over, and exit by its outcome
    #[arg(long, short)]
    follow: bool,
    /// Of a run: only this job
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    #[command(flatten)]
    source: Source,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let named = Named::parse(&args.id)?;
    if matches!(named, Named::Job(_)) && args.job.is_some() {
        return Err(usage("--job goes with a run; this is a job already"));
    }
    block_on(async {
        let server = args.source.open().await?;
        let named = match (named, &args.job) {
            (Named::Run(id), Some(name)) => Named::Job(job_called(&server.run(&id).await?, name)?),
            (named, _) => named,
        };
        match (named, args.follow) {
            (Named::Job(id), false) => whole::of_job(&server, &id, json).await,
            (Named::Run(id), false) => whole::of_run(&server, &id, json).await,
            (Named::Job(id), true) => {
                wait::unless_interrupted(&server, &id, follow::of_job(&server, &id, json)).await
            }
            (Named::Run(id), true) => {
                wait::unless_interrupted(&server, &id, follow::of_run(&server, &id, json)).await
            }
        }
    })
}

fn job_called(run: &RunView, name: &str) -> Result<String> {
    if let Some(job) = run.jobs.iter().find(|job| job.name == name) {
        return Ok(job.id.to_string());
    }
    let names: Vec<String> = run.jobs.iter().take(NAMES_MAX).map(|job| one_line(&job.name)).collect();
    let more = if run.jobs.len() > NAMES_MAX { ", …" } else { "" };
    Err(usage(match names.is_empty() {
        true => format!("{} has no jobs yet", run.run.id),
        false => format!("no job of {} is called `{name}`; there are {}{more}", run.run.id, names.join(", ")),
    }))
}

/// What stands before each line of a job; all names take the same columns.
fn prefix(screen: Screen, job: &JobSummary, all: &[JobSummary]) -> String {
    let widest = all.iter().map(|job| width(&one_line(&job.name))).max().unwrap_or(0).min(NAME_COLUMNS_MAX);
    let name = fitted(&one_line(&job.name), widest);
    let padding = " ".repeat(widest.saturating_sub(width(&name)));
    screen.paint(Style::Dim, &format!("{name}{padding} │ "))
}
