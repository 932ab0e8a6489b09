//! A run against its jobs: counters, outcome, deadlines, and who was told that what it waits for is over.

use std::collections::BTreeMap;

use machines::{Machine, job, run};
use wire::JobId;

use super::plans::{check_group, check_plan};
use super::steps::{States, check_log};
use super::{Finding, Findings, RunFile};
use crate::records::{Event, Job, Sweep};

pub fn check_run(file: &RunFile) -> Vec<Finding> {
    let mut findings = Findings { entity: file.run.id.to_string(), found: Vec::new() };
    let run = &file.run;
    let open = file.jobs.iter().filter(|job| !job.state.is_over()).count() as u32;
    let failed = file.jobs.iter().filter(|job| job.counted_failed).count() as u32;
    findings.equal("I8", "jobs_total", run.jobs_total, file.jobs.len() as u32);
    findings.equal("I8", "jobs_open", run.jobs_open, open);
    findings.equal("I8", "required_failed", run.required_failed, failed);
    findings.equal("I15", "reports_open", run.reports_open, file.reports_open);
    check_outcome(file, open, failed, &mut findings);
    check_counted(file, &mut findings);
    check_end(file, open, &mut findings);
    check_needs(file, &mut findings);
    check_plan(file, &mut findings);
    check_group(file, &mut findings);
    let states = States::from([(("run", run.id.to_string()), run.state.get().as_str())]);
    check_log(&states, &file.events, &mut findings);
    findings.found
}

fn check_outcome(file: &RunFile, open: u32, failed: u32, findings: &mut Findings) {
    let run = &file.run;
    findings.equal("I8", "outcome", run.outcome, outcome_of(file));
    findings.equal("I8", "has finished", run.finished_at.is_some(), run.is_over());
    let Some(outcome) = run.outcome else { return };
    if outcome == run::State::Success && (open > 0 || failed > 0) {
        findings.add("I8", format!("SUCCESS with {open} open and {failed} failed jobs"));
    }
    let succeeded = |job: &Job| job.state == job::State::Succeeded;
    if outcome == run::State::Success && !file.jobs.iter().filter(|job| job.required).all(succeeded) {
        findings.add("I8", "SUCCESS, but a required job did not succeed".into());
    }
    if matches!(outcome, run::State::Failed | run::State::Canceled) && open > 0 {
        findings.add("I8", format!("{} with {open} open jobs", outcome.as_str()));
    }
    if outcome == run::State::Failed && file.plan.is_some() && failed == 0 {
        findings.add("I8", "FAILED, but it had a plan and none of its required jobs failed".into());
    }
    if outcome == run::State::Canceled && failed > 0 {
        findings.add("I8", format!("CANCELED, but {failed} of its required jobs had failed"));
    }
}

/// The state that a run ended in. What a reported one left for that is in the log.
fn outcome_of(file: &RunFile) -> Option<run::State> {
    match stage_of(file.run.state.get()) {
        Stage::Planning | Stage::Passing | Stage::Working | Stage::Stopping => None,
        Stage::Telling => Some(file.run.state.get()),
        Stage::Told => {
            let reported = |event: &&Event| event.to == run::State::Reported.as_str();
            let from = file.events.iter().rev().find(reported)?.from.as_deref()?;
            run::State::parse(from)
        }
    }
}

/// A required job that did not succeed counts, however it ended, unless its run stopped it.
fn check_counted(file: &RunFile, findings: &mut Findings) {
    let stops = [run::State::CancelRequested.as_str(), run::State::Timeout.as_str()];
    let was_stopped = file.events.iter().any(|event| stops.contains(&event.to.as_str()));
    for job in &file.jobs {
        let counts = match job.state {
            job::State::Pending | job::State::Running | job::State::Succeeded => false,
            job::State::Failed => job.required,
            job::State::Canceled if was_stopped && job.required => continue, // by itself before, or by its run
            job::State::Canceled => job.required,
        };
        if job.counted_failed != counts {
            let stored = job.counted_failed;
            findings.add("I8", format!("counted_failed of {}: stored {stored}, computed {counts}", job.id));
        }
    }
}

/// What a run waits for, by its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its plan.
    Planning,
    /// Nothing: it is left in the commit that enters it.
    Passing,
    /// The end of its jobs.
    Working,
    /// The end of those jobs that its sweep has asked to stop.
    Stopping,
    /// The last message about its end.
    Telling,
    /// Nothing any more.
    Told,
}

fn stage_of(state: run::State) -> Stage {
    match state {
        run::State::Created | run::State::Planning => Stage::Planning,
        run::State::PlanFailed => Stage::Passing,
        run::State::Queued | run::State::Running => Stage::Working,
        run::State::CancelRequested => Stage::Stopping,
        run::State::Success | run::State::Failed | run::State::Canceled | run::State::Timeout => {
            Stage::Telling
        }
        run::State::Reported => Stage::Told,
    }
}

/// Something brings the end of whatever waits: a run's deadline, its last open job, its last open message. Jobs that
/// outlived it are ended by the sweep.
fn check_end(file: &RunFile, open: u32, findings: &mut Findings) {
    let run = &file.run;
    let state = run.state.get();
    let stage = stage_of(state);
    let has_deadline = matches!(stage, Stage::Planning | Stage::Working);
    findings.equal("I9", "has a deadline", run.due_at.is_some(), has_deadline);
    if stage == Stage::Passing {
        findings.add("I9", format!("it stays in {}, which nothing looks at", state.as_str()));
    }
    if matches!(stage, Stage::Working | Stage::Stopping) && open == 0 {
        findings.add("I9", format!("{} without an open job that would end it", state.as_str()));
    }
    findings.equal("I15", "waits for messages about its end", run.reports_open > 0, stage == Stage::Telling);
    if run.outcome == Some(run::State::Timeout) && open > 0 && run.sweep != Some(Sweep::TimedOut) {
        findings.add("I9", format!("it timed out, and nothing stops its {open} open jobs"));
    }
    check_sweep(file, findings);
}

/// Nobody takes a waiting job of a run that stops: only the sweep ends it, and that never goes back.
fn check_sweep(file: &RunFile, findings: &mut Findings) {
    let run = &file.run;
    let fits = match run.sweep {
        None => true,
        Some(Sweep::Canceled) => run.state.get() == run::State::CancelRequested,
        Some(Sweep::TimedOut) => run.outcome == Some(run::State::Timeout),
        Some(Sweep::FailFast) => !run.is_stopping(),
    };
    if !fits {
        findings.add("I9", format!("a sweep for {:?} in {}", run.sweep, run.state.get().as_str()));
    }
    let is_left = |job: &&Job| run.sweep.is_none() || run.swept_to >= Some(job.id);
    let waiting = file.jobs.iter().filter(|job| run.is_stopping() && job.state == job::State::Pending);
    for job in waiting.filter(is_left) {
        findings.add("I9", format!("{} waits, but no sweep of its run comes to it", job.id));
    }
}

/// A job that waits counts those that it waits for, and hears of each that ended. When the run stops, its sweep comes instead.
fn check_needs(file: &RunFile, findings: &mut Findings) {
    if file.run.is_stopping() {
        return;
    }
    let jobs: BTreeMap<JobId, &Job> = file.jobs.iter().map(|job| (job.id, job)).collect();
    let waiting = file.jobs.iter().filter(|job| job.state == job::State::Pending);
    let mut open: BTreeMap<JobId, u32> = waiting.map(|job| (job.id, 0)).collect();
    for (needed, dependent) in &file.needs {
        let (Some(needed), Some(open)) = (jobs.get(needed), open.get_mut(dependent)) else { continue };
        if !has_told(needed, *dependent) {
            *open += 1;
        } else if needed.required && needed.state != job::State::Succeeded {
            findings.add("I9", format!("{dependent} waits, though {} did not succeed", needed.id));
        }
    }
    for (id, open) in open {
        findings.equal("I9", "needs_open of a job", jobs[&id].needs_open, open);
    }
}

fn has_told(needed: &Job, dependent: JobId) -> bool {
    needed.state.is_over() && (!needed.releasing || needed.released_to >= Some(dependent))
}
