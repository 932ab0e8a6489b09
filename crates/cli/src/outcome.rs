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

pub fn of_run(run: &RunView, details: &HashMap<JobId, JobView>) -> Exit {
    let failed = failed_jobs(run).map(|job| details.get(&job.id).map_or(Exit::Failed, of_job));
    of_ended(crate::view::state::of_run(&run.run), failed)
}

/// Of a run that ended in this state: when all that failed, failed for the same reason, the run did too.
pub fn of_ended(state: &str, failed: impl IntoIterator<Item = Exit>) -> Exit {
    match state {
        "SUCCESS" => Exit::Success,
        "CANCELED" => Exit::Canceled,
        "TIMEOUT" => Exit::TimedOut,
        _ => {
            let mut exits = failed.into_iter();
            let first = exits.next().unwrap_or(Exit::Failed);
            if exits.all(|exit| exit == first) { first } else { Exit::Failed }
        }
    }
}

/// By the class of the failure.
pub fn of_class(class: Option<&str>) -> Exit {
    match class {
        Some("timeout") => Exit::TimedOut,
        Some("infra" | "runner_startup" | "runner_lost") => Exit::Infrastructure,
        Some(_) | None => Exit::Failed,
    }
}

pub fn of_job(job: &JobView) -> Exit {
    match job.state.as_str() {
        "SUCCEEDED" => Exit::Success,
        "CANCELED" => Exit::Canceled,
        _ => of_class(job.attempts.last().and_then(|attempt| attempt.failure_class.as_deref())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_with_the_code_of_what_failed_it() {
        for (state, classes, code) in [
            ("SUCCESS", &[][..], 0),
            ("CANCELED", &[], 3),
            ("TIMEOUT", &[], 6),
            ("FAILED", &["test"], 1),
            ("FAILED", &["timeout", "timeout"], 6),
            ("FAILED", &["infra", "runner_lost"], 5),
            ("FAILED", &["infra", "lint"], 1),
            ("FAILED", &[], 1),
        ] {
            let failed = classes.iter().map(|class| of_class(Some(*class)));
            assert_eq!(of_ended(state, failed).code(), code, "{state} {classes:?}");
        }
    }
}
