//! `deltaci runner`: leases jobs from a server and executes them, until SIGTERM or SIGINT.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use runner::agent::{self, Ground, Keepers, Left, Network, Settings};
use runner::capabilities::{capabilities, parse_tag};
use runner::client::{Client, Token};
use runner::keeper::{Choice, Limits};
use runner::session::{End, Outcome};

use crate::cache;
use crate::commands::slots::{self, Executor, SLOTS_MAX};
use crate::output::{Exit, Problem, usage};
use crate::talk::Talk;

/// The token is read from DELTACI_TOKEN or from --token-file, never from the command line, which others can see.
#[derive(clap::Args)]
pub struct Args {
    /// Where the server is, such as http://127.0.0.1:7171
    #[arg(long, env = "DELTACI_SERVER", value_name = "URL")]
    server: String,
    /// A file that holds the runner's token; without it, DELTACI_TOKEN does
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// How many jobs at a time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=SLOTS_MAX))]
    slots: u32,
    /// Execute one job, then exit with its code
    #[arg(long, conflicts_with = "slots")]
    once: bool,
    /// Unique among runners; the machine's name and six letters without it
    #[arg(long)]
    name: Option<String>,
    /// Something this machine can do, beside what is detected; may be repeated
    #[arg(long = "capability", value_name = "KEY:VALUE", value_parser = parse_tag)]
    capabilities: Vec<String>,
    /// What runs the jobs
    #[arg(long, value_enum, default_value_t = Executor::Auto)]
    executor: Executor,
    /// Which jobs may use the network, where the executor can withhold it
    #[arg(long, value_enum, default_value_t = Given::Asked)]
    network: Given,
    /// Where jobs have their folders; in the user's cache without it
    #[arg(long, env = "DELTACI_WORK_DIR", value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// The most memory a job may use, such as 2GiB
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,
    /// The most processes a job may have
    #[arg(long, value_name = "COUNT")]
    processes: Option<u64>,
    /// The most that one job may leave as artifacts, such as 20GiB
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "10GiB")]
    artifacts_max: u64,
    #[command(flatten)]
    talk: Talk,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Given {
    /// Jobs that ask for it
    Asked,
    /// Every job that does not refuse it
    Always,
    Never,
}

pub fn run(args: Args) -> Result<ExitCode> {
    args.talk.begin();
    let client = Client::new(&args.server, &token(&args)?).map_err(usage)?;
    let settings = settings(args)?;
    agent::runner_ids(&settings.name, settings.slots).map_err(usage)?;
    let runtime = slots::runtime()?;
    let left = runtime.block_on(async {
        let stop = agent::on_signals()?;
        agent::run(settings, client, Keepers::of_this_program()?, stop).await
    });
    // Requests that nobody waits for any more are not worth waiting for either.
    runtime.shutdown_background();
    match left.context("the runner cannot work")? {
        Left::Stopped => Ok(Exit::Success.into()),
        Left::Once(end) => Ok(exit_of(&end).into()),
        Left::Unauthorized => {
            let message = "the server does not take this token for a runner's; \
                           make one with `deltaci token create --kind runner`";
            Err(Problem { exit: Exit::NotAuthorised, message: message.into() }.into())
        }
    }
}

fn exit_of(end: &End) -> Exit {
    match end {
        End::Completed(verdict) => match verdict.outcome {
            Outcome::Succeeded => Exit::Success,
            Outcome::Failed => Exit::Failed,
            Outcome::TimedOut => Exit::TimedOut,
            Outcome::Infra => Exit::Infrastructure,
        },
        End::Canceled => Exit::Canceled,
        End::Unauthorized => Exit::NotAuthorised,
        End::Stale(_) | End::LeaseLost | End::Refused { .. } => Exit::Infrastructure,
    }
}

fn token(args: &Args) -> Result<Token> {
    let text = match &args.token_file {
        Some(path) => {
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
        }
        None => std::env::var("DELTACI_TOKEN")
            .map_err(|_| usage("a runner needs a token: set DELTACI_TOKEN or give --token-file"))?,
    };
    Token::parse(&text).ok_or_else(|| usage("the token is empty or holds spaces"))
}

fn settings(args: Args) -> Result<Settings> {
    let executor = Choice::from(args.executor);
    let network = match args.network {
        Given::Asked => Network::Asked,
        Given::Always => Network::Always,
        Given::Never => Network::Never,
    };
    Ok(Settings {
        name: args.name.unwrap_or_else(agent::default_name),
        slots: args.slots,
        once: args.once,
        capabilities: capabilities(std::env::var_os("PATH").as_deref(), executor, &args.capabilities),
        executor,
        ground: Ground::Fresh,
        network,
        work_dir: args.work_dir.map_or_else(default_work_dir, Ok)?,
        limits: Limits { memory_bytes: args.memory, processes: args.processes },
        artifacts_bytes_max: args.artifacts_max,
        tap: None,
    })
}

/// Not below the current folder: programs in a job would find the project around it.
fn default_work_dir() -> Result<PathBuf> {
    let cache = cache::folder().ok_or_else(|| anyhow!("give --work-dir: there is no home directory"))?;
    Ok(cache.join("work"))
}

/// `512MiB`, `2GiB`, `1000000`.
fn bytes(text: &str) -> Result<u64, String> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
    let unit = units.iter().find_map(|(name, size)| Some((text.strip_suffix(name)?, *size)));
    let (digits, size): (&str, u64) = unit.unwrap_or((text, 1));
    let count = digits.trim().parse::<u64>().ok().filter(|count| *count > 0);
    count
        .and_then(|count| count.checked_mul(size))
        .ok_or_else(|| format!("`{text}` is no size; expected one such as 512MiB or 2GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, size) in [("1000", 1000), ("512MiB", 512 << 20), ("2 GiB", 2 << 30)] {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "0", "-1", "2GB", "99999999TiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
