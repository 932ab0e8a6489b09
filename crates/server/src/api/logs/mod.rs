//! A job's log as people read it: all executions of all attempts in order, whole or as it grows.
//!
//! Nothing is hidden: where another execution begins, where bytes are no longer kept and where a lease was lost, it says
//! so. Never: a whole log in memory; a reader costs a page, however slow it is.

mod follow;
mod pieces;
mod whole;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use machines::lease;
use store::Store;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use wire::api::{LogEnd, LogExecution, LogGap, LogText};

use crate::api::document::Routes;
use crate::api::find;
use crate::api::guard::TenantAccess;
use crate::api::input::{Asked, Item};
use crate::api::problem::Problem;
use crate::api::state::Api;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes.add::<__path_log, _, _>(log::<S>)
}

#[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct LogQuery {
    /// `1`: as server-sent events, until the job is over.
    #[param(schema_with = flag_schema)]
    follow: Option<String>,
}

fn flag_schema() -> Schema {
    let words = Some(["0", "1", "false", "true"]);
    ObjectBuilder::new().schema_type(Type::String).enum_values(words).build().into()
}

/// Read a job's log
///
/// Without `follow`, the bytes kept so far as text, with markers `[delta-ci: …]` on lines of their own. With
/// `follow=1`, server-sent events, each with a JSON object as its data: `execution` (the log of another execution
/// begins), `log` (more text), `gap` (bytes that are no longer kept), `lost` (the lease was lost, so the log may lack its
/// end) and at last `end` with the job's state. The `id` of an event, sent back as `Last-Event-ID`, goes on after it.
#[utoipa::path(get, path = "/v1/tenants/{tenant}/jobs/{id}/log", tag = "jobs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "A job's id, or the one its submitter chose"),
        ("Last-Event-ID" = Option<String>, Header, description = "With `follow`: go on after this event"),
        LogQuery),
    responses((status = 200, description = "The log", content(
        (String = "text/plain"), (FollowEvent = "text/event-stream")))))]
async fn log<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Item(id): Item,
    Asked(query): Asked<LogQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let follow = match query.follow.as_deref() {
        None | Some("0" | "false") => false,
        Some("1" | "true") => true,
        Some(_) => return Err(Problem::invalid("follow", "expected 1 or 0")),
    };
    // Heard before the job is read, so that nothing falls between the two.
    let hints = api.engine.hints();
    let file = find::job_file(api.engine.store(), tenant, &id).await?;
    if !follow {
        return Ok(whole::response(api, file));
    }
    let from = match headers.get("Last-Event-ID") {
        None => follow::Cursor::default(),
        Some(value) => value.to_str().ok().and_then(follow::Cursor::parse).ok_or_else(|| {
            Problem::invalid("Last-Event-ID", "not one of ours: send the `id` of the last event, or nothing")
        })?,
    };
    Ok(follow::response(api, file, from, hints))
}

/// The data of each event, by its name.
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "only described: events are written one by one")]
#[schema(rename_all = "lowercase")]
enum FollowEvent {
    Execution(LogExecution),
    Log(LogText),
    Gap(LogGap),
    Lost(LogExecution),
    End(LogEnd),
}

/// The runner may have gone on without us: what it printed then never came.
fn is_lost(state: lease::State) -> bool {
    match state {
        lease::State::Expired | lease::State::Revoked => true,
        lease::State::Granted | lease::State::Active | lease::State::Completed | lease::State::Canceled => {
            false
        }
    }
}
