//! The sentences that a moving tree and plain lines share.

use std::time::Duration;

use decisions::records::Source;
use wire::RunId;
use wire::api::Decision;

use super::board::{Board, Cancel, Entry, Phase};
use crate::local::happening::{Failure, PlannedJob};
use crate::view::screen::{fitted, one_line};

/// Names of jobs in one sentence; of more the number is enough.
const NAMES_MAX: usize = 6;
const STEP_COLUMNS_MAX: usize = 160;
/// Letters of a commit that are enough for people.
const COMMIT_LETTERS: usize = 10;

/// `lint, unit and 3 more`
pub fn names<'a>(all: impl ExactSizeIterator<Item = &'a str>) -> String {
    let left = all.len().saturating_sub(NAMES_MAX);
    let some: Vec<String> = all.take(NAMES_MAX).map(one_line).collect();
    let more = if left > 0 { format!(" and {left} more") } else { String::new() };
    some.join(", ") + &more
}

pub fn interrupted(run: RunId, jobs: &[String], resumed: bool) -> String {
    let running = match jobs {
        [] => String::new(),
        jobs => format!(" while {} ran", names(jobs.iter().map(String::as_str))),
    };
    let became = match resumed {
        true => "going on from what had succeeded",
        false => "it is canceled now; `--resume` would have gone on with it",
    };
    format!("{run} was interrupted{running}: {became}")
}

/// `3 jobs to run, 2 reused`
pub fn planned(jobs: &[PlannedJob]) -> String {
    let count = |decision| jobs.iter().filter(|job| job.decision == decision).count();
    let run = match count(Decision::Run) {
        1 => "1 job to run".into(),
        number => format!("{number} jobs to run"),
    };
    let others = [(count(Decision::Reuse), "reused"), (count(Decision::Skip), "skipped")];
    let others = others.iter().filter(|(number, _)| *number > 0);
    std::iter::once(run)
        .chain(others.map(|(number, word)| format!("{number} {word}")))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Where the jobs come from.
pub fn source(source: Source) -> &'static str {
    match source {
        Source::Given => "as given",
        Source::File => "from delta-ci.yaml",
        Source::Discovered => "discovered: there is no delta-ci.yaml, `deltaci init` writes one",
    }
}

pub fn base(base: &str) -> String {
    let is_commit = base.len() >= 40 && base.bytes().all(|letter| letter.is_ascii_hexdigit());
    let letters = if is_commit { COMMIT_LETTERS } else { usize::MAX };
    one_line(&base.chars().take(letters).collect::<String>())
}

pub fn executor(executor: &str, why: &str) -> String {
    let why = one_line(why);
    let executor = one_line(executor);
    if why.is_empty() { format!("executor {executor}") } else { format!("executor {executor}: {why}") }
}

pub fn cancel(cancel: Cancel) -> &'static str {
    match cancel {
        Cancel::Requested => "canceling: what runs is asked to stop; Ctrl-C again kills it",
        Cancel::Forced => "canceling: what still runs is killed",
    }
}

/// A step's first line; a script of many is read elsewhere.
pub fn step(text: &str) -> String {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default();
    let more = if first.len() < text.len() { " …" } else { "" };
    fitted(&one_line(first), STEP_COLUMNS_MAX) + more
}

/// `exit code 1`, or else what it was.
pub fn failure(failure: &Failure) -> String {
    match failure.exit_code {
        Some(code) if code != 0 => format!("exit code {code}"),
        Some(_) | None => class(failure),
    }
}

/// `test: a test failed`
pub fn class(failure: &Failure) -> String {
    let class = one_line(&failure.class.replace('_', " "));
    let explanation = one_line(&failure.explanation);
    match (class.is_empty(), explanation.is_empty()) {
        (true, _) => explanation,
        (false, true) => class,
        (false, false) => format!("{class}: {explanation}"),
    }
}

/// Why a job was not begun.
pub fn not_run(board: &Board, entry: &Entry) -> String {
    let needs = entry.planned.needs.iter().filter_map(|need| board.find(need));
    let guilty: Vec<&str> =
        needs.filter(|need| need.is_over() && !need.is_satisfied()).map(|need| need.name.as_str()).collect();
    match (guilty.as_slice(), board.cancel) {
        ([], Some(_)) => "the run was canceled".into(),
        ([], None) => "it never began".into(),
        (guilty, _) => format!("needs {}", names(guilty.iter().copied())),
    }
}

/// How many jobs are where, the worst first.
pub fn counts(board: &Board) -> Vec<(usize, &'static str)> {
    let count = |which: &dyn Fn(&Entry) -> bool| board.jobs.iter().filter(|entry| which(entry)).count();
    let ended = |wanted: &'static str| move |entry: &Entry| matches!(&entry.phase, Phase::Ended { state, .. } if state == wanted);
    let all = [
        (count(&|entry| entry.has_failed() && entry.planned.required), "failed"),
        (count(&|entry| entry.has_failed() && !entry.planned.required), "optional failed"),
        (count(&ended("CANCELED")), "canceled"),
        (count(&|entry| entry.phase == Phase::NotRun), "not run"),
        (count(&|entry| matches!(entry.phase, Phase::Running { .. })), "running"),
        (count(&|entry| entry.phase == Phase::Waiting), "waiting"),
        (count(&ended("SUCCEEDED")), "succeeded"),
        (count(&|entry| entry.phase == Phase::Reused), "reused"),
        (count(&|entry| entry.phase == Phase::Skipped), "skipped"),
    ];
    all.into_iter().filter(|(number, _)| *number > 0).collect()
}

/// How long the job has run, if it does.
pub fn elapsed(entry: &Entry, now: Duration) -> Option<Duration> {
    match entry.phase {
        Phase::Running { since } => Some(now.saturating_sub(since)),
        Phase::Ended { took, .. } => took,
        Phase::Waiting | Phase::Reused | Phase::Skipped | Phase::NotRun => None,
    }
}
