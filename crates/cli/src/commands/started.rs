//! What `trigger` and `rerun` do with the run they started: print its id, or wait for its end.

use std::collections::HashMap;
use std::process::ExitCode;

use anyhow::Result;
use server::Clock;
use wire::JobId;
use wire::api::{JobView, RunView};

use crate::api::Server;
use crate::output::{self, Exit};
use crate::view::run::{failures, next_steps};
use crate::view::screen::{Screen, one_line};
use crate::view::state::{self, Look};
use crate::view::time::took;
use crate::view::ways::Ways;
use crate::{details, outcome, wait};

pub async fn follow(server: &Server, run: RunView, wait: bool, json: bool) -> Result<ExitCode> {
    let id = run.run.id.to_string();
    if !wait {
        if json {
            output::json(&run)?;
        } else {
            output::line(&id)?;
        }
        return Ok(Exit::Success.into());
    }
    if !json {
        output::line(&id)?;
    }
    wait::unless_interrupted(server, &id, to_the_end(server, &id, json)).await
}

async fn to_the_end(server: &Server, id: &str, json: bool) -> Result<ExitCode> {
    let run = wait::for_run(server, id).await?;
    let details = details::of_failed(server, &run).await?;
    if json {
        output::json(&run)?;
    } else {
        conclude(&run, &details, &server.ways);
    }
    Ok(outcome::of_run(&run, &details).into())
}

/// How it ended, and what to do about it.
fn conclude(run: &RunView, details: &HashMap<JobId, JobView>, ways: &Ways) {
    let screen = Screen::stderr();
    let time = run.run.finished_at.unwrap_or_else(|| Clock::start().now()).since(run.run.created_at);
    eprintln!("{} in {}", Look::of(state::of_run(&run.run)).painted(screen), took(time));
    if !run.run.status_message.is_empty() {
        eprintln!("  {}", one_line(&run.run.status_message));
    }
    eprint!("{}{}", failures(screen, run, details), screen.listed("next:", &next_steps(run, ways)));
}
