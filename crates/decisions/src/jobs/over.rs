//! What follows when an attempt ends: another one, or the job is over.

use machines::{Machine, attempt, execution, job};
use serde_json::json;
use wire::runner::CompleteStatus;

use crate::Draft;
use crate::draft::{Hint, Stated};
use crate::failures::Verdict;
use crate::jobs::make::enqueue;
use crate::leases::unheard;
use crate::records::job::derived_state;
use crate::records::{Attempt, AttemptKey, Execution, Job, Run};
use crate::runs::count_out;
use crate::tenants::{News, tell};

/// An attempt ended. With a verdict on a failure another may follow; otherwise the job is over.
///
/// `by_run`: the run's own cancel or timeout ended it.
pub fn attempt_over(draft: &mut Draft<'_>, mut attempt: Attempt, verdict: Option<Verdict>, by_run: bool) {
    let mut job: Job = draft.copy(&attempt.key.job);
    attempt.finished_at = Some(draft.now);
    attempt.updated_at = draft.now;
    let again = verdict.as_ref().is_some_and(|verdict| shall_retry(draft, &job, verdict));
    if let Some(verdict) = verdict {
        attempt.failure_class = Some(verdict.class);
        attempt.explanation = explain(&job, &verdict, again);
    }
    let is_whole = said_it_succeeded(draft, &attempt);
    draft.put(attempt);
    if again {
        return next_attempt(draft, job, "the failure is of a class that is retried");
    }
    project(draft, &mut job);
    if job.has_dependents && !run_of(draft, &job).is_some_and(Run::is_stopping) {
        job.releasing = true;
        job.released_to = None;
        draft.hint(Hint::Release(job.id));
    }
    // A required job that its run did not stop itself counts as a failure of the run, however it ended.
    job.counted_failed = job.required && job.state != job::State::Succeeded && !by_run;
    let is_success = job.state == job::State::Succeeded && is_whole;
    job.reusable = is_success && job.run.is_some() && job.input_key.is_some();
    draft.put(job.clone());
    tell_finished(draft, &job);
    count_out(draft, &job);
}

/// Its runner lived to say so, and brought what it made. A success after a lost lease has its effect, and perhaps no more.
fn said_it_succeeded(draft: &Draft<'_>, attempt: &Attempt) -> bool {
    let execution = attempt.execution.and_then(|id| draft.get::<Execution>(&id));
    let outcome = execution.and_then(|execution| execution.outcome);
    outcome.is_some_and(|outcome| outcome.status == CompleteStatus::Succeeded)
}

/// Queues one more attempt, now or when nobody can still be at work under the last one; that one stays as it is.
pub fn next_attempt(draft: &mut Draft<'_>, mut job: Job, cause: &'static str) {
    let ended: Attempt = draft.copy(&AttemptKey { job: job.id, index: job.attempts });
    job.attempts += 1;
    let mut attempt = Attempt {
        key: AttemptKey { job: job.id, index: job.attempts },
        state: Stated::initial(),
        lost_leases: 0,
        execution: None,
        failure_class: None,
        explanation: String::new(),
        created_at: draft.now,
        finished_at: None,
        ..ended
    };
    draft.born(&attempt, cause);
    match job.free_at.filter(|at| *at > draft.now) {
        Some(at) => attempt.explanation = unheard::wait_until(at),
        None => enqueue(draft, &mut attempt, cause),
    }
    draft.put(attempt);
    project(draft, &mut job);
    draft.put(job);
}

/// Brings the job's stored state in line with its latest attempt and that attempt's execution.
pub fn project(draft: &Draft<'_>, job: &mut Job) {
    let attempt: &Attempt =
        draft.get(&AttemptKey { job: job.id, index: job.attempts }).expect("a family is loaded whole");
    let execution = attempt.execution.and_then(|id| draft.get::<Execution>(&id));
    let before = job.state;
    job.state = derived_state(attempt.state.get(), execution.map(|execution| execution.status.get()));
    job.updated_at = draft.now;
    debug_assert!(
        before == job.state || before.leads_to(job.state),
        "no row of the table leads from {} to {}",
        before.as_str(),
        job.state.as_str()
    );
    debug_assert!(
        attempt.state.get() != attempt::State::Succeeded
            || execution.is_some_and(|execution| execution.status.get() == execution::State::Done),
        "only a committed execution makes an attempt succeed"
    );
}

fn run_of<'d>(draft: &'d Draft<'_>, job: &Job) -> Option<&'d Run> {
    job.run.and_then(|run| draft.get(&run))
}

fn shall_retry(draft: &Draft<'_>, job: &Job, verdict: &Verdict) -> bool {
    verdict.class.may_retry()
        && job.retry_on.contains(verdict.class)
        && job.attempts < job.attempts_max
        && !run_of(draft, job).is_some_and(Run::is_stopping)
}

/// For a person: what happened, and why it is or is not tried again.
fn explain(job: &Job, verdict: &Verdict, again: bool) -> String {
    let class = verdict.class;
    let next = if again {
        format!("attempt {} of {} follows", job.attempts + 1, job.attempts_max)
    } else if !class.may_retry() {
        format!("failures of class `{}` are not retried", class.as_str())
    } else if !job.retry_on.contains(class) {
        format!("the job does not ask for retries on `{}`", class.as_str())
    } else if job.attempts >= job.attempts_max {
        format!("this was attempt {} of {}", job.attempts, job.attempts_max)
    } else {
        "its run is stopping".into()
    };
    format!("{}; {next}", verdict.because)
}

fn tell_finished(draft: &mut Draft<'_>, job: &Job) {
    let body = json!({
        "type": "job.finished", "job_id": job.public_id(), "run_id": job.run, "name": job.name,
        "state": job.state.as_str(), "attempts": job.attempts, "at": draft.now,
    });
    debug_assert!(job.state.is_over());
    // A job may finish more than once, when a person asks for one more attempt.
    let subject = format!("{}/{}", job.id, job.attempts);
    tell(draft, &News { tenant: job.tenant, event: "job.finished", subject, body: &body, reports: None });
}
