//! `deltaci cancel ID`: a run or a job.

use std::process::ExitCode;

use anyhow::Result;

use crate::api::{Connection, Server};
use crate::commands::named::Named;
use crate::database::block_on;
use crate::output::{self, Exit, usage};
use crate::view::screen::Screen;
use crate::view::state::{self, Look};
use crate::wait;

#[derive(clap::Args)]
pub struct Args {
    /// A run (run_…) or a job (job_…, or the id its submitter chose)
    id: String,
    /// Why, for whoever looks at the run later
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Wait until it is over; exit 0 if the cancel is what ended it, 1 if not
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let named = Named::parse(&args.id)?;
    if matches!(named, Named::Job(_)) && args.reason.is_some() {
        return Err(usage("a reason goes with a run, not with a job"));
    }
    let server = args.connection.open()?;
    block_on(async {
        let taken = match &named {
            Named::Run(id) => server.cancel_run(id, args.reason.clone()).await?,
            Named::Job(id) => server.cancel_job(id).await?,
        };
        if !args.wait {
            if json {
                output::json(&taken)?;
            } else if let (true, Named::Run(id)) = (taken.over, &named) {
                say(state::of_run(&server.run(id).await?.run));
            } else {
                say(&taken.state);
            }
            return Ok(Exit::Success.into());
        }
        let state = ended(&server, &named, json).await?;
        if !json {
            say(&state);
        }
        Ok(if state == "CANCELED" { Exit::Success } else { Exit::Failed }.into())
    })
}

async fn ended(server: &Server, named: &Named, json: bool) -> Result<String> {
    Ok(match named {
        Named::Run(id) => {
            let run = wait::for_run(server, id).await?;
            if json {
                output::json(&run)?;
            }
            state::of_run(&run.run).into()
        }
        Named::Job(id) => {
            let job = wait::for_job(server, id).await?;
            if json {
                output::json(&job)?;
            }
            job.state
        }
    })
}

fn say(state: &str) {
    eprintln!("{}", Look::of(state).painted(Screen::stderr()));
}
