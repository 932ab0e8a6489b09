//! The one layer around every handler: room for its body, a time limit, a caught panic, a counted answer, a line in the log.
//!
//! A line holds method, route and status; never a path, a query, a header or a body, where a secret could be.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use store::Store;
use tokio::task::JoinError;

use crate::api::artifacts;
use crate::api::bodies::Room;
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
        match api.bodies.room(route, request.headers()).await {
            Ok(None) => next.run(request).await,
            Ok(Some(room)) if route == lease::ROUTE => next.run(taking_along(room, request)).await,
            Ok(Some(room)) => to_its_end(room, next.run(request)).await,
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

/// The room goes with the request: it is free once that is read, and not only when the wait is over that it asks for.
fn taking_along(room: Room, mut request: Request) -> Request {
    request.extensions_mut().insert(room);
    request
}

/// Goes on when nobody waits for it any more: what the body has become is held by the engine until that has answered,
/// and takes its room for as long.
async fn to_its_end(room: Room, handling: impl Future<Output = Response> + Send + 'static) -> Response {
    let handled = tokio::spawn(async move {
        let response = handling.await;
        drop(room);
        response
    });
    match handled.await.map_err(JoinError::try_into_panic) {
        Ok(response) => response,
        Err(Ok(panic)) => resume_unwind(panic),
        Err(Err(_)) => Problem::stopping().into_response(),
    }
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

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};
    use tokio::sync::oneshot;

    use super::*;
    use crate::api::bodies::Bodies;

    #[tokio::test(start_paused = true)]
    async fn a_body_keeps_its_room_until_it_is_answered_though_the_caller_has_gone() {
        let bodies = Bodies::of_kib(100);
        let mut large = HeaderMap::new();
        large.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        large.insert(header::CONTENT_LENGTH, HeaderValue::from_static("92160"));
        let room = bodies.room("/", &large).await.expect("it fits").expect("it takes some");
        let (answer, answered) = oneshot::channel();
        let handling = to_its_end(room, async move {
            let () = answered.await.expect("an answer");
            StatusCode::OK.into_response()
        });
        let waited = tokio::time::timeout(REQUEST_TIME_MAX, handling).await;
        assert!(waited.is_err(), "the caller has gone");
        assert_eq!(bodies.room("/", &large).await.expect_err("there is none").code, "busy");
        answer.send(()).expect("it is still waited for");
        assert!(bodies.room("/", &large).await.expect("it fits again").is_some());
    }

    #[tokio::test]
    #[should_panic(expected = "in the handler")]
    async fn a_panic_beside_the_request_is_one_of_the_request() {
        let mut large = HeaderMap::new();
        large.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        large.insert(header::CONTENT_LENGTH, HeaderValue::from_static("92160"));
        let room = Bodies::default().room("/", &large).await.expect("it fits").expect("it takes some");
        to_its_end(room, async { panic!("in the handler") }).await;
    }
}
