//! Tells what happens in a run: the transitions that were committed, and what the runner sees of its jobs, as one story.
//!
//! A job's output is told after its start and before its end: the first is on record before the runner begins, and the
//! last of the output is in the channel before the runner says how the job ended.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use decisions::doctor::JobFile;
use decisions::records::{Event, Plan};
use machines::{Machine, attempt, job, run};
use runner::agent::{Seen, What};
use server::Engine;
use store::Store;
use wire::api::Decision;
use wire::{JobId, RunId, Time};

use super::happening::{Failure, Happening, JobLine};

const PAGE: usize = 1_000;

pub struct Follower<S> {
    engine: Engine<S>,
    pub run: RunId,
    jobs: BTreeMap<JobId, Watched>,
    /// Of the last transition that was told.
    seq: i64,
    /// The state that the run ended in.
    pub ended: Option<String>,
}

/// A job as it was last seen.
struct Watched {
    name: String,
    required: bool,
    attempts: u32,
    state: Option<&'static str>,
    started_at: Option<Time>,
    /// Of all its attempts.
    duration: Duration,
    /// The runner told which executor it chose, so that what follows belongs to the attempt that began last.
    is_chosen: bool,
    step: Option<u32>,
    exit_code: Option<i32>,
    class: Option<String>,
}

impl<S: Store> Follower<S> {
    /// Tells what comes after `seq`; what was before is taken from the records.
    pub async fn begin(engine: Engine<S>, run: RunId, seq: i64) -> Result<Follower<S>> {
        let mut follower = Follower { engine, run, jobs: BTreeMap::new(), seq, ended: None };
        let mut after = None;
        loop {
            let page = follower.engine.store().jobs_of_run(run, after, PAGE).await?;
            for job in &page {
                let mut watched = Watched::new(job.name.clone(), job.required);
                if job.state.is_over() {
                    let file = follower.engine.store().job_file(job.id).await?;
                    file.iter().for_each(|file| watched.remember(file));
                }
                follower.jobs.insert(job.id, watched);
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.id),
                Some(_) | None => return Ok(follower),
            }
        }
    }

    /// Whether the start of what was seen may still have to be read.
    pub fn is_early(&self, seen: &Seen) -> bool {
        let watched = seen.job_id.parse().ok().and_then(|job: JobId| self.jobs.get(&job));
        watched.is_some_and(|job| {
            job.started_at.is_none() || (job.is_chosen && matches!(seen.what, What::Chosen { .. }))
        })
    }

    /// What the runner saw.
    pub fn seen(&mut self, seen: Seen) -> Option<Happening> {
        let watched = self.jobs.get_mut(&seen.job_id.parse().ok()?)?;
        let job = watched.name.clone();
        match seen.what {
            What::Chosen { executor, why } => {
                watched.is_chosen = true;
                Some(Happening::ExecutorChosen { job, executor: executor.into(), why })
            }
            What::StepStarted { index, text } => {
                watched.step = Some(index);
                Some(Happening::StepStarted { job, index, text })
            }
            What::StepEnded { exit_code, .. } => {
                watched.exit_code = Some(exit_code);
                None
            }
            What::Output(bytes) => Some(Happening::Output { job, bytes }),
        }
    }

    /// What was committed since the last look.
    pub async fn read(&mut self) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        loop {
            let page = self.engine.store().events_after(self.seq, PAGE).await?;
            self.seq = page.last().map_or(self.seq, |last| last.seq);
            let is_last = page.len() < PAGE;
            events.extend(page);
            if is_last {
                return Ok(events);
            }
        }
    }

    /// The job whose attempt is over with this.
    pub fn ends(&self, event: &Event) -> Option<JobId> {
        let is_attempt = event.machine == attempt::State::DESCRIPTION.name;
        let is_over = attempt::State::parse(&event.to).is_some_and(attempt::State::is_final);
        let (job, _) = (is_attempt && is_over).then(|| attempt_of(&event.entity)).flatten()?;
        self.jobs.contains_key(&job).then_some(job)
    }

    /// What a transition means for whoever watches; `later` are those that follow it.
    pub async fn moved(&mut self, event: &Event, later: &[Event]) -> Result<Option<Happening>> {
        if event.machine == run::State::DESCRIPTION.name && event.entity == self.run.to_string() {
            self.run_moved(event);
        }
        if event.machine == attempt::State::DESCRIPTION.name {
            return self.attempt_moved(event, later).await;
        }
        Ok(None)
    }

    fn run_moved(&mut self, event: &Event) {
        let over = [run::State::Success, run::State::Failed, run::State::Canceled, run::State::Timeout];
        if over.iter().any(|state| state.as_str() == event.to) {
            self.ended = Some(event.to.clone()); // it is reported after that, and stays what it was
        }
    }

    async fn attempt_moved(&mut self, event: &Event, later: &[Event]) -> Result<Option<Happening>> {
        let Some((job, index)) = attempt_of(&event.entity) else { return Ok(None) };
        let Some(watched) = self.jobs.get_mut(&job) else { return Ok(None) };
        let to = attempt::State::parse(&event.to).context("the log names a state that no machine has")?;
        watched.attempts = watched.attempts.max(index);
        let name = watched.name.clone();
        match to {
            attempt::State::Starting => {
                watched.start(event.at);
                return Ok(Some(Happening::JobStarted { job: name, attempt: index }));
            }
            attempt::State::Queued => {
                watched.stop(event.at); // if it had begun, its runner was lost
                return Ok(None);
            }
            attempt::State::Created
            | attempt::State::Leased
            | attempt::State::Running
            | attempt::State::Uploading
            | attempt::State::CancelRequested => return Ok(None),
            attempt::State::Succeeded
            | attempt::State::Failed
            | attempt::State::Canceled
            | attempt::State::TimedOut
            | attempt::State::Stale => {}
        }
        watched.stop(event.at);
        let job_state = state_of_job(to);
        watched.state = Some(job_state.as_str());
        let failure = if job_state == job::State::Failed {
            failure(self.engine.store().job_file(job).await?, index, watched)
        } else {
            None
        };
        watched.class = failure.as_ref().map(|failure| failure.class.clone());
        let next = format!("{job}/{}", index + 1);
        let again = later.iter().any(|event| event.entity == next);
        let state = event.to.clone();
        Ok(Some(Happening::JobEnded { job: name, attempt: index, state, failure, again }))
    }

    /// Every job of the plan, in its order.
    pub fn lines(&self, plan: &Plan) -> Vec<JobLine> {
        let watched: BTreeMap<&str, &Watched> =
            self.jobs.values().map(|job| (job.name.as_str(), job)).collect();
        let line = |job: &decisions::records::PlanJob| {
            let seen = watched.get(job.name.as_str()).filter(|_| job.decision == Decision::Run);
            JobLine {
                name: job.name.clone(),
                decision: job.decision,
                state: match job.decision {
                    Decision::Run => seen.and_then(|seen| seen.state).map(str::to_owned),
                    Decision::Reuse => Some("SUCCEEDED".into()),
                    Decision::Skip => None,
                },
                attempts: seen.map_or(0, |seen| seen.attempts),
                duration_ms: seen.map_or(0, |seen| seen.duration.as_millis() as u64),
            }
        };
        plan.jobs.iter().map(line).collect()
    }

    /// The classes of the failures that failed the run.
    pub fn classes(&self) -> Vec<Option<&str>> {
        let failed = self.jobs.values().filter(|job| job.required && job.state == Some("FAILED"));
        failed.map(|job| job.class.as_deref()).collect()
    }
}

impl Watched {
    fn new(name: String, required: bool) -> Watched {
        Watched {
            name,
            required,
            attempts: 0,
            state: None,
            started_at: None,
            duration: Duration::ZERO,
            is_chosen: false,
            step: None,
            exit_code: None,
            class: None,
        }
    }

    /// What an earlier process saw of it.
    fn remember(&mut self, file: &JobFile) {
        self.attempts = file.job.attempts;
        self.state = Some(file.job.state.as_str());
        self.class =
            file.attempts.last().and_then(|last| last.failure_class).map(|class| class.as_str().into());
        let spans = file.executions.iter().filter_map(|it| Some(it.finished_at?.since(it.started_at?)));
        self.duration = spans.sum();
    }

    fn start(&mut self, at: Time) {
        (self.started_at, self.is_chosen, self.step, self.exit_code) = (Some(at), false, None, None);
    }

    fn stop(&mut self, at: Time) {
        self.duration += self.started_at.take().map_or(Duration::ZERO, |began| at.since(began));
    }
}

/// `job_…/2`
fn attempt_of(entity: &str) -> Option<(JobId, u32)> {
    let (job, index) = entity.split_once('/')?;
    Some((job.parse().ok()?, index.parse().ok()?))
}

fn state_of_job(ended: attempt::State) -> job::State {
    match ended {
        attempt::State::Succeeded => job::State::Succeeded,
        attempt::State::Canceled => job::State::Canceled,
        attempt::State::Created
        | attempt::State::Queued
        | attempt::State::Leased
        | attempt::State::Starting
        | attempt::State::Running
        | attempt::State::Uploading
        | attempt::State::CancelRequested
        | attempt::State::Failed
        | attempt::State::TimedOut
        | attempt::State::Stale => job::State::Failed,
    }
}

/// Why an attempt failed, as the records say, and where, as the runner saw it.
fn failure(file: Option<JobFile>, index: u32, watched: &Watched) -> Option<Failure> {
    let file = file?;
    let attempt = file.attempts.iter().find(|attempt| attempt.key.index == index)?;
    let mut executions = file.executions.iter().rev().filter(|execution| execution.attempt.index == index);
    let outcome = executions.next().and_then(|execution| execution.outcome);
    let failed_step = watched.exit_code.filter(|code| *code != 0);
    Some(Failure {
        class: attempt.failure_class.map_or("", |class| class.as_str()).into(),
        explanation: attempt.explanation.clone(),
        step: watched.step,
        exit_code: failed_step.or(outcome.map(|outcome| outcome.exit_code)),
    })
}
