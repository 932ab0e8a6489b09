//! What a finished job is reported as. The orchestrator classifies a failure by the words of its summary, so trouble
//! that was not the job's begins with the words it knows: "runner startup" and "executor unavailable".

use std::time::Duration;

use crate::keeper::Finish;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub outcome: Outcome,
    pub exit_code: i32,
    pub summary: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    Failed,
    TimedOut,
    /// Not the job's fault; the orchestrator may try again.
    Infra,
}

/// As the `timeout` program has it.
const TIMED_OUT_EXIT_CODE: i32 = 124;
/// As container engines have it for trouble of their own.
const INFRA_EXIT_CODE: i32 = 125;

impl Verdict {
    /// `finish` is `None` when the keeper vanished without a word.
    pub fn of(finish: Option<&Finish>, steps: u32, max_runtime: Duration, has_started: bool) -> Verdict {
        match finish {
            Some(Finish::Succeeded) => {
                let plural = if steps == 1 { "" } else { "s" };
                let summary = format!("{steps} step{plural} succeeded");
                Verdict { outcome: Outcome::Succeeded, exit_code: 0, summary }
            }
            Some(Finish::StepFailed { index, exit_code }) => {
                let summary = format!("step {} of {steps} ended with exit code {exit_code}", index + 1);
                Verdict { outcome: Outcome::Failed, exit_code: *exit_code, summary }
            }
            Some(Finish::TimedOut) => {
                let summary =
                    format!("the job timed out: it ran longer than {} s", max_runtime.as_secs_f64());
                Verdict { outcome: Outcome::TimedOut, exit_code: TIMED_OUT_EXIT_CODE, summary }
            }
            Some(Finish::Infra { problem }) if has_started => Verdict::executor_unavailable(problem),
            Some(Finish::Infra { problem }) => Verdict::infra(format!("runner startup: {problem}")),
            Some(Finish::OutOfLease) => {
                Verdict::executor_unavailable("the keeper heard of no renewal in time")
            }
            // Nobody asked for a cancel, or it would not be a verdict.
            Some(Finish::Canceled { .. }) | None => {
                Verdict::executor_unavailable("the keeper of the job ended without a result")
            }
        }
    }

    pub fn handed_back() -> Verdict {
        Verdict::executor_unavailable("the runner was told to stop and hands the job back")
    }

    pub fn executor_unavailable(problem: &str) -> Verdict {
        Verdict::infra(format!("executor unavailable: {problem}"))
    }

    pub fn no_workspace(problem: &str) -> Verdict {
        Verdict::infra(format!("could not prepare workspace: {problem}"))
    }

    /// The job is not for this kind of runner, and would not be for the next.
    pub fn not_executable(problem: &str) -> Verdict {
        Verdict { outcome: Outcome::Failed, exit_code: 1, summary: problem.into() }
    }

    /// What the job made could not be brought to the server.
    pub fn upload_failed(problem: &str) -> Verdict {
        Verdict::infra(format!("artifact upload failed: {problem}"))
    }

    fn infra(summary: String) -> Verdict {
        Verdict { outcome: Outcome::Infra, exit_code: INFRA_EXIT_CODE, summary }
    }
}
