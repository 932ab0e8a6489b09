//! The one binary, `deltaci`: flags in, one call, words or JSON out.
//!
//! stdout is data, stderr is talk. Never: logic; a command parses its flags, calls a room and prints what it says.

mod api;
mod bench;
mod cache;
mod commands;
mod database;
mod details;
mod files;
mod local;
mod outcome;
mod output;
#[cfg(test)]
mod reference;
mod talk;
mod verify;
mod view;
mod wait;

use std::ffi::OsStr;
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

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
    /// Plan the pipeline of a folder and run it on this machine
    Run(Box<commands::run::Args>),
    /// What would run, what would be skipped or reused, and why
    Plan(Box<commands::plan::Args>),
    /// Write a first delta-ci.yaml from what the repository contains
    Init(commands::init::Args),
    /// Print the JSON Schema of delta-ci.yaml, for editors
    Schema,
    /// API and orchestrator in one process
    Server(Box<commands::server::Args>),
    /// Lease jobs from a server and execute them
    Runner(Box<commands::runner::Args>),
    /// What a runner starts for each of its jobs
    #[command(hide = true)]
    Keep,
    /// Start a run
    Trigger(Box<commands::trigger::Args>),
    /// The newest runs, one line each
    Runs(commands::runs::Args),
    /// A run with its jobs, or a job with its attempts
    Show(commands::show::Args),
    /// What a job, or each job of a run, printed
    Logs(commands::logs::Args),
    /// Cancel a run or a job
    Cancel(commands::cancel::Args),
    /// Run a run again, or try a job once more
    Rerun(commands::rerun::Args),
    /// Make, list and revoke tokens
    #[command(subcommand)]
    Token(commands::token::Token),
    /// Make, list and show tenants
    #[command(subcommand)]
    Tenant(commands::tenant::Tenant),
    /// Deliveries: what was told to whom, what was given up, and once more
    #[command(subcommand)]
    Outbox(commands::outbox::Outbox),
    /// Subscribe to events of the tenant
    #[command(subcommand)]
    Webhook(commands::webhook::Webhook),
    /// Push, pull, list, publish and withdraw what jobs and people make
    #[command(subcommand)]
    Artifact(commands::artifact::Artifact),
    /// Delete the bytes that nothing refers to any more
    Gc(commands::gc::Args),
    /// Show the state machines
    Machines(commands::machines::Args),
    /// Every transition of a run, job, lease, upload, version, blob, delivery or tenant: when, who, from, to, why
    Explain(commands::explain::Args),
    /// Check every invariant on a database, running or stopped
    Doctor(commands::doctor::Args),
    /// Try this installation: kill, freeze and cut off servers and runners of its own, and check every promise
    Verify(Box<verify::Args>),
    /// Measure, beside the limit of the store in the same run
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Print a script that completes commands and flags in a shell
    Completions(commands::completions::Args),
    /// Print the version
    Version,
}

/// A variable that holds nothing is as good as none: that is how a shell or a file of variables leaves one out.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(|arg| if arg.get_env().is_some_and(is_empty) { arg.env(Resettable::Reset) } else { arg })
        .mut_subcommands(without_empty_variables)
}

fn main() -> ExitCode {
    malloc::one_arena_per_core();
    // Before the flags of all the others are made ready: a keeper is started for every job.
    if std::env::args_os().nth(1).is_some_and(|word| word == "keep") {
        return runner::keeper::main();
    }
    let matches = without_empty_variables(Cli::command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match cli.command {
        Command::Run(args) => commands::run::run(&args, cli.json),
        Command::Plan(args) => commands::plan::run(&args, cli.json),
        Command::Init(args) => commands::init::run(&args, cli.json),
        Command::Schema => commands::schema::run(),
        Command::Server(args) => commands::server::run(*args),
        Command::Runner(args) => commands::runner::run(*args),
        Command::Keep => return runner::keeper::main(), // with a flag of ours before it
        Command::Trigger(args) => commands::trigger::run(*args, cli.json),
        Command::Runs(args) => commands::runs::run(&args, cli.json),
        Command::Show(args) => commands::show::run(&args, cli.json),
        Command::Logs(args) => commands::logs::run(&args, cli.json),
        Command::Cancel(args) => commands::cancel::run(&args, cli.json),
        Command::Rerun(args) => commands::rerun::run(&args, cli.json),
        Command::Token(token) => commands::token::run(&token, cli.json),
        Command::Tenant(tenant) => commands::tenant::run(&tenant, cli.json),
        Command::Outbox(outbox) => commands::outbox::run(&outbox, cli.json),
        Command::Webhook(webhook) => commands::webhook::run(&webhook, cli.json),
        Command::Artifact(artifact) => commands::artifact::run(&artifact, cli.json),
        Command::Gc(args) => commands::gc::run(&args, cli.json),
        Command::Machines(args) => commands::machines::run(&args, cli.json),
        Command::Explain(args) => commands::explain::run(&args, cli.json),
        Command::Doctor(args) => commands::doctor::run(&args, cli.json),
        Command::Verify(args) => verify::run(&args, cli.json),
        Command::Bench(bench) => bench::run(&bench, cli.json),
        Command::Completions(args) => commands::completions::run(&args, Cli::command()),
        Command::Version => commands::version::run(cli.json),
    };
    result.unwrap_or_else(|error| output::failed(&error))
}
