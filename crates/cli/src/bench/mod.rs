//! `deltaci bench`: measurements, always beside the limit of the store in the same run.
//!
//! The only place outside the server's clock that reads time: a stopwatch, never a deadline.

mod callers;
mod kernel;
mod limit;
mod report;
mod scale;

use std::process::ExitCode;

use anyhow::Result;

#[derive(clap::Subcommand)]
pub enum Bench {
    /// Full lifecycles (submit, lease, ack, heartbeat, complete), each step acknowledged after its fsync
    Kernel(kernel::Args),
}

pub fn run(bench: &Bench, json: bool) -> Result<ExitCode> {
    match bench {
        Bench::Kernel(args) => kernel::run(args, json),
    }
}
