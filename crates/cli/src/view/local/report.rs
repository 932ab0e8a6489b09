//! The end of a local run: each failure once more, with what a person needs to act on it, and one line for all.

use std::collections::HashSet;
use std::time::Duration;

use wire::RunId;

use super::board::{Board, Entry, FAILURES_KEPT_MAX, Phase};
use super::said;
use crate::view::screen::{Screen, Style, width, wrapped};
use crate::view::state::Look;
use crate::view::time::{grouped, took};
use crate::view::ways::quoted;

pub fn end(screen: Screen, board: &Board, run: RunId, state: &str, now: Duration) -> String {
    let mut text = String::new();
    let failed: Vec<&Entry> = board.jobs.iter().filter(|entry| entry.has_failed()).collect();
    for entry in failed.iter().take(FAILURES_KEPT_MAX) {
        text.push('\n');
        text.push_str(&failure(screen, board, entry, run));
    }
    if failed.len() > FAILURES_KEPT_MAX {
        let others = failed[FAILURES_KEPT_MAX..].iter().map(|entry| entry.name.as_str());
        text.push_str(&format!("\n✗ failed as well: {}\n", said::names(others)));
    }
    if !failed.is_empty() {
        text.push('\n');
    }
    text.push_str(&nothing_ran(screen, board));
    text.push_str(&summary(screen, board, run, state, now));
    screen.signs(text)
}

fn failure(screen: Screen, board: &Board, entry: &Entry, run: RunId) -> String {
    let mut text = head(screen, entry);
    if let Some(step) = failed_step(entry) {
        text.push_str(&format!("  {} {step}\n", screen.paint(Style::Dim, "$")));
    }
    text.push_str(&tail(screen, entry));
    let because = entry.failure.as_ref().map(said::class).unwrap_or_default();
    text.push_str(&sentence(screen, &because));
    let held_back = held_back(board, entry);
    if !held_back.is_empty() {
        let names = said::names(held_back.iter().map(|entry| entry.name.as_str()));
        text.push_str(&sentence(screen, &format!("not run because of it: {names}")));
    }
    let name = quoted(&entry.planned.name);
    let (ways, job) = (&board.ways, format!(" --job {name}"));
    let looks = [ways.look(&format!("logs {run}{job}")), ways.look(&format!("explain {run}"))];
    let next: Vec<String> = looks.into_iter().chain(ways.again("", &job)).collect();
    text.push_str(&screen.listed("  next:", &next));
    text
}

/// `✗ unit failed after 3.2s: step 2 of 3, exit code 1`
fn head(screen: Screen, entry: &Entry) -> String {
    let Phase::Ended { state, took: time } = &entry.phase else { return String::new() };
    let look = Look::of(state);
    let time = time.map(|time| format!(" after {}", took(time))).unwrap_or_default();
    let step = entry.failure.as_ref().and_then(|failure| failure.step);
    let step = step.map(|index| format!("step {} of {}", index + 1, entry.planned.steps.max(index + 1)));
    let exit = entry.failure.as_ref().and_then(|failure| failure.exit_code);
    let exit = exit.map(|code| format!("exit code {code}"));
    let facts: Vec<String> = step.into_iter().chain(exit).collect();
    let facts = if facts.is_empty() { String::new() } else { format!(": {}", facts.join(", ")) };
    let optional = if entry.planned.required { "" } else { " (optional)" };
    let (sign, words) = (screen.paint(look.style, look.sign), screen.paint(look.style, &look.words));
    let name = screen.paint(Style::Bold, &entry.name);
    format!("{sign} {name}{optional} {words}{time}{facts}\n")
}

/// The step that failed, if it is the one that was begun last.
fn failed_step(entry: &Entry) -> Option<&str> {
    let step = entry.step.as_ref()?;
    let failed = entry.failure.as_ref().and_then(|failure| failure.step).unwrap_or(step.index);
    (failed == step.index).then_some(step.text.as_str())
}

fn tail(screen: Screen, entry: &Entry) -> String {
    let rail = screen.paint(Style::Dim, "│");
    let mut text = String::new();
    match entry.tail.dropped() {
        0 => {}
        1 => text.push_str(&format!("  {}\n", screen.paint(Style::Dim, "… 1 line before these"))),
        number => {
            let before = format!("… {} lines before these", grouped(number));
            text.push_str(&format!("  {}\n", screen.paint(Style::Dim, &before)));
        }
    }
    for line in entry.tail.lines() {
        text.push_str(format!("  {rail} {line}").trim_end());
        text.push('\n');
    }
    text
}

fn sentence(screen: Screen, text: &str) -> String {
    let columns = screen.columns.map_or(usize::MAX, |columns| columns.saturating_sub(2));
    wrapped(text, columns).iter().map(|line| format!("  {line}\n")).collect()
}

/// Those that never began and need it, directly or through others.
fn held_back<'a>(board: &'a Board, guilty: &Entry) -> Vec<&'a Entry> {
    let mut blocked = HashSet::from([guilty.planned.name.as_str()]);
    let mut held: Vec<&Entry> = Vec::new();
    let mut before = 0;
    // Each round goes one need further; the last finds nothing new.
    while before < blocked.len() {
        before = blocked.len();
        for entry in board.jobs.iter().filter(|entry| entry.phase == Phase::NotRun) {
            let needs = &entry.planned.needs;
            if needs.iter().any(|need| blocked.contains(need.as_str())) && blocked.insert(&entry.planned.name)
            {
                held.push(entry);
            }
        }
    }
    held
}

fn nothing_ran(screen: Screen, board: &Board) -> String {
    let ran = board.jobs.iter().any(|entry| !matches!(entry.phase, Phase::Reused | Phase::Skipped));
    let reused = board.jobs.iter().any(|entry| entry.phase == Phase::Reused);
    match reused && !ran {
        true => {
            let said = "nothing had to run: the inputs are those of earlier successes; --no-reuse runs it all the same";
            screen.paint(Style::Dim, said) + "\n"
        }
        false => String::new(),
    }
}

/// `FAILED  1 failed, 3 succeeded in 4.1s  run_…`
fn summary(screen: Screen, board: &Board, run: RunId, state: &str, now: Duration) -> String {
    let look = Look::of(state);
    let counts: Vec<String> =
        said::counts(board).iter().map(|(number, word)| format!("{number} {word}")).collect();
    let counts = if counts.is_empty() { "no jobs".into() } else { counts.join(", ") };
    let said = format!("{counts} in {}", took(now));
    let run = run.to_string();
    let all = width(state) + 2 + width(&said) + 2 + width(&run);
    let fits = screen.columns.is_none_or(|columns| all <= columns);
    let gap = if fits { "  " } else { "\n" };
    format!("{}  {said}{gap}{}\n", screen.paint(look.style, state), screen.paint(Style::Dim, &run))
}
