//! Finalise: a run ends with its last open job, in the same commit.

use machines::{Machine, job, run};
use serde_json::json;

use crate::draft::Hint;
use crate::records::{Job, Run, Sweep};
use crate::runs::report;
use crate::tenants::{News, tell};
use crate::{Draft, records};

/// A job of the run is over: the counters know, and the run ends if it was the last.
pub fn count_out(draft: &mut Draft<'_>, job: &Job) {
    let Some(id) = job.run else { return };
    let mut run: Run = draft.copy(&id);
    run.jobs_open -= 1;
    run.updated_at = draft.now;
    if job.counted_failed {
        run.required_failed += 1;
        // Those that the sweep itself stopped begin no other one.
        let is_news = run.required_failed == 1 || job.state == job::State::Failed;
        if run.fail_fast && is_news && run.sweep.is_none() && run.jobs_open > 0 && !run.is_stopping() {
            run.sweep = Some(Sweep::FailFast);
            draft.hint(Hint::Sweep(run.id));
        }
    }
    draft.put(run.clone());
    finalise(draft, run);
}

/// Ends the run if no job can still move.
pub fn finalise(draft: &mut Draft<'_>, run: Run) {
    if run.jobs_open > 0 {
        return;
    }
    let failed = run.required_failed > 0;
    match run.state.get() {
        run::State::Queued | run::State::Running if failed => {
            end_run(draft, run, run::Event::RequiredJobFailed, "a required job did not succeed")
        }
        run::State::Queued if run.jobs_total == 0 => {
            end_run(draft, run, run::Event::AllRequiredSucceeded, "the plan has nothing to run")
        }
        run::State::Queued | run::State::Running => {
            end_run(draft, run, run::Event::AllRequiredSucceeded, "every required job succeeded")
        }
        run::State::CancelRequested if failed => {
            end_run(draft, run, run::Event::RequiredJobFailed, "a required job had failed before the cancel")
        }
        run::State::CancelRequested => {
            end_run(draft, run, run::Event::FinishCancel, "no job is active any more")
        }
        run::State::Created
        | run::State::Planning
        | run::State::PlanFailed
        | run::State::Success
        | run::State::Failed
        | run::State::Canceled
        | run::State::Timeout
        | run::State::Reported => {}
    }
}

/// Moves the run into its outcome and tells whoever wants to know; with nobody to tell, it is reported at once.
pub fn end_run(draft: &mut Draft<'_>, mut run: Run, event: run::Event, cause: &'static str) {
    draft.advance(&mut run, event, cause);
    let outcome = run.state.get();
    run.outcome = Some(outcome);
    run.due_at = None;
    run.finished_at = Some(draft.now);
    run.updated_at = draft.now;
    if run.jobs_open == 0 {
        run.sweep = None;
        run.swept_to = None;
    }
    let body = json!({
        "type": "run.finished", "run_id": run.id, "state": outcome.as_str(), "attempt": run.attempt,
        "repository": run.repository, "commit": run.commit, "at": draft.now,
    });
    let news = News {
        tenant: run.tenant,
        event: "run.finished",
        subject: run.id.to_string(),
        body: &body,
        reports: Some(run.id),
    };
    run.reports_open = tell(draft, &news);
    if run.reports_open == 0 {
        report(draft, &mut run, "nobody asked to be told");
    }
    draft.put::<records::Run>(run);
}
