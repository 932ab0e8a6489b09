//! Where each job of a local run is, as far as it was told. Of what jobs print it keeps the last lines only.

use std::collections::HashMap;
use std::time::Duration;

use wire::api::Decision;
use wire::{RunId, Time};

use super::lines::{Lines, Tail};
use super::said;
use crate::local::happening::{Failure, Happening, JobLine, PlannedJob};
use crate::view::screen::one_line;
use crate::view::ways::Ways;

/// Failures whose last lines are kept; of more than these a person reads the logs.
pub const FAILURES_KEPT_MAX: usize = 20;

pub struct Board {
    pub run: Option<RunId>,
    pub jobs: Vec<Entry>,
    places: HashMap<String, usize>,
    colours: bool,
    failures_kept: usize,
    pub cancel: Option<Cancel>,
    /// For what is suggested.
    pub ways: Ways,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    Requested,
    Forced,
}

pub struct Entry {
    pub planned: PlannedJob,
    /// Its name, fit for a terminal.
    pub name: String,
    pub phase: Phase,
    pub step: Option<Step>,
    /// While it runs.
    lines: Option<Lines>,
    /// Of the step that runs or failed.
    pub tail: Tail,
    pub failure: Option<Failure>,
    /// Of the attempt that ended last.
    pub attempt_took: Option<Duration>,
}

pub struct Step {
    pub index: u32,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    Waiting,
    Running {
        since: Duration,
    },
    Reused,
    Skipped,
    /// It ended before it began.
    NotRun,
    /// `took`: unless it ended before this process began.
    Ended {
        state: String,
        took: Option<Duration>,
    },
}

impl Board {
    pub fn new(colours: bool) -> Board {
        Board {
            run: None,
            jobs: Vec::new(),
            places: HashMap::new(),
            colours,
            failures_kept: 0,
            cancel: None,
            ways: Ways::here(),
        }
    }

    /// When the run began, as its id knows.
    pub fn began(&self) -> Time {
        self.run.map_or(Time::from_micros(0), RunId::born)
    }

    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.places.get(name).map(|place| &self.jobs[*place])
    }

    /// Notes what happened, and hands out the lines of output that it ended.
    pub fn note(&mut self, happening: &Happening, now: Duration) -> Vec<String> {
        match happening {
            Happening::Planned { run, jobs, source: _, base: _ } => self.plan(*run, jobs),
            Happening::JobStarted { job, attempt: _ } => {
                let colours = self.colours;
                return self.with(job, |entry| entry.start(now, colours));
            }
            Happening::StepStarted { job, index, text } => {
                return self.with(job, |entry| entry.begin_step(*index, text));
            }
            Happening::Output { job, bytes } => {
                let colours = self.colours;
                return self.with(job, |entry| entry.hear(bytes, colours));
            }
            Happening::JobEnded { job, attempt: _, state, failure, again } => {
                return self.end(job, state, failure.as_ref(), *again, now);
            }
            Happening::CancelRequested { forced } => {
                self.cancel = Some(if *forced { Cancel::Forced } else { Cancel::Requested });
            }
            Happening::RunEnded { run, .. } => self.run = Some(*run),
            Happening::Interrupted { .. } | Happening::ExecutorChosen { .. } => {}
        }
        Vec::new()
    }

    /// What was not told of the jobs of a run that is over: those that never began, or ended before this process did.
    pub fn untold(&self, jobs: &[JobLine]) -> Vec<Happening> {
        let open = jobs.iter().filter(|job| self.find(&job.name).is_some_and(|entry| !entry.is_over()));
        open.map(|job| Happening::JobEnded {
            job: job.name.clone(),
            attempt: job.attempts,
            state: job.state.clone().unwrap_or_else(|| "CANCELED".into()),
            failure: None,
            again: false,
        })
        .collect()
    }

    fn plan(&mut self, run: RunId, jobs: &[PlannedJob]) {
        self.run = Some(run);
        self.jobs = jobs.iter().map(Entry::new).collect();
        self.places = jobs.iter().enumerate().map(|(place, job)| (job.name.clone(), place)).collect();
    }

    fn end(
        &mut self,
        job: &str,
        state: &str,
        failure: Option<&Failure>,
        again: bool,
        now: Duration,
    ) -> Vec<String> {
        let mut kept = self.failures_kept;
        let lines = self.with(job, |entry| {
            let lines = entry.end(state, failure, again, now);
            if entry.has_failed() {
                kept += 1;
            }
            if !entry.has_failed() || kept > FAILURES_KEPT_MAX {
                entry.tail = Tail::default();
            }
            lines
        });
        self.failures_kept = kept;
        lines
    }

    /// One that is not in the plan is nothing to show.
    fn with(&mut self, name: &str, change: impl FnOnce(&mut Entry) -> Vec<String>) -> Vec<String> {
        self.places.get(name).map(|place| change(&mut self.jobs[*place])).unwrap_or_default()
    }
}

impl Entry {
    fn new(job: &PlannedJob) -> Entry {
        Entry {
            planned: job.clone(),
            name: one_line(&job.name),
            phase: match job.decision {
                Decision::Run => Phase::Waiting,
                Decision::Skip => Phase::Skipped,
                Decision::Reuse => Phase::Reused,
            },
            step: None,
            lines: None,
            tail: Tail::default(),
            failure: None,
            attempt_took: None,
        }
    }

    pub fn has_failed(&self) -> bool {
        matches!(&self.phase, Phase::Ended { state, .. } if is_failure(state))
    }

    /// Whether those that need it may begin.
    pub fn is_satisfied(&self) -> bool {
        match &self.phase {
            Phase::Reused | Phase::Skipped => true,
            Phase::Ended { state, .. } => state == "SUCCEEDED",
            Phase::Waiting | Phase::Running { .. } | Phase::NotRun => false,
        }
    }

    pub fn is_over(&self) -> bool {
        match self.phase {
            Phase::Waiting | Phase::Running { .. } => false,
            Phase::Reused | Phase::Skipped | Phase::NotRun | Phase::Ended { .. } => true,
        }
    }

    /// What it printed last; a line that is still being written counts.
    pub fn last_line(&self) -> Option<&str> {
        let open = self.lines.as_ref().map(Lines::open).filter(|line| !line.trim().is_empty());
        open.or(self.tail.last())
    }

    /// `2/3`, when there is more than one.
    pub fn step_count(&self, index: u32) -> String {
        if self.planned.steps > 1 { format!("{}/{}", index + 1, self.planned.steps) } else { String::new() }
    }

    fn start(&mut self, now: Duration, colours: bool) -> Vec<String> {
        self.phase = Phase::Running { since: now };
        self.step = None;
        self.tail = Tail::default();
        self.failure = None;
        self.lines.replace(Lines::new(colours)).and_then(|mut lines| lines.end()).into_iter().collect()
    }

    fn begin_step(&mut self, index: u32, text: &str) -> Vec<String> {
        let ended = self.flush();
        self.step = Some(Step { index, text: said::step(text) });
        self.tail = Tail::default();
        ended
    }

    fn hear(&mut self, bytes: &[u8], colours: bool) -> Vec<String> {
        let ended = self.lines.get_or_insert_with(|| Lines::new(colours)).more(bytes);
        ended.iter().for_each(|line| self.tail.add(line));
        ended
    }

    fn flush(&mut self) -> Vec<String> {
        let ended = self.lines.as_mut().and_then(Lines::end);
        ended.iter().for_each(|line| self.tail.add(line));
        ended.into_iter().collect()
    }

    fn end(&mut self, state: &str, failure: Option<&Failure>, again: bool, now: Duration) -> Vec<String> {
        let ended = self.flush();
        self.lines = None;
        self.failure = failure.cloned();
        self.attempt_took = match self.phase {
            Phase::Running { since } => Some(now.saturating_sub(since)),
            Phase::Waiting | Phase::Reused | Phase::Skipped | Phase::NotRun | Phase::Ended { .. } => None,
        };
        let never_began = self.attempt_took.is_none() && state == "CANCELED";
        self.phase = match (again, never_began) {
            (true, _) => Phase::Waiting,
            (false, true) => Phase::NotRun,
            (false, false) => Phase::Ended { state: state.into(), took: self.attempt_took },
        };
        ended
    }
}

/// Of a job's states, those that a person must look at.
pub fn is_failure(state: &str) -> bool {
    matches!(state, "FAILED" | "TIMED_OUT" | "STALE")
}
