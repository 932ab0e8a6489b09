//! The one binary, `deltaci`: flags in, one call, words or JSON out.
//!
//! stdout is data, stderr is talk. Never: logic; a command parses its flags, calls a room and prints what it says.

mod bench;
mod commands;
mod database;
mod output;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A self-hosted CI that never loses a job, never runs an effect twice, and can always say why.
#[derive(Parser)]
#[command(name = "deltaci", version, propagate_version = true)]
struct Cli {
    /// Machine-readable output
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the state machines
    Machines(commands::machines::Args),
    /// Every transition of a run, job, attempt, execution, delivery or tenant: when, who, from, to, why
    Explain(commands::explain::Args),
    /// Check every invariant on a database, running or stopped
    Doctor(commands::doctor::Args),
    /// Measure, beside the limit of the store in the same run
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Print the version
    Version,
    /// One job's keeper; started by the runner
    #[command(hide = true)]
    Keep,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Machines(args) => commands::machines::run(&args, cli.json),
        Command::Explain(args) => commands::explain::run(&args, cli.json),
        Command::Doctor(args) => commands::doctor::run(&args, cli.json),
        Command::Bench(bench) => bench::run(&bench, cli.json),
        Command::Version => commands::version::run(cli.json),
        Command::Keep => Ok(runner::keeper::main()),
    };
    result.unwrap_or_else(|error| output::failed(&error))
}
