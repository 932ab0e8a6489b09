//! `POST /v1/runner/logs`: the next bytes of a job's log, where the server expects them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, StatusCode};
use decisions::Answer;
use decisions::logs::AppendLog;
use store::Store;
use wire::LeaseId;
use wire::api::{LogOffset, Problem as ProblemBody};
use wire::runner::{LOG_CHUNK_BYTES_MAX, StaleLease};

use crate::api::document::Routes;
use crate::api::guard::RunnerAccess;
use crate::api::input::Raw;
use crate::api::problem::Problem;
use crate::api::runner::said::No;
use crate::api::state::Api;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes.add::<__path_append, _, _>(append::<S>)
}

/// Append to a job's log
///
/// The body is the bytes themselves, at most 256 KiB. An empty body asks where to go on.
#[utoipa::path(post, path = "/v1/runner/logs", tag = "runner", security(("token" = [])),
    params(
        ("Delta-Lease" = String, Header, description = "The lease id"),
        ("Delta-Offset" = u64, Header, description = "Where the first byte goes, counted from the lease's first"),
    ),
    request_body(content = String, content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "Kept, durably; `offset` is where the next byte goes", body = LogOffset),
        (status = 409, description = "The lease is stale, or was not acknowledged", content(
            (StaleLease = "application/json"), (ProblemBody = "application/problem+json"))),
        (status = 416, description = "Bytes are expected at `offset`", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn append<S: Store>(
    State(api): State<Api<S>>,
    access: RunnerAccess,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<LogOffset>, No> {
    // Before the body is read: so many are held at once, however many runners write.
    let _room = api.log_bodies.acquire().await.map_err(|_| No::mistake())?;
    let Raw(bytes) = Raw::<LOG_CHUNK_BYTES_MAX>::from_request(request, &()).await?;
    let lease = LeaseId::from(header(&headers, "Delta-Lease")?.to_owned());
    // Beyond i64 no store could say it; nobody has that many bytes.
    let offset = header(&headers, "Delta-Offset")?.parse::<i64>().ok().and_then(|at| u64::try_from(at).ok());
    let offset = offset.ok_or_else(|| Problem::invalid("Delta-Offset", "expected a number of bytes"))?;
    let command =
        AppendLog { lease: access.lease(&api, &lease).await?, offset, bytes: Arc::from(&bytes[..]) };
    let answer = api.engine.perform(command).await.map_err(No::to(&lease))?;
    let Answer::LogAppended { offset, truncated } = answer else { return Err(No::mistake()) };
    Ok(Json(LogOffset { offset, truncated }))
}

fn header<'h>(headers: &'h HeaderMap, name: &'static str) -> Result<&'h str, Problem> {
    headers.get(name).and_then(|value| value.to_str().ok()).ok_or_else(|| {
        let detail = format!("the header `{name}` is missing or unreadable");
        let problem = Problem::new(StatusCode::BAD_REQUEST, "missing_header", detail);
        Problem { field: Some(name.into()), ..problem }
    })
}
