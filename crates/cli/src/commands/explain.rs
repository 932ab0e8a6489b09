//! `deltaci explain ID`: what happened to one thing, and why.

use std::process::ExitCode;

use anyhow::Result;
use decisions::records::Event;
use server::explain::explain;

use crate::database::{Database, Opened, block_on};
use crate::output::{Exit, Problem, paint_stdout};

#[derive(clap::Args)]
pub struct Args {
    /// run_…, job_…, job_…/2 (an attempt), exec_…, msg_… or ten_…
    id: String,
    #[command(flatten)]
    database: Database,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let events = block_on(async {
        Ok(match args.database.open_existing().await? {
            Opened::Sqlite(store) => explain(&store, &args.id).await?,
            Opened::Postgres(store) => explain(&*store, &args.id).await?,
        })
    })?;
    let events = events.ok_or_else(|| Problem {
        exit: Exit::Usage,
        message: format!("nothing is known of `{}`; check the id and the database", args.id),
    })?;
    if json {
        println!("{}", serde_json::to_string_pretty(&events)?);
    } else {
        print_table(&events);
    }
    Ok(Exit::Success.into())
}

fn print_table(events: &[Event]) {
    let widest = |text: fn(&Event) -> usize| events.iter().map(text).max().unwrap_or(0);
    let entity = widest(|event| event.entity.len());
    let machine = widest(|event| event.machine.len());
    let step = widest(|event| step_of(event).len());
    for event in events {
        println!(
            "{:27}  {:machine$}  {:entity$}  {:step$}  {}  {}",
            event.at.to_string(),
            event.machine,
            event.entity,
            step_of(event),
            paint_stdout("2", &format!("{} by {}:", event.event, event.owner)),
            event.cause,
        );
    }
}

fn step_of(event: &Event) -> String {
    match &event.from {
        Some(from) => format!("{from} -> {}", event.to),
        None => event.to.clone(),
    }
}
