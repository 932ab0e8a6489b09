//! Runs as they are told, and who listens.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use decisions::records::Source;
use wire::api::{Decision, Reason};
use wire::{RunId, Time};

use crate::local::happening::{Failure, Happening, JobLine, PlannedJob, Show};

pub const HOUR: i64 = 3_600;
const DAY_OF_THE_RUN: i64 = 1_700_000_000;

pub fn run() -> RunId {
    RunId::minted(Time::from_seconds(DAY_OF_THE_RUN), [7; 8])
}

/// Two hours older.
pub fn earlier() -> RunId {
    RunId::minted(Time::from_seconds(DAY_OF_THE_RUN - 2 * HOUR), [9; 8])
}

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn job(name: &str, needs: &[&str]) -> PlannedJob {
    PlannedJob {
        name: name.into(),
        decision: Decision::Run,
        reasons: vec![reason("new-inputs", "no earlier success has these inputs")],
        needs: needs.iter().map(|need| need.to_string()).collect(),
        required: true,
        steps: 1,
    }
}

pub fn reason(rule: &str, detail: &str) -> Reason {
    Reason { rule: rule.into(), detail: detail.into(), ..Reason::default() }
}

pub fn reused(name: &str, needs: &[&str]) -> PlannedJob {
    let reasons = vec![Reason { run: Some(earlier()), ..reason("reuse", "the inputs are the same") }];
    PlannedJob { decision: Decision::Reuse, reasons, ..job(name, needs) }
}

pub fn skipped(name: &str, needs: &[&str]) -> PlannedJob {
    let reasons = vec![reason("unchanged", "no file of docs/ changed")];
    PlannedJob { decision: Decision::Skip, reasons, ..job(name, needs) }
}

/// Of a repository with a bit of everything.
pub fn jobs() -> Vec<PlannedJob> {
    vec![
        reused("fmt", &[]),
        skipped("docs", &[]),
        job("build", &["fmt"]),
        PlannedJob { steps: 3, ..job("unit-tests", &["build"]) },
        PlannedJob { required: false, ..job("lint", &["fmt"]) },
        job("package", &["unit-tests"]),
        job("deploy", &["package", "docs"]),
    ]
}

pub fn planned(jobs: Vec<PlannedJob>) -> Happening {
    let base = Some("0123456789abcdef0123456789abcdef01234567".into());
    Happening::Planned { run: run(), source: Source::File, base, jobs }
}

pub fn started(job: &str) -> Happening {
    Happening::JobStarted { job: job.into(), attempt: 1 }
}

pub fn step(job: &str, index: u32, text: &str) -> Happening {
    Happening::StepStarted { job: job.into(), index, text: text.into() }
}

pub fn output(job: &str, text: &str) -> Happening {
    Happening::Output { job: job.into(), bytes: text.into() }
}

pub fn ended(job: &str, state: &str) -> Happening {
    Happening::JobEnded { job: job.into(), attempt: 1, state: state.into(), failure: None, again: false }
}

pub fn failed(job: &str, step: u32, exit_code: i32) -> Happening {
    let failure = Failure {
        class: "test".into(),
        explanation: "tests failed (the summary says \"test failed\")".into(),
        step: Some(step),
        exit_code: Some(exit_code),
    };
    let state = "FAILED".into();
    Happening::JobEnded { job: job.into(), attempt: 1, state, failure: Some(failure), again: false }
}

pub fn tries_again(job: &str) -> Happening {
    let failure = Failure {
        class: "infra".into(),
        explanation: "the network failed".into(),
        step: Some(0),
        exit_code: Some(7),
    };
    let state = "FAILED".into();
    Happening::JobEnded { job: job.into(), attempt: 1, state, failure: Some(failure), again: true }
}

pub fn run_ended(state: &str, jobs: &[(&str, Option<&str>)]) -> Happening {
    let line = |(name, state): &(&str, Option<&str>)| JobLine {
        name: name.to_string(),
        decision: Decision::Run,
        state: state.map(String::from),
        attempts: 1,
        duration_ms: 1_200,
    };
    Happening::RunEnded { run: run(), state: state.into(), jobs: jobs.iter().map(line).collect() }
}

/// The run of [`jobs`] until two of them are on their way.
pub fn middle() -> Vec<(u64, Happening)> {
    vec![
        (0, planned(jobs())),
        (10, started("build")),
        (
            10,
            Happening::ExecutorChosen {
                job: "build".into(),
                executor: "process".into(),
                why: "there is no bubblewrap".into(),
            },
        ),
        (20, step("build", 0, "cargo build --workspace")),
        (30, output("build", "   Compiling one v0.1.0\n   Compi")),
        (40, output("build", "ling two v0.1.0\n")),
        (40, started("lint")),
        (50, step("lint", 0, "cargo clippy")),
        (1_250, ended("build", "SUCCEEDED")),
        (1_260, started("unit-tests")),
        (1_270, step("unit-tests", 0, "cargo test --no-run")),
        (1_280, output("unit-tests", "of another step\n")),
        (1_290, step("unit-tests", 1, "cargo test --workspace --all-features")),
        (
            2_000,
            output("unit-tests", "running 2 tests\r\n\x1b[2J\x1b[32mtest one\x1b[0m ... ok\ntest two ... "),
        ),
        (2_100, output("lint", "warning: \u{1b}[5Ait is 日本語 and\twide\n")),
        (2_500, output("unit-tests", "\x1b[31mFAILED\x1b[0m\n")),
    ]
}

/// And to its bad end.
pub fn end() -> Vec<(u64, Happening)> {
    vec![
        (3_500, failed("unit-tests", 1, 101)),
        (3_600, ended("package", "CANCELED")),
        (4_100, ended("lint", "SUCCEEDED")),
        (4_120, run_ended("FAILED", &[("deploy", Some("CANCELED"))])),
    ]
}

pub fn tell(show: &mut dyn Show, happenings: &[(u64, Happening)]) {
    happenings.iter().for_each(|(at, happening)| show.happened(happening, ms(*at)));
}

/// Keeps what is written.
#[derive(Clone, Default)]
pub struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
