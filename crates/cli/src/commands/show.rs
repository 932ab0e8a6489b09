//! `deltaci show ID`: a run with its jobs, or a job with its attempts.

use std::process::ExitCode;

use anyhow::Result;
use server::Clock;

use crate::api::{Server, Source};
use crate::commands::named::Named;
use crate::database::block_on;
use crate::output::{self, Exit};
use crate::view::screen::Screen;
use crate::{details, view};

#[derive(clap::Args)]
pub struct Args {
    /// A run (run_…) or a job (job_…, or the id its submitter chose)
    id: String,
    #[command(flatten)]
    source: Source,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let named = Named::parse(&args.id)?;
    block_on(async {
        let server = args.source.open().await?;
        match named {
            Named::Run(id) => show_run(&server, &id, json).await,
            Named::Job(id) => show_job(&server, &id, json).await,
        }
    })?;
    Ok(Exit::Success.into())
}

async fn show_run(server: &Server, id: &str, json: bool) -> Result<()> {
    let run = server.run(id).await?;
    if json {
        return output::json(&run);
    }
    let details = details::of_run(server, &run).await?;
    let text = view::run::whole(Screen::stdout(), &run, &details, Clock::start().now(), &server.ways);
    output::write(text.as_bytes())
}

async fn show_job(server: &Server, id: &str, json: bool) -> Result<()> {
    let job = server.job(id).await?;
    if json {
        return output::json(&job);
    }
    output::write(view::job::whole(Screen::stdout(), &job, Clock::start().now(), &server.ways).as_bytes())
}
