//! Runs: triggered, listed, looked at, cancelled, run again.

mod plan;
mod view;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use decisions::Answer;
use decisions::records::Trust;
use decisions::runs::{CancelRun, CreateRun, RerunRun, RunOrigin};
use store::Store;
use wire::api::{self, CancelTaken, Page, Problem as ProblemBody, RunSummary, RunView, TriggerRun};
use wire::{RunId, TenantId};

use crate::api::bounds::check_text;
use crate::api::document::Routes;
use crate::api::find;
use crate::api::guard::TenantAccess;
use crate::api::input::{Asked, Input, Item, ListQuery, Maybe, PLAN_BYTES_MAX, cut};
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::mint::Mint;

/// Of a trigger key; it is part of an index.
const KEY_LENGTH_MAX: usize = 512;
/// Of a repository, a ref, a commit.
const ORIGIN_LENGTH_MAX: usize = 2_048;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes
        .add::<__path_trigger, _, _>(trigger::<S>)
        .add::<__path_list, _, _>(list::<S>)
        .add::<__path_show, _, _>(show::<S>)
        .add::<__path_cancel, _, _>(cancel::<S>)
        .add::<__path_rerun, _, _>(rerun::<S>)
}

/// Trigger a run
///
/// With a plan the planner is skipped. The same `trigger_key` again names the same run.
#[utoipa::path(post, path = "/v1/tenants/{tenant}/runs", tag = "runs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name")),
    request_body = TriggerRun,
    responses(
        (status = 201, description = "A new run", body = RunView),
        (status = 200, description = "The run of this trigger key", body = RunView),
        (status = 409, description = "The tenant is not ready", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn trigger<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Input(asked): Input<TriggerRun, PLAN_BYTES_MAX>,
) -> Result<(StatusCode, Json<RunView>), Problem> {
    check_text("trigger_key", asked.trigger_key.as_deref(), KEY_LENGTH_MAX)?;
    if asked.trigger_key.as_deref() == Some("") {
        // All whose key came out empty would share one run.
        return Err(Problem::invalid("trigger_key", "at least 1 character: leave it out for none"));
    }
    let texts = [
        ("repository", &asked.repository),
        ("ref", &asked.r#ref),
        ("commit", &asked.commit),
        ("base", &asked.base),
    ];
    for (field, text) in texts {
        check_text(field, text.as_deref(), ORIGIN_LENGTH_MAX)?;
    }
    let origin = RunOrigin {
        repository: asked.repository,
        git_ref: asked.r#ref,
        commit: asked.commit,
        base: asked.base,
    };
    let plan = asked.plan.map(|plan| plan::converted(plan, &origin)).transpose()?;
    let id = Mint.run(api.engine.clock().now());
    let trust = match asked.trust {
        api::Trust::Trusted => Trust::Trusted,
        api::Trust::Untrusted => Trust::Untrusted,
    };
    let (trigger_key, fail_fast) = (asked.trigger_key, asked.fail_fast);
    let command = CreateRun { id, tenant, trigger_key, origin, trust, fail_fast, plan };
    created(&api, tenant, api.engine.perform(command).await?).await
}

/// List runs, the newest first
#[utoipa::path(get, path = "/v1/tenants/{tenant}/runs", tag = "runs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"), ListQuery),
    responses((status = 200, description = "A page of runs", body = Page<RunSummary>)))]
async fn list<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Asked(query): Asked<ListQuery>,
) -> Result<Json<Page<RunSummary>>, Problem> {
    let (limit, before) = (query.limit()?, query.after::<RunId>()?);
    let mut runs = api.engine.store().runs_of(tenant, before, limit + 1).await?;
    let next = cut(&mut runs, limit).map(|run| run.id.to_string());
    Ok(Json(Page { items: runs.into_iter().map(view::summary).collect(), next }))
}

/// Look at a run: its state, its plan with reasons, its jobs
#[utoipa::path(get, path = "/v1/tenants/{tenant}/runs/{id}", tag = "runs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "A run's id")),
    responses((status = 200, description = "The run", body = RunView)))]
async fn show<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Item(id): Item,
) -> Result<Json<RunView>, Problem> {
    let run = find::run(api.engine.store(), tenant, &id).await?;
    Ok(Json(view::whole(api.engine.store(), run).await?))
}

/// Cancel a run
#[utoipa::path(post, path = "/v1/tenants/{tenant}/runs/{id}/cancel", tag = "runs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "A run's id")),
    request_body = Option<api::CancelRun>,
    responses(
        (status = 202, description = "The cancel is durable", body = CancelTaken),
        (status = 409, description = "The run is over", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn cancel<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Item(id): Item,
    Maybe(asked): Maybe<api::CancelRun>,
) -> Result<(StatusCode, Json<CancelTaken>), Problem> {
    let run = find::run_id(&id)?;
    let reason = asked.reason.unwrap_or_else(|| "the run was cancelled".into());
    let answer = api.engine.perform(CancelRun { tenant, run, reason }).await?;
    let Answer::CancelTaken { over } = answer else { return Err(Problem::internal()) };
    let run = view::summary(find::run(api.engine.store(), tenant, &id).await?);
    Ok((StatusCode::ACCEPTED, Json(CancelTaken { id, state: run.state, over })))
}

/// Run again what is over, all of it or what did not succeed
#[utoipa::path(post, path = "/v1/tenants/{tenant}/runs/{id}/rerun", tag = "runs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "A run's id")),
    request_body = Option<api::RerunRun>,
    responses(
        (status = 201, description = "A new run, `attempt + 1`", body = RunView),
        (status = 409, description = "The run is not over, or has no plan", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn rerun<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Item(id): Item,
    Maybe(asked): Maybe<api::RerunRun>,
) -> Result<(StatusCode, Json<RunView>), Problem> {
    let of = find::run_id(&id)?;
    let id = Mint.run(api.engine.clock().now());
    let command = RerunRun { id, tenant, of, failed_only: asked.failed_only };
    created(&api, tenant, api.engine.perform(command).await?).await
}

async fn created<S: Store>(
    api: &Api<S>,
    tenant: TenantId,
    answer: Answer,
) -> Result<(StatusCode, Json<RunView>), Problem> {
    let Answer::RunCreated { run, existing } = answer else { return Err(Problem::internal()) };
    let status = if existing { StatusCode::OK } else { StatusCode::CREATED };
    let run = find::run(api.engine.store(), tenant, run.text().as_str()).await?;
    Ok((status, Json(view::whole(api.engine.store(), run).await?)))
}
