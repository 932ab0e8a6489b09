//! `POST /v1/runner/lease`: ask for work, and wait for it.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use decisions::{Granted, Refusal};
use prometheus_client::metrics::gauge::Gauge;
use serde_json::value::RawValue;
use store::Store;
use wire::api::Problem as ProblemBody;
use wire::runner::{Decimal, LeaseGranted, LeaseRequest, tag};
use wire::{JobId, TenantId};

use crate::api::bounds::check_words;
use crate::api::document::Routes;
use crate::api::find;
use crate::api::guard::RunnerAccess;
use crate::api::input::Input;
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::api::vault::Leased;
use crate::perform::Failure;

pub const ROUTE: &str = "/v1/runner/lease";

/// The longest wait for work.
pub const WAIT_MAX: Duration = Duration::from_secs(60);

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes.add::<__path_lease, _, _>(lease::<S>)
}

/// Ask for work
///
/// Waits up to `wait_seconds` (at most 60). With `job_id`, a job's id or the one its submitter chose, asks for that job
/// and does not wait; a runner shared by all tenants then says whose job it means in `tenant_id`.
#[utoipa::path(post, path = "/v1/runner/lease", tag = "runner", security(("token" = [])),
    request_body = LeaseRequest,
    responses(
        (status = 200, description = "A lease", body = LeaseGranted),
        (status = 204, description = "No work within the wait"),
        (status = 404, description = "No such job", body = ProblemBody, content_type = "application/problem+json"),
        (status = 410, description = "The job is over", body = ProblemBody, content_type = "application/problem+json"),
        (status = 423, description = "Another lease is live, or the job waits for others", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn lease<S: Store>(
    State(api): State<Api<S>>,
    access: RunnerAccess,
    Input(asked): Input<LeaseRequest>,
) -> Result<Response, Problem> {
    check_words("capabilities", &asked.capabilities)?;
    if let Some(named) = &asked.job_id {
        let job = wanted_job(&api, access.scope, asked.tenant_id, named).await?;
        let granted = api.dispatch.lease_job(access.scope, asked.runner_id, asked.capabilities, job).await;
        return granted.map(|granted| lease_granted(&api, *granted)).map_err(over_is_gone);
    }
    let wait = Duration::from_secs_f64(asked.wait_seconds.as_f64().min(WAIT_MAX.as_secs_f64()));
    let _waiting = Waiting::counted(&api.engine.metrics().leases_waiting);
    let granted = api.dispatch.lease(access.scope, asked.runner_id, asked.capabilities, wait).await?;
    Ok(match granted {
        Some(granted) => lease_granted(&api, *granted),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// In the token's tenant; a shared runner says whose job it is, unless the id itself says it.
async fn wanted_job<S: Store>(
    api: &Api<S>,
    scope: Option<TenantId>,
    said: Option<TenantId>,
    named: &str,
) -> Result<JobId, Problem> {
    if let (Some(scope), Some(said)) = (scope, said)
        && scope != said
    {
        return Err(Refusal::JobNotFound.into());
    }
    match scope.or(said) {
        Some(tenant) => find::job(api.engine.store(), tenant, named).await,
        None => named
            .parse()
            .map_err(|_| Problem::invalid("tenant_id", "a runner of all tenants says whose job it wants")),
    }
}

fn over_is_gone(failure: Failure) -> Problem {
    let over = matches!(failure, Failure::Refused(Refusal::JobOver { .. }));
    let problem = Problem::from(failure);
    if over { Problem { status: StatusCode::GONE, ..problem } } else { problem }
}

fn lease_granted<S: Store>(api: &Api<S>, granted: Granted) -> Response {
    // A word too many costs a look into the store when the job is over.
    let leased = Leased { tenant: granted.tenant, may_publish: granted.spec.contains("\"publish\"") };
    api.vault.granted(granted.execution, leased, api.engine.clock().now());
    let spec = RawValue::from_string(granted.spec.to_string()).expect("specifications are written by us");
    Json(LeaseGranted {
        r#type: tag::LeaseGranted,
        job_id: granted.public_id,
        run_id: granted.run.map(|run| run.to_string()),
        tenant_id: Some(granted.tenant),
        lease_id: granted.lease,
        lease_ttl_seconds: Decimal::from_duration(granted.lease_ttl),
        heartbeat_interval_seconds: Decimal::from_duration(granted.heartbeat_interval),
        max_runtime_seconds: Decimal::from_duration(granted.max_runtime),
        job_spec: Some(spec),
        job_spec_ref: None,
        cancel_token: None,
    })
    .into_response()
}

/// Counts a long poll for as long as it lasts, also when the client hangs up.
struct Waiting(Gauge);

impl Waiting {
    fn counted(gauge: &Gauge) -> Waiting {
        gauge.inc();
        Waiting(gauge.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.dec();
    }
}
