//! The jobs of a run one by one, as many as are worth asking for: those that failed first, then those at work.

use std::collections::HashMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use wire::JobId;
use wire::api::{JobSummary, JobView, RunView};

use crate::api::{ApiError, Server};

/// The most jobs that are asked for.
const JOBS_MAX: usize = 50;
/// At a time.
const REQUESTS_MAX: usize = 8;

/// Of any job of the run.
pub async fn of_run(server: &Server, run: &RunView) -> Result<HashMap<JobId, JobView>, ApiError> {
    let mut jobs: Vec<&JobSummary> = run.jobs.iter().filter(|job| job.attempts > 0).collect();
    jobs.sort_by_key(|job| match job.state.as_str() {
        "FAILED" => 0,
        "RUNNING" => 1,
        _ => 2,
    });
    of_jobs(server, jobs).await
}

/// Only of those that failed, for their reasons.
pub async fn of_failed(server: &Server, run: &RunView) -> Result<HashMap<JobId, JobView>, ApiError> {
    of_jobs(server, run.jobs.iter().filter(|job| job.state == "FAILED").collect()).await
}

async fn of_jobs(server: &Server, jobs: Vec<&JobSummary>) -> Result<HashMap<JobId, JobView>, ApiError> {
    let ids: Vec<String> = jobs.into_iter().take(JOBS_MAX).map(|job| job.id.to_string()).collect();
    let asked = ids.iter().map(async |id| server.job(id).await);
    let found: Vec<JobView> = stream::iter(asked).buffer_unordered(REQUESTS_MAX).try_collect().await?;
    Ok(found.into_iter().map(|job| (job.uid, job)).collect())
}
