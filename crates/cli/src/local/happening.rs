//! What happens in a local run, in the order it is told to whoever shows it.

use std::time::Duration;

use decisions::records::Source;
use wire::RunId;
use wire::api::{Decision, Reason};

#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// What an earlier process left open, and what became of it: `canceled` or `resumed`.
    Interrupted {
        run: RunId,
        jobs: Vec<String>,
        resumed: bool,
    },
    Planned {
        run: RunId,
        source: Source,
        base: Option<String>,
        jobs: Vec<PlannedJob>,
    },
    JobStarted {
        job: String,
        attempt: u32,
    },
    ExecutorChosen {
        job: String,
        executor: String,
        why: String,
    },
    /// Steps are counted from 0, here and in [`Failure`].
    StepStarted {
        job: String,
        index: u32,
        text: String,
    },
    Output {
        job: String,
        bytes: Vec<u8>,
    },
    /// An attempt is over; `again`: another one follows.
    JobEnded {
        job: String,
        attempt: u32,
        state: String,
        failure: Option<Failure>,
        again: bool,
    },
    CancelRequested {
        forced: bool,
    },
    RunEnded {
        run: RunId,
        state: String,
        jobs: Vec<JobLine>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlannedJob {
    pub name: String,
    pub decision: Decision,
    pub reasons: Vec<Reason>,
    pub needs: Vec<String>,
    pub required: bool,
    pub steps: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub class: String,
    pub explanation: String,
    pub step: Option<u32>,
    pub exit_code: Option<i32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct JobLine {
    pub name: String,
    pub decision: Decision,
    pub state: Option<String>,
    pub attempts: u32,
    pub duration_ms: u64,
}

/// Shows what happens. `now` is the time since the run began.
pub trait Show {
    fn happened(&mut self, happening: &Happening, now: Duration);
    fn tick(&mut self, now: Duration);
}
