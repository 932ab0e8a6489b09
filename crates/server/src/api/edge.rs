//! The one layer around every handler: room for its body, a time limit, a caught panic, a counted answer, a line in the log.
//!
//! A line holds method, route and status; never a path, a query, a header or a body, where a secret could be.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use store::Store;

use crate::api::artifacts;
use crate::api::problem::{Code, Problem};
use crate::api::runner::lease;
use crate::api::state::Api;

/// How long an ordinary request may take.
pub const REQUEST_TIME_MAX: Duration = Duration::from_secs(30);

/// What a request is counted under that no route knows.
const NO_ROUTE: &str = "none";

pub async fn edge<S: Store>(State(api): State<Api<S>>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
    let method = request.method().clone();
    // A long poll waits for work, not for us; it has its own limit on top. Bytes take as long as they are many.
    let limit = match route {
        lease::ROUTE => REQUEST_TIME_MAX + lease::WAIT_MAX,
        route => artifacts::time_max(route).unwrap_or(REQUEST_TIME_MAX),
    };
    let handling = async {
        match api.bodies.room(request.headers()).await {
            Ok(_room) => next.run(request).await,
            Err(busy) => busy.into_response(),
        }
    };
    let handled = tokio::time::timeout(limit, AssertUnwindSafe(handling).catch_unwind());
    let response = match handled.await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            tracing::error!(%method, route, "a handler panicked");
            Problem::internal().into_response()
        }
        Err(_) => Problem::took_too_long().into_response(),
    };
    let status = response.status();
    api.engine.metrics().answered(route, status.as_u16());
    let code = response.extensions().get::<Code>().map_or("", |code| code.0);
    if status.is_server_error() {
        api.engine.metrics().failed(if code.is_empty() { "internal_error" } else { code });
    }
    tracing::debug!(%method, route, status = status.as_u16(), code, "answered");
    response
}

/// No route has this path.
pub async fn no_route() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no_such_route", "no such route: /openapi.json lists those there are")
}

/// The path exists, the method does not; which do is in `Allow`.
pub async fn no_method() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this path does not take this method: use one of those in the `Allow` header",
    )
}
