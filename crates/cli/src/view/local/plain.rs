//! A local run as lines, one after the other, for files, pipes and the logs of another CI.

use std::collections::HashSet;
use std::io::Write;
use std::time::Duration;

use wire::api::Decision;

use super::board::{Board, Cancel, Entry, Phase};
use super::{reasons, report, said};
use crate::local::happening::{Happening, Show};
use crate::view::screen::{Screen, Style, one_line, width};
use crate::view::state::Look;
use crate::view::time::took;
use crate::view::ways::Ways;

/// Longer names are not waited for by the others.
const NAME_COLUMNS_MAX: usize = 24;

pub struct Plain<W: Write> {
    out: W,
    screen: Screen,
    board: Board,
    name_columns: usize,
    executors: HashSet<String>,
}

impl<W: Write> Plain<W> {
    pub fn new(out: W, screen: Screen) -> Plain<W> {
        let board = Board::new(screen.has_colours());
        Plain { out, screen, board, name_columns: 0, executors: HashSet::new() }
    }

    pub fn suggesting(mut self, ways: Ways) -> Plain<W> {
        self.board.ways = ways;
        self
    }

    /// Nobody may be reading any more; the run goes on.
    fn write(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }

    fn tell(&mut self, text: &str) {
        let line = self.screen.signs(format!("{text}\n"));
        self.write(&line);
    }

    /// About a job.
    fn about(&mut self, job: &str, style: Style, text: &str) {
        let text = self.screen.paint(style, text);
        self.tell(&format!("{}: {text}", one_line(job)));
    }

    /// What a job printed.
    fn printed(&mut self, job: &str, lines: &[String]) {
        let name = one_line(job);
        let padding = " ".repeat(self.name_columns.saturating_sub(width(&name)));
        let prefix = format!("{name}{padding} {}", self.screen.paint(Style::Dim, "|"));
        let text: String = lines
            .iter()
            .map(|line| if line.is_empty() { format!("{prefix}\n") } else { format!("{prefix} {line}\n") })
            .collect();
        self.write(&text);
    }

    fn tell_planned(&mut self, happening: &Happening) {
        let Happening::Planned { run, source, base, jobs } = happening else { return };
        let base = base.as_ref().map(|base| format!("; base {}", said::base(base)));
        let base = base.unwrap_or_default();
        self.tell(&format!("{run}: {}; {}{base}", said::planned(jobs), said::source(*source)));
        let now = self.board.began();
        let names = self.board.jobs.iter().filter(|entry| entry.phase == Phase::Waiting);
        let widest = names.map(|entry| width(&entry.name)).max().unwrap_or(0);
        self.name_columns = widest.min(NAME_COLUMNS_MAX);
        for job in jobs {
            let word = match job.decision {
                Decision::Run => continue,
                Decision::Skip => "skipped",
                Decision::Reuse => "reused",
            };
            let why = reasons::words(job.decision, &job.reasons, now);
            self.about(&job.name, Style::Dim, format!("{word}: {why}").trim_end_matches(": "));
        }
    }

    fn tell_ended(&mut self, job: &str, state: &str) {
        let Some(entry) = self.board.find(job) else { return };
        let (text, style) = match entry.phase {
            Phase::NotRun => (format!("not run: {}", said::not_run(&self.board, entry)), Style::Dim),
            Phase::Waiting | Phase::Running { .. } => (ended(entry, state, ", trying again"), Style::Yellow),
            Phase::Ended { .. } | Phase::Reused | Phase::Skipped => {
                (ended(entry, state, ""), Look::of(state).style)
            }
        };
        self.about(job, style, &text);
    }
}

/// `FAILED in 3.2s: exit code 1`
fn ended(entry: &Entry, state: &str, then: &str) -> String {
    let time = entry.attempt_took.map(|time| format!(" in {}", took(time))).unwrap_or_default();
    let why = match &entry.failure {
        Some(failure) if then.is_empty() => format!(": {}", said::failure(failure)),
        Some(failure) => format!(": {}", said::class(failure)),
        None => String::new(),
    };
    format!("{}{time}{then}{why}", one_line(state))
}

impl<W: Write> Show for Plain<W> {
    fn happened(&mut self, happening: &Happening, now: Duration) {
        if let Happening::RunEnded { jobs, .. } = happening {
            self.board.untold(jobs).iter().for_each(|ended| self.happened(ended, now));
        }
        let lines = self.board.note(happening, now);
        match happening {
            Happening::Interrupted { run, jobs, resumed } => {
                self.tell(&said::interrupted(*run, jobs, *resumed));
            }
            Happening::Planned { .. } => self.tell_planned(happening),
            Happening::JobStarted { job, attempt } => {
                self.printed(job, &lines);
                let attempt = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
                self.about(job, Style::Plain, &format!("started{attempt}"));
            }
            Happening::ExecutorChosen { executor, why, job: _ } => {
                let text = said::executor(executor, why);
                if self.executors.insert(text.clone()) {
                    self.tell(&text);
                }
            }
            Happening::StepStarted { job, text, index: _ } => {
                self.printed(job, &lines);
                self.about(job, Style::Plain, &format!("$ {}", said::step(text)));
            }
            Happening::Output { job, .. } => self.printed(job, &lines),
            Happening::JobEnded { job, state, .. } => {
                self.printed(job, &lines);
                self.tell_ended(job, state);
            }
            Happening::CancelRequested { forced } => {
                self.tell(said::cancel(if *forced { Cancel::Forced } else { Cancel::Requested }));
            }
            Happening::RunEnded { run, state, jobs: _ } => {
                let end = report::end(self.screen, &self.board, *run, state, now);
                self.write(&end);
            }
        }
    }

    /// Lines do not move.
    fn tick(&mut self, _now: Duration) {}
}
