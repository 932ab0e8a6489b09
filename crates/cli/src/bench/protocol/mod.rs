//! `deltaci bench protocol`: server, runners and client as processes of their own, over loopback HTTP, on SQLite.
//!
//! The client has one thread, so that it takes no more than one core from what it measures.

mod http;
mod jobs;
mod messages;
mod pickup;
pub mod processes;
mod report;
mod throughput;

use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

use crate::bench::amounts::{CALLERS_MAX, ITEMS_MAX, ROUNDS_MAX, count, seconds};
use crate::bench::folder::Folder;
use crate::bench::protocol::report::Report;
use crate::bench::told::told;
use crate::files::allow_many;

#[derive(clap::Args)]
pub struct Args {
    /// Only these; all without it
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Connections that send messages at once
    #[arg(long, default_value_t = 256, value_parser = count::<usize>(CALLERS_MAX))]
    connections: usize,
    /// Rounds of messages; in each, the echo is measured before and after
    #[arg(long, default_value_t = 5, value_parser = count::<usize>(ROUNDS_MAX))]
    rounds: usize,
    /// How long the messages of a round run
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// How often the time from submit to lease is taken
    #[arg(long, default_value_t = 300, value_parser = count::<usize>(ITEMS_MAX))]
    samples: usize,
    /// How many runners are many
    #[arg(long, default_value_t = 2_000, value_parser = count::<usize>(CALLERS_MAX))]
    idle_runners: usize,
    /// Trivial jobs, one after the other
    #[arg(long, default_value_t = 100, value_parser = count::<usize>(ITEMS_MAX))]
    jobs: usize,
    /// Trivial jobs, all at once
    #[arg(long, default_value_t = 200, value_parser = count::<usize>(ITEMS_MAX))]
    burst: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Durable messages beside an echo
    Messages,
    /// From submit to lease, beside an fsync and beside many runners
    Pickup,
    /// Trivial jobs with real runners, and memory
    Jobs,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    allow_many();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(measure(args))?;
    told(&report, json, Report::tell)
}

async fn measure(args: &Args) -> Result<Report> {
    // Where data would be in real life: on a disk, not in memory.
    let folder = Folder::make()?;
    let folder = folder.path();
    let wanted = |part: Part| args.only.is_empty() || args.only.contains(&part);
    let mut report = Report::default();
    if wanted(Part::Messages) {
        let (folder, connections) = (folder.join("messages"), args.connections);
        let rounds = args.rounds;
        report.throughput = Some(throughput::measure(&folder, connections, rounds, args.seconds).await?);
    }
    if wanted(Part::Pickup) {
        report.pickup = Some(pickup::measure(folder, args.samples, args.idle_runners).await?);
    }
    if wanted(Part::Jobs) {
        report.jobs = Some(jobs::measure(folder, args.jobs, args.burst).await?);
    }
    Ok(report)
}
