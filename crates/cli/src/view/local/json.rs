//! A local run as events for programs: one JSON object per line, the last is `run_finished`.

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use decisions::records::Source;
use serde::Serialize;
use wire::RunId;
use wire::api::{Decision, Reason};

use crate::local::happening::{Failure, Happening, JobLine, PlannedJob, Show};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event<'a> {
    RunInterrupted {
        run_id: RunId,
        jobs: &'a [String],
        resumed: bool,
    },
    RunPlanned {
        run_id: RunId,
        #[serde(flatten)]
        plan: Plan<'a>,
    },
    JobStarted {
        job: &'a str,
        attempt: u32,
        elapsed_ms: u64,
    },
    ExecutorChosen {
        job: &'a str,
        executor: &'a str,
        why: &'a str,
    },
    StepStarted {
        job: &'a str,
        index: u32,
        text: &'a str,
        elapsed_ms: u64,
    },
    Output {
        job: &'a str,
        text: String,
    },
    JobEnded {
        job: &'a str,
        attempt: u32,
        state: &'a str,
        again: bool,
        failure: Option<FailureEvent<'a>>,
        elapsed_ms: u64,
    },
    CancelRequested {
        forced: bool,
        elapsed_ms: u64,
    },
    RunFinished {
        run_id: RunId,
        state: &'a str,
        jobs: Vec<JobEvent<'a>>,
    },
}

#[derive(Serialize)]
struct Plan<'a> {
    base: Option<&'a str>,
    source: Source,
    jobs: Vec<PlannedEvent<'a>>,
}

#[derive(Serialize)]
struct PlannedEvent<'a> {
    name: &'a str,
    decision: Decision,
    reasons: &'a [Reason],
    needs: &'a [String],
    required: bool,
}

#[derive(Serialize)]
struct FailureEvent<'a> {
    class: &'a str,
    explanation: &'a str,
    step: Option<u32>,
    exit_code: Option<i32>,
}

#[derive(Serialize)]
struct JobEvent<'a> {
    name: &'a str,
    decision: Decision,
    state: Option<&'a str>,
    attempts: u32,
    duration_ms: u64,
}

/// What `plan --json` prints.
pub fn plan<'a>(source: Source, base: Option<&'a str>, jobs: &'a [PlannedJob]) -> impl Serialize + 'a {
    planned(source, base, jobs)
}

fn planned<'a>(source: Source, base: Option<&'a str>, jobs: &'a [PlannedJob]) -> Plan<'a> {
    let jobs = jobs.iter().map(|job| PlannedEvent {
        name: &job.name,
        decision: job.decision,
        reasons: &job.reasons,
        needs: &job.needs,
        required: job.required,
    });
    Plan { base, source, jobs: jobs.collect() }
}

pub struct Json<W: Write> {
    out: W,
    /// Of each job that runs: the beginning of a character whose end has not come.
    rests: HashMap<String, Vec<u8>>,
}

impl<W: Write> Json<W> {
    pub fn new(out: W) -> Json<W> {
        Json { out, rests: HashMap::new() }
    }

    /// Nobody may be reading any more; the run goes on, and its exit code tells.
    fn write(&mut self, event: &Event) {
        let mut line = serde_json::to_string(event).expect("an event is made of texts and numbers");
        line.push('\n');
        let _ = self.out.write_all(line.as_bytes()).and_then(|()| self.out.flush());
    }

    fn output(&mut self, job: &str, bytes: &[u8]) {
        let rest = self.rests.entry(job.to_owned()).or_default();
        let mut all = std::mem::take(rest);
        all.extend_from_slice(bytes);
        *rest = all.split_off(whole_letters(&all));
        self.text(job, &all);
    }

    fn text(&mut self, job: &str, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.write(&Event::Output { job, text: String::from_utf8_lossy(bytes).into_owned() });
        }
    }
}

/// Where a letter begins whose end is not there; the length if none does.
fn whole_letters(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last().map(|chunk| chunk.invalid()) {
        Some(rest) if std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none()) => {
            bytes.len() - rest.len()
        }
        Some(_) | None => bytes.len(),
    }
}

fn failed(failure: &Failure) -> FailureEvent<'_> {
    let Failure { class, explanation, step, exit_code } = failure;
    FailureEvent { class, explanation, step: *step, exit_code: *exit_code }
}

fn finished(job: &JobLine) -> JobEvent<'_> {
    JobEvent {
        name: &job.name,
        decision: job.decision,
        state: job.state.as_deref(),
        attempts: job.attempts,
        duration_ms: job.duration_ms,
    }
}

impl<W: Write> Show for Json<W> {
    fn happened(&mut self, happening: &Happening, now: Duration) {
        let elapsed_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let event = match happening {
            Happening::Interrupted { run, jobs, resumed } => {
                Event::RunInterrupted { run_id: *run, jobs, resumed: *resumed }
            }
            Happening::Planned { run, source, base, jobs } => {
                Event::RunPlanned { run_id: *run, plan: planned(*source, base.as_deref(), jobs) }
            }
            Happening::JobStarted { job, attempt } => {
                Event::JobStarted { job, attempt: *attempt, elapsed_ms }
            }
            Happening::ExecutorChosen { job, executor, why } => Event::ExecutorChosen { job, executor, why },
            Happening::StepStarted { job, index, text } => {
                Event::StepStarted { job, index: *index, text, elapsed_ms }
            }
            Happening::Output { job, bytes } => return self.output(job, bytes),
            Happening::JobEnded { job, attempt, state, failure, again } => {
                let rest = self.rests.remove(job).unwrap_or_default();
                self.text(job, &rest);
                let failure = failure.as_ref().map(failed);
                Event::JobEnded { job, attempt: *attempt, state, again: *again, failure, elapsed_ms }
            }
            Happening::CancelRequested { forced } => Event::CancelRequested { forced: *forced, elapsed_ms },
            Happening::RunEnded { run, state, jobs } => {
                Event::RunFinished { run_id: *run, state, jobs: jobs.iter().map(finished).collect() }
            }
        };
        self.write(&event);
    }

    /// Time alone is no event.
    fn tick(&mut self, _now: Duration) {}
}
