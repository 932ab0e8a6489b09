//! A run against its jobs: counters, outcome, deadlines, and who was told that what it waits for is over.

use std::collections::BTreeMap;

use machines::{Machine, job, run};
use wire::JobId;

use super::plans::{check_group, check_plan};
use super::steps::{States, check_log};
use super::{Finding, Findings, RunFile};
use crate::records::{Job, Sweep};

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
    findings.equal("I8", "has an outcome", run.outcome.is_some(), run.is_over());
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
}

/// A tick finds the end of whatever waits: the run by its deadline, jobs that outlived it by the sweep.
fn check_end(file: &RunFile, open: u32, findings: &mut Findings) {
    let run = &file.run;
    let waits = match run.state.get() {
        run::State::Created | run::State::Planning | run::State::Queued | run::State::Running => true,
        run::State::PlanFailed
        | run::State::CancelRequested
        | run::State::Success
        | run::State::Failed
        | run::State::Canceled
        | run::State::Timeout
        | run::State::Reported => false,
    };
    findings.equal("I9", "has a deadline", run.due_at.is_some(), waits);
    if run.outcome == Some(run::State::Timeout) && open > 0 && run.sweep != Some(Sweep::TimedOut) {
        findings.add("I9", format!("it timed out, and nothing stops its {open} open jobs"));
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
