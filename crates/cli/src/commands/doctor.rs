//! `deltaci doctor`: every invariant, on a live or stopped database; exit 1 and a list if any fails.

use std::process::ExitCode;

use anyhow::Result;
use server::doctor::{Report, examine};

use crate::database::{Database, Opened, block_on};
use crate::output::{Exit, paint_stdout, progress};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let seen = |records: u64| progress(&format!("examined {records} records"));
    let report = block_on(async {
        Ok(match args.database.open_existing().await? {
            Opened::Sqlite(store) => examine(&store, seen).await?,
            Opened::Postgres(store) => examine(&*store, seen).await?,
        })
    })?;
    progress("");
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print_report(&report);
    }
    Ok(if report.findings.is_empty() { Exit::Success } else { Exit::Failed }.into())
}

fn print_report(report: &Report) {
    println!(
        "examined {} runs, {} jobs, {} logs, {} blobs, {} deliveries, {} audit rows",
        report.runs, report.jobs, report.logs, report.blobs, report.deliveries, report.events
    );
    for finding in &report.findings {
        println!(
            "{} {} {}: {}",
            paint_stdout("1;31", "broken"),
            finding.invariant,
            finding.entity,
            finding.problem
        );
    }
    match report.findings.len() {
        0 => println!("{} every invariant holds", paint_stdout("1;32", "healthy:")),
        count => {
            let more = if report.more { "or more " } else { "" };
            println!("{count} {more}findings; what each invariant means is in docs/invariants.md");
        }
    }
}
