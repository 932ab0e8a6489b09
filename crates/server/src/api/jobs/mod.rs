//! Jobs: submitted on their own, looked at, cancelled, retried.

mod view;
mod waiting;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use decisions::Answer;
use decisions::jobs::{CancelJob, RetryJob, SubmitJob};
use machines::{Machine, job};
use store::Store;
use wire::JobId;
use wire::api::{self, CancelTaken, EffectClass, JobView, Problem as ProblemBody, RetryTaken, Submitted};

use crate::api::bounds::check_words;
use crate::api::document::Routes;
use crate::api::find;
use crate::api::guard::TenantAccess;
use crate::api::input::{Input, Item};
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::mint::Mint;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes
        .add::<__path_submit, _, _>(submit::<S>)
        .add::<__path_show, _, _>(show::<S>)
        .add::<__path_cancel, _, _>(cancel::<S>)
        .add::<__path_retry, _, _>(retry::<S>)
}

/// Submit a job of its own
///
/// The same `job_id` and payload again is the same job.
#[utoipa::path(post, path = "/v1/tenants/{tenant}/jobs", tag = "jobs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name")),
    request_body = api::SubmitJob,
    responses(
        (status = 201, description = "A new job", body = Submitted),
        (status = 200, description = "The job that was submitted before", body = Submitted),
        (status = 409, description = "A job with this id and another payload exists, or the tenant is not ready",
            body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn submit<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Input(asked): Input<api::SubmitJob>,
) -> Result<(StatusCode, Json<Submitted>), Problem> {
    check_words("runs_on", &asked.runs_on)?;
    let key = asked.job_id;
    if key.as_ref().is_some_and(|key| key.parse::<JobId>().is_ok()) {
        return Err(Problem::invalid("job_id", "it looks like an id that we made: choose another"));
    }
    let command = SubmitJob {
        id: Mint.job(api.engine.clock().now()),
        tenant,
        key: key.clone(),
        payload: asked.payload,
        runs_on: asked.runs_on,
        priority: asked.priority,
        attempts_max: asked.max_attempts,
        timeout_seconds: asked.timeout_seconds.map(|seconds| seconds.as_f64()),
        effect_once: asked.effect == Some(EffectClass::Once),
    };
    let answer = api.engine.perform(command).await?;
    let Answer::JobSubmitted { job: uid, existing } = answer else { return Err(Problem::internal()) };
    let id = key.unwrap_or_else(|| uid.to_string());
    let (status, state) = if existing {
        let file = find::job_file(api.engine.store(), tenant, uid.text().as_str()).await?;
        (StatusCode::OK, file.job.state)
    } else {
        (StatusCode::CREATED, job::State::Pending)
    };
    let state = state.as_str().into();
    Ok((status, Json(Submitted { name: id.clone(), id, uid, run_id: None, state })))
}

/// Look at a job: its attempts, executions and effects
#[utoipa::path(get, path = "/v1/tenants/{tenant}/jobs/{id}", tag = "jobs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "A job's id, or the one its submitter chose")),
    responses((status = 200, description = "The job", body = JobView)))]
async fn show<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Item(id): Item,
) -> Result<Json<JobView>, Problem> {
    let store = api.engine.store();
    let file = find::job_file(store, tenant, &id).await?;
    let waits = waiting::reason(store, &file, api.engine.clock().now()).await?;
    let mut job = view::whole(store, file).await?;
    if let (Some(waits), Some(attempt)) = (waits, job.attempts.last_mut()) {
        attempt.explanation = waits;
    }
    Ok(Json(job))
}

/// Cancel a job
#[utoipa::path(post, path = "/v1/tenants/{tenant}/jobs/{id}/cancel", tag = "jobs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "A job's id, or the one its submitter chose")),
    responses(
        (status = 202, description = "The cancel is durable", body = CancelTaken),
        (status = 409, description = "The job is over, or its effect has happened", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn cancel<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Item(id): Item,
) -> Result<(StatusCode, Json<CancelTaken>), Problem> {
    let job = find::job(api.engine.store(), tenant, &id).await?;
    let answer = api.engine.perform(CancelJob { tenant, job }).await?;
    let Answer::CancelTaken { over } = answer else { return Err(Problem::internal()) };
    let state = state_of(&api, tenant, job).await?;
    Ok((StatusCode::ACCEPTED, Json(CancelTaken { id, state, over })))
}

/// One more attempt of a job that failed or was cancelled
#[utoipa::path(post, path = "/v1/tenants/{tenant}/jobs/{id}/retry", tag = "jobs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "A job's id, or the one its submitter chose")),
    responses(
        (status = 202, description = "The attempt is queued", body = RetryTaken),
        (status = 409, description = "The job cannot be retried", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn retry<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Item(id): Item,
) -> Result<(StatusCode, Json<RetryTaken>), Problem> {
    let job = find::job(api.engine.store(), tenant, &id).await?;
    let answer = api.engine.perform(RetryJob { tenant, job }).await?;
    let Answer::Retried { attempt } = answer else { return Err(Problem::internal()) };
    let state = state_of(&api, tenant, job).await?;
    Ok((StatusCode::ACCEPTED, Json(RetryTaken { id, state, attempt })))
}

async fn state_of<S: Store>(api: &Api<S>, tenant: wire::TenantId, job: JobId) -> Result<String, Problem> {
    let file = find::job_file(api.engine.store(), tenant, job.text().as_str()).await?;
    Ok(file.job.state.as_str().into())
}
