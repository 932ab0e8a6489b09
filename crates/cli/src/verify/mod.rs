//! `deltaci verify`: models and simulations of what this very program decides; then real servers and runners of it, in a folder of
//! their own, while they are killed, frozen, cut off and misled, about the time too; and the promises, checked on what was seen from outside.
//!
//! Never: a process, a file, a database or a link that it did not make; a promise checked by what is to keep it. Start at
//! `chaos.rs`; what is promised is in `judge`.

mod bounds;
mod calm;
mod chaos;
mod clients;
mod dice;
mod effects;
mod guard;
mod http;
mod judge;
mod logs;
mod netns;
mod page;
mod process;
mod record;
mod report;
mod runners;
mod servers;
mod sink;
mod site;
mod thought;
mod timeline;
mod trouble;
mod wall;
mod wires;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use server::Mint;
use tokio::signal::unix::{SignalKind, signal};

use crate::database::block_on;
use crate::output::{self, Exit, Problem, usage};
use crate::view::screen::Screen;
use record::Record;
use report::{Part, Report};

/// Minutes of trouble, when nobody says how much.
const MINUTES_USUAL: f64 = 2.0;
const MINUTES_MAX: f64 = 24.0 * 60.0;

#[derive(clap::Args)]
pub struct Args {
    /// How long to make trouble [default: 2]
    #[arg(long, value_name = "MINUTES", conflicts_with = "kills")]
    minutes: Option<f64>,
    /// Until so many servers and runners were killed
    #[arg(long, value_name = "COUNT")]
    kills: Option<u64>,
    /// Try the same things in the same order as an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// One part instead of all; may be repeated
    #[arg(long, value_enum, value_name = "PART")]
    only: Vec<Only>,
    /// Systems to play on a simulated clock, from --seed or 0 on
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    seeds: u64,
    /// Also write a page (.html) or a picture (.svg)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Two servers on this PostgreSQL database, which must be empty; without it, one server on a SQLite file
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Keep what was seen, for --check
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Judge what was seen earlier; nothing is started
    #[arg(long, value_name = "FILE", conflicts_with_all = ["minutes", "kills", "seed", "database", "history"])]
    check: Option<PathBuf>,
    /// Runners in network namespaces of their own, cut off by the kernel (for root)
    #[arg(long, hide = true)]
    netns: bool,
    /// Records in this folder, on a small disk of its own that is filled again and again
    #[arg(long, hide = true, value_name = "DIR")]
    fill_disk: Option<PathBuf>,
    /// Begin with an earlier version of this program, and go over to this one in the middle
    #[arg(long, hide = true, value_name = "PROGRAM")]
    older: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    /// Every order of messages, ticks and crashes around one job and one message
    Models,
    /// Whole systems on a simulated clock, with faults
    Simulation,
    /// Real servers and runners, killed, frozen and cut off
    Processes,
}

/// Set by Ctrl-C and SIGTERM: everything is taken down.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn listen() -> Result<Stop> {
        let stop = Stop::default();
        let (asked, (ready, is_ready)) = (stop.clone(), std::sync::mpsc::channel());
        std::thread::spawn(move || {
            block_on(async {
                let (mut interrupt, mut terminate) =
                    (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
                let _ = ready.send(()); // nobody listens when the command is over
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                asked.0.store(true, Ordering::SeqCst);
                Ok(())
            })
        });
        is_ready.recv().context("signals cannot be heard")?;
        Ok(stop)
    }
}

impl Args {
    fn wants(&self, part: Only) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    if let Some(path) = &args.report {
        report::kind(path)?;
    }
    let (seed, parts) = match &args.check {
        Some(path) => {
            let record: Record = serde_json::from_slice(
                &std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?,
            )
            .map_err(|error| usage(format!("{} holds no history: {error}", path.display())))?;
            (record.seed, vec![chaos::judged(&record)])
        }
        None => tried(args)?,
    };
    let report = Report::of(seed, parts);
    output::progress("");
    if let Some(path) = &args.report {
        report.write(path)?;
        eprintln!("written: {}", path.display());
    }
    if json {
        output::json(&report)?;
    } else {
        output::write(report.text(Screen::stdout()).as_bytes())?;
    }
    Ok(report.exit().into())
}

fn tried(args: &Args) -> Result<(u64, Vec<Part>)> {
    let minutes = args.minutes.unwrap_or(MINUTES_USUAL);
    if !(minutes > 0.0 && minutes <= MINUTES_MAX) || args.kills == Some(0) {
        return Err(usage("give --minutes or --kills a number above zero; a day is the most"));
    }
    if let Some(address) = &args.database {
        chaos::must_be_empty(address)?;
    }
    let seed = args.seed.unwrap_or_else(|| Mint.holder() % 1_000_000_000);
    let mut parts = Vec::new();
    if args.wants(Only::Models) {
        parts.push(thought::models());
    }
    if args.wants(Only::Simulation) {
        let first = args.seed.unwrap_or(0);
        parts.push(thought::simulation(first..first.saturating_add(args.seeds)));
    }
    if args.wants(Only::Processes) {
        parts.push(broken(args, seed)?);
    }
    Ok((seed, parts))
}

/// Real processes in trouble.
fn broken(args: &Args, seed: u64) -> Result<Part> {
    let minutes = args.minutes.unwrap_or(MINUTES_USUAL);
    let time = args.kills.is_none().then(|| Duration::from_secs_f64(minutes * 60.0));
    let stop = Stop::listen()?;
    let order = chaos::Order {
        seed,
        kills: args.kills,
        time,
        database: args.database.clone(),
        netns: args.netns,
        fill_disk: args.fill_disk.clone(),
        older: args.older.clone(),
    };
    let record = chaos::record(order, &stop)?;
    if stop.is_asked() {
        let message = "stopped before the end; nothing was judged, nothing is left";
        return Err(Problem { exit: Exit::Canceled, message: message.into() }.into());
    }
    if let Some(path) = &args.history {
        let written = std::fs::write(path, serde_json::to_vec(&record)?);
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(chaos::judged(&record))
}
