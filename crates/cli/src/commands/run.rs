//! `deltaci run`: plans the pipeline of a folder and runs it on this machine.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Context, Result};
use pipeline::facts::Wishes;
use runner::keeper::Choice;
use wire::RunId;

use crate::commands::slots::{self, Executor, SLOTS_MAX};
use crate::local::data::FOLDER;
use crate::local::pipeline::Question;
use crate::local::reading;
use crate::local::{self, Resume, Wanted};
use crate::output::usage;
use crate::view;

/// Ctrl-C once cancels the run and lets its jobs end; twice kills them.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Run in the folder itself instead of copies of it; jobs see each other's files
    #[arg(long)]
    in_place: bool,
    /// Go on with the run that was interrupted last, or with this one
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true)]
    resume: Option<Option<RunId>>,
    /// What runs the jobs [default: auto; process with --in-place]
    #[arg(long, value_enum)]
    executor: Option<Executor>,
    /// How many jobs at a time [default: as many as there are cores]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=SLOTS_MAX))]
    slots: Option<u32>,
    /// Where records, logs and artifacts are kept [default: .deltaci in the folder]
    #[arg(long, env = "DELTACI_DATA")]
    data: Option<PathBuf>,
    /// Lines that are added and never moved, also on a terminal
    #[arg(long)]
    plain: bool,
}

/// Which jobs of which pipeline.
#[derive(clap::Args)]
pub struct Selection {
    /// The folder of the pipeline
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Only this job and what it needs; may be repeated
    #[arg(long = "job", value_name = "NAME")]
    jobs: Vec<String>,
    /// Skip jobs whose paths saw no change since this commit
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Skip nothing, whatever the difference
    #[arg(long)]
    all: bool,
    /// Reuse no earlier success
    #[arg(long)]
    no_reuse: bool,
}

impl Selection {
    /// The folder must be there.
    pub fn question(&self) -> Result<Question> {
        let folder = std::fs::canonicalize(&self.folder)
            .with_context(|| format!("cannot open the folder {}", self.folder.display()))
            .map_err(|error| usage(format!("{error:#}")))?;
        if !folder.is_dir() {
            return Err(usage(format!("{} is not a folder", folder.display())));
        }
        let wishes = Wishes { only: self.jobs.clone(), all: self.all, no_reuse: self.no_reuse };
        Ok(Question { folder, base: self.base.clone(), wishes })
    }
}

/// The data directory that was named, or the folder's own.
pub fn data_of(named: Option<&Path>, folder: &Path) -> PathBuf {
    named.map_or_else(|| folder.join(FOLDER), Path::to_path_buf)
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let question = args.selection.question()?;
    let wanted = Wanted {
        data: data_of(args.data.as_deref(), &question.folder),
        question,
        in_place: args.in_place,
        resume: match args.resume {
            None => Resume::No,
            Some(None) => Resume::Newest,
            Some(Some(run)) => Resume::This(run),
        },
        executor: choice(args),
        slots: args.slots.unwrap_or_else(|| available_parallelism().map_or(1, NonZeroUsize::get) as u32),
    };
    let given = &args.selection.folder;
    // As it was typed, which is shorter.
    let ways = reading::ways_of_run(given, args.data.as_deref(), &data_of(args.data.as_deref(), given));
    let mut show = view::local::choose::show(json, args.plain, ways);
    let runtime = slots::runtime()?;
    let exit = runtime.block_on(local::run(&wanted, show.as_mut()));
    // What nobody waits for any more is not worth waiting for either.
    runtime.shutdown_background();
    Ok(exit?.into())
}

/// In the folder itself, walls would only keep jobs from what its owner put there.
fn choice(args: &Args) -> Choice {
    match args.executor {
        Some(executor) => executor.into(),
        None if args.in_place => Choice::Process,
        None => Choice::Auto,
    }
}
