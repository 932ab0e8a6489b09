//! `deltaci runs`: the newest runs, one line each.

use std::process::ExitCode;

use anyhow::Result;
use server::Clock;
use wire::Time;
use wire::api::RunSummary;

use crate::api::Source;
use crate::database::block_on;
use crate::output::{self, Exit};
use crate::view::run::source;
use crate::view::screen::{Screen, Style};
use crate::view::state::{Look, of_run};
use crate::view::table::{Cell, Table};
use crate::view::time::{ago, took};

#[derive(clap::Args)]
pub struct Args {
    /// How many
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Those that are older than this run
    #[arg(long, value_name = "RUN")]
    after: Option<String>,
    #[command(flatten)]
    source: Source,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let (page, ways) = block_on(async {
        let server = args.source.open().await?;
        Ok((server.runs(args.limit, args.after.as_deref()).await?, server.ways))
    })?;
    if json {
        output::json(&page)?;
        return Ok(Exit::Success.into());
    }
    if page.items.is_empty() {
        eprintln!(
            "no runs; start one with `deltaci run`, or on a server with `deltaci trigger --step 'echo hello'`"
        );
        return Ok(Exit::Success.into());
    }
    let now = Clock::start().now();
    let mut table = Table::headed(&["RUN", "STATE", "TRY", "JOBS", "AGE", "TOOK", "REF"]);
    page.items.iter().for_each(|run| table.row(row(run, now)));
    output::write(table.text(Screen::stdout()).as_bytes())?;
    if let Some(next) = page.next {
        let hint = format!("older: {}", ways.look(&format!("runs --after {next}")));
        eprintln!("{}", Screen::stderr().paint(Style::Dim, &hint));
    }
    Ok(Exit::Success.into())
}

fn row(run: &RunSummary, now: Time) -> Vec<Cell> {
    let look = Look::of(of_run(run));
    let done = run.jobs_total.saturating_sub(run.jobs_open);
    let time = run.finished_at.unwrap_or(now).since(run.created_at);
    vec![
        Cell::new(run.id.to_string()),
        Cell::styled(look.style, look.text()),
        Cell::new(run.attempt.to_string()).right(),
        Cell::new(format!("{done}/{}", run.jobs_total)).right(),
        Cell::new(ago(run.created_at, now)).right(),
        Cell::new(took(time)).right(),
        Cell::new(source(run)),
    ]
}
