//! `deltaci bench`: measurements, always beside a limit (the store's, an echo's, the disk's) in the same run.
//!
//! The only place outside the server's clock that reads time: a stopwatch, never a deadline.

mod amounts;
mod artifacts;
mod callers;
mod collection;
mod echo;
mod folder;
mod kernel;
mod limit;
mod local;
mod protocol;
mod report;
mod scale;
mod told;

use std::process::ExitCode;

use anyhow::Result;

#[derive(clap::Subcommand)]
pub enum Bench {
    /// Full lifecycles (submit, lease, ack, heartbeat, complete), each step acknowledged after its fsync
    Kernel(kernel::Args),
    /// The same over HTTP beside an echo, submit to lease beside an fsync, trivial jobs with real runners
    Protocol(protocol::Args),
    /// Bytes pushed and pulled over HTTP, beside the disk and SHA-256, and beside a registry
    Artifacts(artifacts::Args),
    /// A collection among a million blobs that are kept
    Collection(collection::Args),
    /// Jobs that do nothing on this machine, beside make on the same graph; a plan of a large repository
    Local(local::Args),
    /// What the protocol is measured against
    #[command(hide = true)]
    Echo,
}

pub fn run(bench: &Bench, json: bool) -> Result<ExitCode> {
    match bench {
        Bench::Kernel(args) => kernel::run(args, json),
        Bench::Protocol(args) => protocol::run(args, json),
        Bench::Artifacts(args) => artifacts::run(args, json),
        Bench::Collection(args) => collection::run(args, json),
        Bench::Local(args) => local::run(args, json),
        Bench::Echo => echo::run(),
    }
}
