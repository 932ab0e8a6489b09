//! `deltaci doctor`: every invariant, on a live or stopped database; exit 1 and a list if any fails.

use std::process::ExitCode;

use anyhow::Result;
use server::doctor::{Report, examine, examine_opened};

use crate::database::{Database, Opened, block_on};
use crate::output::{self, Exit, line, paint_stdout, progress};
use crate::view::screen::one_line;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let seen = |records: u64| progress(&format!("examined {records} records"));
    let report = block_on(async {
        Ok(match args.database.open_damaged().await? {
            (Opened::Sqlite(store), damage) => examine_opened(&store, damage, seen).await?,
            (Opened::Postgres(store), _) => examine(&*store, seen).await?,
        })
    })?;
    progress("");
    let said = if json { output::json(&report) } else { print_report(&report) };
    let exit = if report.findings.is_empty() { Exit::Success } else { Exit::Failed };
    match said {
        Err(error) if !output::is_unread(&error) => Err(error),
        Err(_) | Ok(()) => Ok(exit.into()), // who reads no more than the first lines gets the verdict all the same
    }
}

fn print_report(report: &Report) -> Result<()> {
    line(format!(
        "examined {} runs, {} jobs, {} logs, {} blobs, {} deliveries, {} audit rows",
        report.runs, report.jobs, report.logs, report.blobs, report.deliveries, report.events
    ))?;
    for finding in &report.findings {
        let broken = paint_stdout("1;31", "broken");
        line(format!(
            "{broken} {} {}: {}",
            finding.invariant,
            one_line(&finding.entity),
            one_line(&finding.problem)
        ))?;
    }
    match report.findings.len() {
        0 => line(format!("{} every invariant holds", paint_stdout("1;32", "healthy:"))),
        count => {
            let more = if report.more { "or more " } else { "" };
            line(format!("{count} {more}findings; what each invariant means is in docs/invariants.md"))
        }
    }
}
