//! The one binary, `deltaci`: flags in, one call, words or JSON out.
//!
//! stdout is data, stderr is talk. Never: logic; a command parses its flags, calls a room and prints what it says.

mod bench;
mod commands;
mod database;
mod files;
mod output;
mod talk;

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
    /// API and orchestrator in one process
    Server(Box<commands::server::Args>),
    /// Lease jobs from a server and execute them
    Runner(Box<commands::runner::Args>),
    /// What a runner starts for each of its jobs
    #[command(hide = true)]
    Keep,
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
}

fn main() -> ExitCode {
    // Before the flags of all the others are made ready: a keeper is started for every job.
    if std::env::args_os().nth(1).is_some_and(|word| word == "keep") {
        return runner::keeper::main();
    }
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Server(args) => commands::server::run(*args),
        Command::Runner(args) => commands::runner::run(*args),
        Command::Keep => return runner::keeper::main(), // with a flag of ours before it
        Command::Machines(args) => commands::machines::run(&args, cli.json),
        Command::Explain(args) => commands::explain::run(&args, cli.json),
        Command::Doctor(args) => commands::doctor::run(&args, cli.json),
        Command::Bench(bench) => bench::run(&bench, cli.json),
        Command::Version => commands::version::run(cli.json),
    };
    result.unwrap_or_else(|error| output::failed(&error))
}
