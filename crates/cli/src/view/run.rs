//! A run on a screen: what it is of, its jobs as a tree, why what failed did, what to do next.

use std::collections::HashMap;
use std::time::Duration;

use wire::api::{AttemptView, Decision, JobSummary, JobView, PlanView, PlannedJobView, RunSummary, RunView};
use wire::{JobId, Time};

use super::local::reasons;
use super::screen::{Screen, Style, one_line};
use super::state::{Look, of_run};
use super::table::{Cell, Table};
use super::time::{ago, took};
use super::tree::branches;
use super::ways::Ways;
use crate::outcome::run_is_over;

/// Letters of a commit that are enough for people.
const COMMIT_LETTERS: usize = 10;
/// Reasons that are shown; the rest is one `show` away.
const REASONS_MAX: usize = 10;

pub fn whole(
    screen: Screen,
    run: &RunView,
    details: &HashMap<JobId, JobView>,
    now: Time,
    ways: &Ways,
) -> String {
    let mut text = head(screen, &run.run, now);
    if !run.jobs.is_empty() {
        text.push('\n');
        text.push_str(&jobs(screen, run, details, now));
    }
    if let Some(plan) = run.plan.as_ref().filter(|plan| plan.jobs.iter().any(did_not_run)) {
        text.push('\n');
        text.push_str(&planned(screen, plan, did_not_run, now));
    }
    let reasons = failures(screen, run, details);
    if !reasons.is_empty() {
        text.push('\n');
        text.push_str(&reasons);
    }
    let next = next_steps(run, ways);
    if !next.is_empty() {
        text.push('\n');
        text.push_str(&screen.listed("next:", &next));
    }
    text
}

fn head(screen: Screen, run: &RunSummary, now: Time) -> String {
    let look = Look::of(of_run(run));
    let mut text = format!("{}  {}", look.painted(screen), screen.paint(Style::Bold, &run.id.to_string()));
    let mut facts = Vec::new();
    let source = source(run);
    if !source.is_empty() {
        facts.push(source);
    }
    if let Some(repository) = &run.repository {
        facts.push(one_line(repository));
    }
    if let Some(of) = run.rerun_of {
        facts.push(format!("attempt {}, rerun of {of}", run.attempt));
    }
    let time = run.finished_at.unwrap_or(now).since(run.created_at);
    let word = if run_is_over(run) { "took" } else { "for" };
    facts.push(format!("{}, {word} {}", ago(run.created_at, now), took(time)));
    text.push_str(&format!("\n  {}\n", screen.paint(Style::Dim, &facts.join(" · "))));
    if !run.status_message.is_empty() {
        text.push_str(&format!("  {}\n", one_line(&run.status_message)));
    }
    text
}

/// `main @ 1a2b3c4d5e`
pub fn source(run: &RunSummary) -> String {
    let commit = run.commit.as_deref().map(|commit| commit.chars().take(COMMIT_LETTERS).collect::<String>());
    let parts: Vec<String> =
        [run.r#ref.clone(), commit].into_iter().flatten().map(|part| one_line(&part)).collect();
    parts.join(" @ ")
}

fn jobs(screen: Screen, run: &RunView, details: &HashMap<JobId, JobView>, now: Time) -> String {
    let given: Vec<(&str, &[String])> =
        run.jobs.iter().map(|job| (job.name.as_str(), job.needs.as_slice())).collect();
    let mut table = Table::headed(&["STATE", "JOB", "TRY", "TOOK", "ID"]).indented(2);
    for branch in branches(&given) {
        let job = &run.jobs[branch.index];
        let look = Look::of(&job.state);
        let duration = details.get(&job.id).and_then(|job| job_took(job, now));
        table.row(vec![
            Cell::styled(look.style, look.text()),
            Cell::new(format!("{}{}{}", branch.lines, one_line(&job.name), optional(job))),
            Cell::new(tries(job)).right(),
            Cell::new(duration.map(took).unwrap_or_default()).right(),
            Cell::dim(job.id.to_string()),
        ]);
    }
    table.text(screen)
}

fn optional(job: &JobSummary) -> &'static str {
    if job.required { "" } else { " (optional)" }
}

fn tries(job: &JobSummary) -> String {
    match job.attempts {
        0 => String::new(),
        attempts => format!("{attempts}/{}", job.max_attempts),
    }
}

/// From the first lease of a job to the end of its last.
pub fn job_took(job: &JobView, now: Time) -> Option<Duration> {
    let executions = || job.attempts.iter().flat_map(|attempt| &attempt.executions);
    let began = executions().next()?.granted_at;
    let ended = executions().next_back()?.finished_at.unwrap_or(now);
    Some(ended.since(began))
}

fn did_not_run(job: &PlannedJobView) -> bool {
    job.decision != Decision::Run
}

/// What the planner decided about some of the jobs, and why.
pub fn planned(screen: Screen, plan: &PlanView, of: impl Fn(&PlannedJobView) -> bool, now: Time) -> String {
    let mut table = Table::headed(&["DECISION", "JOB", "WHY"]).indented(2).wrapping();
    for job in plan.jobs.iter().filter(|job| of(job)) {
        let why = reasons::words(job.decision, &job.reasons, now);
        table.row(vec![Cell::new(job.decision.as_str()), Cell::new(&job.name), Cell::dim(why)]);
    }
    table.text(screen)
}

/// Why each job that failed did.
pub fn failures(screen: Screen, run: &RunView, details: &HashMap<JobId, JobView>) -> String {
    let failed: Vec<&JobSummary> = run.jobs.iter().filter(|job| job.state == "FAILED").collect();
    let mut table = Table::default().indented(2).wrapping();
    for job in failed.iter().take(REASONS_MAX) {
        let why = details.get(&job.id).and_then(|job| job.attempts.last()).map(why).unwrap_or_default();
        table.row(vec![Cell::styled(Style::Red, "✗"), Cell::new(&job.name), Cell::new(why)]);
    }
    if failed.len() > REASONS_MAX {
        table.row(vec![Cell::new(""), Cell::dim(format!("and {} more", failed.len() - REASONS_MAX))]);
    }
    table.text(screen)
}

/// An attempt's failure in one line.
pub fn why(attempt: &AttemptView) -> String {
    let explanation = one_line(&attempt.explanation);
    match attempt.failure_class.as_deref() {
        Some(class) if explanation.is_empty() => class.replace('_', " "),
        Some(class) => format!("{}: {explanation}", class.replace('_', " ")),
        None => explanation,
    }
}

/// What a person may want to do now.
pub fn next_steps(run: &RunView, ways: &Ways) -> Vec<String> {
    let id = run.run.id;
    match of_run(&run.run) {
        "SUCCESS" => Vec::new(),
        "FAILED" | "TIMEOUT" | "CANCELED" => {
            let failed = run.jobs.iter().filter(|job| job.state == "FAILED");
            let worst = failed.max_by_key(|job| job.required);
            let logs = worst.map(|job| ways.look(&format!("logs {}", job.id)));
            let again = ways.again(&format!("rerun {id} --failed"), "").filter(|_| !run.jobs.is_empty());
            logs.into_iter().chain(again).collect()
        }
        _ => vec![ways.look(&format!("logs {id} --follow"))],
    }
}
