//! `deltaci bench local`: what a job of `deltaci run` costs beyond its steps, beside GNU make on the same graph in the same
//! run; how long a plan of a large repository takes; how much memory a run takes.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::bench::amounts::{ITEMS_MAX, ROUNDS_MAX, count};
use crate::bench::folder::Folder;
use crate::bench::report::middle;
use crate::bench::told::{Rows, told};
use crate::output::progress;

#[derive(clap::Args)]
pub struct Args {
    /// Jobs that do nothing, in layers: each needs one of the layer before
    #[arg(long, default_value_t = 200, value_parser = count::<usize>(ITEMS_MAX))]
    jobs: usize,
    /// Files of the repository that each job gets a copy of
    #[arg(long, default_value_t = 1_000, value_parser = count::<usize>(ITEMS_MAX))]
    files: usize,
    /// Files and jobs of the repository that is planned
    #[arg(long, default_value_t = 50_000, value_parser = count::<usize>(ITEMS_MAX))]
    plan_files: usize,
    #[arg(long, default_value_t = 2_000, value_parser = count::<usize>(ITEMS_MAX))]
    plan_jobs: usize,
    /// In each, everything is done once
    #[arg(long, default_value_t = 5, value_parser = count::<usize>(ROUNDS_MAX))]
    rounds: usize,
}

const LAYER: usize = 20;
const SLOTS: &str = "2";
const LOOK_AGAIN: Duration = Duration::from_millis(5);

#[derive(Serialize)]
struct Report {
    jobs: usize,
    files: usize,
    make_seconds: f64,
    in_place_seconds: f64,
    workspaces_seconds: f64,
    /// More than make's, per job.
    in_place_ms_per_job: f64,
    workspaces_ms_per_job: f64,
    run_peak_kib: u64,
    plan_files: usize,
    plan_jobs: usize,
    plan_seconds: f64,
    plan_peak_kib: u64,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let report = measure(args)?;
    told(&report, json, Report::tell)
}

fn measure(args: &Args) -> Result<Report> {
    let folder = Folder::make()?;
    let small = folder.path().join("small");
    repository(&small, args.files, &layered(args.jobs))?;
    fs::write(small.join("Makefile"), makefile(args.jobs))?;
    let (mut make, mut in_place, mut workspaces) = (Vec::new(), Vec::new(), Vec::new());
    let mut run_peak_kib = 0;
    for round in 1..=args.rounds {
        progress(&format!("round {round} of {}: make", args.rounds));
        let mut command = Command::new("make");
        command.args(["-s", "-j", SLOTS, "all"]).current_dir(&small);
        make.push(timed(command)?.0);
        progress(&format!("round {round} of {}: in place", args.rounds));
        let (seconds, peak) = timed(local_run(&small, &["--in-place"])?)?;
        in_place.push(seconds);
        run_peak_kib = run_peak_kib.max(peak);
        progress(&format!("round {round} of {}: in workspaces", args.rounds));
        let (seconds, peak) = timed(local_run(&small, &[])?)?;
        workspaces.push(seconds);
        run_peak_kib = run_peak_kib.max(peak);
    }
    progress("a large repository");
    let large = folder.path().join("large");
    repository(&large, args.plan_files, &sharded(args.plan_jobs))?;
    let (mut plan, mut plan_peak_kib) = (Vec::new(), 0);
    for _ in 0..args.rounds {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["plan", "--json"]).current_dir(&large);
        let (seconds, peak) = timed(command)?;
        plan.push(seconds);
        plan_peak_kib = plan_peak_kib.max(peak);
    }
    let (make_seconds, in_place_seconds, workspaces_seconds) =
        (middle(make), middle(in_place), middle(workspaces));
    let per_job = |seconds: f64| (seconds - make_seconds) * 1e3 / args.jobs as f64;
    Ok(Report {
        jobs: args.jobs,
        files: args.files,
        make_seconds,
        in_place_seconds,
        workspaces_seconds,
        in_place_ms_per_job: per_job(in_place_seconds),
        workspaces_ms_per_job: per_job(workspaces_seconds),
        run_peak_kib,
        plan_files: args.plan_files,
        plan_jobs: args.plan_jobs,
        plan_seconds: middle(plan),
        plan_peak_kib,
    })
}

/// Nothing is reused and nobody looks on.
fn local_run(folder: &Path, flags: &[&str]) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("where this program is")?);
    command.args(["run", "--executor", "process", "--slots", SLOTS, "--no-reuse"]).args(flags);
    command.current_dir(folder);
    Ok(command)
}

/// How long it took, and the most memory it had.
fn timed(mut command: Command) -> Result<(f64, u64)> {
    let began = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let mut peak = 0;
    let status = loop {
        peak = peak_kib(&child).max(peak);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(LOOK_AGAIN);
    };
    let seconds = began.elapsed().as_secs_f64();
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok((seconds, peak))
}

/// Of the process itself; 0 once it has ended.
fn peak_kib(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// A repository of small files with one commit.
fn repository(folder: &Path, files: usize, pipeline: &str) -> Result<()> {
    for number in 0..files {
        let below = folder.join(format!("src/{:03}", number / 100));
        if number % 100 == 0 {
            fs::create_dir_all(&below)?;
        }
        fs::write(
            below.join(format!("file-{number}.txt")),
            format!("the file number {number}\n").repeat(20),
        )?;
    }
    fs::write(folder.join("delta-ci.yaml"), pipeline)?;
    for words in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "-m", "all"],
    ] {
        let status = Command::new("git").args(words).current_dir(folder).status().context("git is needed")?;
        ensure!(status.success(), "git {words:?} ended with {status}");
    }
    Ok(())
}

/// The job that this one needs.
fn before(number: usize) -> Option<usize> {
    number.checked_sub(LAYER)
}

fn layered(jobs: usize) -> String {
    let mut text = String::from("version: 1\njobs:\n");
    for number in 0..jobs {
        let needs = before(number).map(|before| format!(" needs: [job-{before}],")).unwrap_or_default();
        let _ = writeln!(text, "  job-{number}: {{{needs} run: \"true\" }}");
    }
    text
}

/// Each job looks at a folder of its own.
fn sharded(jobs: usize) -> String {
    let mut text = String::from("version: 1\njobs:\n");
    for number in 0..jobs {
        let _ =
            writeln!(text, "  job-{number}: {{ paths: [\"src/{:03}/**\"], run: \"true\" }}", number % 500);
    }
    text
}

fn makefile(jobs: usize) -> String {
    let all: Vec<String> = (0..jobs).map(|number| format!("job-{number}")).collect();
    let mut text = format!(".PHONY: all {0}\nall: {0}\n", all.join(" "));
    for number in 0..jobs {
        let needs = before(number).map(|before| format!(" job-{before}")).unwrap_or_default();
        // A shell for each, as ours: make would start a plain word without one.
        let _ = writeln!(text, "job-{number}:{needs}\n\t@true && true");
    }
    text
}

impl Report {
    fn tell(&self, rows: &mut Rows) {
        let seconds = |seconds: f64| format!("{seconds:.2} s");
        let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
        rows.row("make -j2", seconds(self.make_seconds), format!("{} jobs that do nothing", self.jobs));
        let more = |ms: f64| format!("{ms:.1} ms more than make's per job");
        rows.row("in place", seconds(self.in_place_seconds), more(self.in_place_ms_per_job));
        let copies =
            format!("{}, each with a copy of {} files", more(self.workspaces_ms_per_job), self.files);
        rows.row("workspaces", seconds(self.workspaces_seconds), copies);
        rows.row("memory", mib(self.run_peak_kib), "of `deltaci run`, at most");
        let plan = format!("{} files, {} jobs; {}", self.plan_files, self.plan_jobs, mib(self.plan_peak_kib));
        rows.row("plan", seconds(self.plan_seconds), plan);
    }
}
