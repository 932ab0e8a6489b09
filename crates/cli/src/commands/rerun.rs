//! `deltaci rerun ID`: a run again, all of it or what did not succeed; or one more attempt of a job.

use std::process::ExitCode;

use anyhow::Result;

use crate::api::{Connection, Server};
use crate::commands::named::Named;
use crate::commands::started;
use crate::database::block_on;
use crate::output::{self, Exit, usage};
use crate::view::screen::Screen;
use crate::view::state::Look;
use crate::{outcome, wait};

#[derive(clap::Args)]
pub struct Args {
    /// A run that is over (run_…), or a job that failed (job_…)
    id: String,
    /// Only what did not succeed
    #[arg(long)]
    failed: bool,
    /// Wait until it is over, and exit by its outcome
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let named = Named::parse(&args.id)?;
    if matches!(named, Named::Job(_)) && args.failed {
        return Err(usage("--failed goes with a run, not with a job"));
    }
    let server = args.connection.open()?;
    block_on(async {
        match named {
            Named::Run(id) => {
                let run = server.rerun(&id, args.failed).await?;
                started::follow(&server, run, args.wait, json).await
            }
            Named::Job(id) => retry(&server, &id, args.wait, json).await,
        }
    })
}

async fn retry(server: &Server, id: &str, wait: bool, json: bool) -> Result<ExitCode> {
    let taken = server.retry_job(id).await?;
    if !wait {
        if json {
            output::json(&taken)?;
        } else {
            eprintln!("attempt {} is queued", taken.attempt);
        }
        return Ok(Exit::Success.into());
    }
    wait::unless_interrupted(server, id, to_the_end(server, id, json)).await
}

async fn to_the_end(server: &Server, id: &str, json: bool) -> Result<ExitCode> {
    let job = wait::for_job(server, id).await?;
    if json {
        output::json(&job)?;
    } else {
        eprintln!("{}", Look::of(&job.state).painted(Screen::stderr()));
    }
    Ok(outcome::of_job(&job).into())
}
