//! Caches: found by key, then by what a key begins with.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::{AT, Shared, faulty, id_of, problem};

pub async fn find(
    State(depot): Shared,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    if let Some(fault) = depot.heard("find", &headers) {
        return faulty(fault).await;
    }
    assert!(headers.contains_key("delta-lease"), "under a lease only");
    depot.with(|inner| {
        let exact = inner.caches.get_key_value(&query["key"]);
        let begins = |key: &str| query.get("prefix").is_some_and(|prefix| key.starts_with(prefix));
        let near = || inner.caches.iter().rfind(|(key, _)| begins(key));
        let Some((key, digest)) = exact.or_else(near) else { return problem(404, "cache_miss") };
        let bytes = inner.blobs.get(digest).map_or(7, |bytes| bytes.len());
        let exact = *key == query["key"];
        Json(json!({"key": key, "digest": digest, "bytes": bytes, "exact": exact, "created_at": AT, "job": id_of("job", 7)}))
            .into_response()
    })
}
