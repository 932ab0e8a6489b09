//! What is open to everybody: whether we live, whether we are ready, metrics, the machines, the document.

use std::sync::OnceLock;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use store::Store;

use crate::api::document::Routes;
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::metrics;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes
        .add::<__path_healthz, _, _>(healthz)
        .add::<__path_readyz, _, _>(readyz::<S>)
        .add::<__path_metrics_text, _, _>(metrics_text::<S>)
        .add::<__path_machines, _, _>(machines)
}

/// The process lives
#[utoipa::path(get, path = "/healthz", tag = "operations",
    responses((status = 200, description = "It lives", body = String, content_type = "text/plain")))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// The server can work: its store answers
#[utoipa::path(get, path = "/readyz", tag = "operations",
    responses((status = 200, description = "The store answers", body = String, content_type = "text/plain")))]
async fn readyz<S: Store>(State(api): State<Api<S>>) -> Result<&'static str, Problem> {
    if api.is_stopping() {
        return Err(Problem::stopping());
    }
    if let Some(why) = api.engine.cannot_write() {
        return Err(Problem::unavailable("store_unavailable", why));
    }
    api.engine.store().tenants_after(None, 1).await?;
    Ok("ready\n")
}

/// Metrics, as Prometheus reads them
#[utoipa::path(get, path = "/metrics", tag = "operations",
    responses((status = 200, description = "OpenMetrics text", body = String,
        content_type = "application/openmetrics-text")))]
async fn metrics_text<S: Store>(State(api): State<Api<S>>) -> Response {
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], api.engine.metrics().text()).into_response()
}

/// The state machines, as `deltaci machines --json` shows them
#[utoipa::path(get, path = "/v1/machines", tag = "operations",
    responses((status = 200, description = "All machines", body = Object)))]
async fn machines() -> Response {
    static DOCUMENT: OnceLock<Bytes> = OnceLock::new();
    let document = DOCUMENT.get_or_init(|| Bytes::from(crate::machines_json::document().to_string()));
    ([(CONTENT_TYPE, "application/json")], document.clone()).into_response()
}

/// The document is made once, from the routes themselves.
pub fn with_document<S: Store>(routes: Routes<S>) -> axum::Router<Api<S>> {
    let routes = routes.describe::<__path_openapi>();
    let text = routes.document().to_json().expect("the document is plain data");
    let text = Bytes::from(text);
    routes.router.route("/openapi.json", axum::routing::get(move || openapi(text.clone())))
}

/// This document
#[utoipa::path(get, path = "/openapi.json", tag = "operations",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)))]
async fn openapi(document: Bytes) -> Response {
    ([(CONTENT_TYPE, "application/json")], document).into_response()
}
