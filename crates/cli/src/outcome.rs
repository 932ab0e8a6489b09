//! What a run or job came to, as an exit code.

use std::collections::HashMap;

use wire::JobId;
use wire::api::{JobSummary, JobView, RunSummary, RunView};

use crate::output::Exit;

pub fn run_is_over(run: &RunSummary) -> bool {
    run.outcome.is_some()
        || matches!(run.state.as_str(), "SUCCESS" | "FAILED" | "CANCELED" | "TIMEOUT" | "REPORTED")
}

pub fn job_is_over(state: &str) -> bool {
    matches!(state, "SUCCEEDED" | "FAILED" | "CANCELED")
}

/// A job that others made fail was cancelled, so only those that failed themselves count.
pub fn failed_jobs(run: &RunView) -> impl Iterator<Item = &JobSummary> {
    run.jobs.iter().filter(|job| job.state == "FAILED" && job.required)
}

/// When all that failed, failed for the same reason, the run did too.
pub fn of_run(run: &RunView, details: &HashMap<JobId, JobView>) -> Exit {
    match crate::view::state::of_run(&run.run) {
        "SUCCESS" => Exit::Success,
        "CANCELED" => Exit::Canceled,
        "TIMEOUT" => Exit::TimedOut,
        _ => {
            let mut exits = failed_jobs(run).map(|job| details.get(&job.id).map_or(Exit::Failed, of_job));
            let first = exits.next().unwrap_or(Exit::Failed);
            if exits.all(|exit| exit == first) { first } else { Exit::Failed }
        }
    }
}

pub fn of_job(job: &JobView) -> Exit {
    match job.state.as_str() {
        "SUCCEEDED" => Exit::Success,
        "CANCELED" => Exit::Canceled,
        _ => match job.attempts.last().and_then(|attempt| attempt.failure_class.as_deref()) {
            Some("timeout") => Exit::TimedOut,
            Some("infra" | "runner_startup" | "runner_lost") => Exit::Infrastructure,
            Some(_) | None => Exit::Failed,
        },
    }
}
