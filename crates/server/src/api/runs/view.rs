//! Runs as they are shown.

use std::collections::HashMap;

use decisions::records::{Job, Plan, PlanJob, Run, Source, Trust};
use machines::Machine;
use store::{Store, StoreError};
use wire::api::{self, JobSummary, PlanSource, PlanView, PlannedJobView, RunSummary, RunView};

/// Jobs are read in pages of this size.
const PAGE: usize = 1_000;

pub fn summary(run: Run) -> RunSummary {
    RunSummary {
        id: run.id,
        state: run.state.get().as_str().into(),
        outcome: run.outcome.map(|state| state.as_str().into()),
        status_message: run.status_message,
        attempt: run.attempt,
        rerun_of: run.rerun_of,
        trigger_key: run.trigger_key,
        repository: run.repository,
        r#ref: run.git_ref,
        commit: run.commit,
        base: run.base,
        trust: match run.trust {
            Trust::Trusted => api::Trust::Trusted,
            Trust::Untrusted => api::Trust::Untrusted,
        },
        group: run.group,
        fail_fast: run.fail_fast,
        jobs_total: run.jobs_total,
        jobs_open: run.jobs_open,
        created_at: run.created_at,
        updated_at: run.updated_at,
        finished_at: run.finished_at,
    }
}

/// With its plan and the jobs that run, in the plan's order.
pub async fn whole<S: Store>(store: &S, run: Run) -> Result<RunView, StoreError> {
    let plan = store.plan(run.id).await?;
    let plan: Option<Plan> = plan.map(|plan| serde_json::from_str(&plan).expect("plans are written by us"));
    let planned = plan.as_ref().map_or(&[][..], |plan| &plan.jobs);
    let places: HashMap<&str, usize> =
        planned.iter().enumerate().map(|(place, job)| (job.name.as_str(), place)).collect();
    let mut jobs = jobs_of(store, &run).await?;
    jobs.sort_by_key(|job| places.get(job.name.as_str()).copied());
    let jobs = jobs.into_iter().map(|job| {
        let planned = places.get(job.name.as_str()).map(|place| &planned[*place]);
        job_summary(job, planned)
    });
    let jobs = jobs.collect();
    Ok(RunView { run: summary(run), plan: plan.map(plan_view), jobs })
}

async fn jobs_of<S: Store>(store: &S, run: &Run) -> Result<Vec<Job>, StoreError> {
    let mut jobs: Vec<Job> = Vec::with_capacity(run.jobs_total as usize);
    // A run's jobs are made in one commit, so their number is known.
    while jobs.len() < run.jobs_total as usize {
        let page = store.jobs_of_run(run.id, jobs.last().map(|job| job.id), PAGE).await?;
        if page.is_empty() {
            break;
        }
        jobs.extend(page);
    }
    Ok(jobs)
}

fn plan_view(plan: Plan) -> PlanView {
    let jobs = plan.jobs.into_iter().map(|job| PlannedJobView {
        name: job.name,
        decision: job.decision,
        reasons: job.reasons,
        needs: job.needs,
        required: job.required,
    });
    let source = match plan.source {
        Source::Given => PlanSource::Given,
        Source::File => PlanSource::File,
        Source::Discovered => PlanSource::Discovered,
    };
    PlanView { base: plan.base, source, jobs: jobs.collect() }
}

fn job_summary(job: Job, planned: Option<&PlanJob>) -> JobSummary {
    JobSummary {
        id: job.id,
        name: job.name,
        state: job.state.as_str().into(),
        required: job.required,
        needs: planned.map(|planned| planned.needs.clone()).unwrap_or_default(),
        reasons: planned.map(|planned| planned.reasons.clone()).unwrap_or_default(),
        attempts: job.attempts,
        max_attempts: job.attempts_max,
        created_at: job.created_at,
        updated_at: job.updated_at,
    }
}
