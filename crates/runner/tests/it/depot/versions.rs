//! Versions of packages, and collections.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::{AT, Shared, faulty, id_of, problem};

pub async fn draft(
    State(depot): Shared,
    Path((_, package)): Path<(String, String)>,
    headers: HeaderMap,
    Json(wanted): Json<Value>,
) -> Response {
    if let Some(fault) = depot.heard("draft", &headers) {
        return faulty(fault).await;
    }
    depot.with(|inner| {
        let mut entries = Vec::new();
        for entry in wanted["entries"].as_array().unwrap() {
            let Some(bytes) = inner.blobs.get(entry["digest"].as_str().unwrap()) else {
                return problem(409, "blob_missing");
            };
            entries.push(json!({"path": entry["path"], "digest": entry["digest"], "length": bytes.len()}));
        }
        let key = (package.clone(), wanted["version"].as_str().unwrap().to_string());
        if inner.versions.get(&key).is_some_and(|version| version["state"] != "draft") {
            return problem(409, "immutable");
        }
        let made = json!({
            "id": id_of("ver", inner.versions.len() + 1), "package": package, "version": wanted["version"],
            "state": "draft", "quarantine": null, "content_hash": null, "entries": entries,
            "retention_until": null, "purged": false, "created_at": AT, "published_at": null,
        });
        inner.versions.insert(key, made.clone());
        (StatusCode::CREATED, Json(made)).into_response()
    })
}

pub async fn version(
    State(depot): Shared,
    Path((_, package, version)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Response {
    depot.heard("version", &headers);
    depot.with(|inner| match inner.versions.get(&(package, version)) {
        Some(version) => Json(version.clone()).into_response(),
        None => problem(404, "version_not_found"),
    })
}

pub async fn change(
    State(depot): Shared,
    Path((_, package, version, verb)): Path<(String, String, String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    depot.heard("change", &headers);
    depot.with(|inner| {
        let Some(version) = inner.versions.get_mut(&(package, version)) else {
            return problem(404, "version_not_found");
        };
        let state = version["state"].as_str().unwrap().to_string();
        match (verb.as_str(), state.as_str()) {
            ("publish", "draft" | "published") | ("restore", "tombstoned") => {
                version["state"] = "published".into();
                version["published_at"] = AT.into();
                version["retention_until"] = Value::Null;
            }
            ("tombstone", "published") => {
                let said: Value = serde_json::from_slice(&body).unwrap();
                assert!(said["retention_seconds"].is_number(), "{said}");
                version["state"] = "tombstoned".into();
                version["retention_until"] = "2026-02-04T08:00:00Z".into();
            }
            _ => return problem(409, "not_possible"),
        }
        Json(version.clone()).into_response()
    })
}

fn summaries<'a>(versions: impl Iterator<Item = &'a Value>) -> Response {
    let summary = |version: &Value| {
        let mut summary = version.clone();
        let entries = version["entries"].as_array().unwrap();
        summary["length"] = entries.iter().map(|entry| entry["length"].as_u64().unwrap()).sum::<u64>().into();
        summary["entries"] = entries.len().into();
        summary
    };
    Json(json!({"items": versions.map(summary).collect::<Vec<_>>(), "next": null})).into_response()
}

pub async fn list(State(depot): Shared, headers: HeaderMap) -> Response {
    depot.heard("list", &headers);
    depot.with(|inner| summaries(inner.versions.values()))
}

pub async fn list_of(
    State(depot): Shared,
    Path((_, package)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    depot.heard("list", &headers);
    depot.with(|inner| {
        summaries(inner.versions.values().filter(|version| version["package"] == package.as_str()))
    })
}

fn shown_collection(number: usize, state: &str, dry_run: bool) -> Value {
    json!({
        "id": id_of("gc", number), "state": state, "dry_run": dry_run, "epoch": 3, "marked": 12, "kept": 2,
        "deleted": if state == "done" { 10 } else { 0 }, "bytes": if state == "done" { 123_456_789 } else { 0 },
        "message": "", "started_at": AT, "mark_completed_at": null, "finished_at": null,
    })
}

pub async fn collect(State(depot): Shared, headers: HeaderMap, Json(wanted): Json<Value>) -> Response {
    depot.heard("gc", &headers);
    depot.with(|inner| inner.collections += 1);
    let dry_run = wanted["dry_run"].as_bool().unwrap_or(false);
    (StatusCode::ACCEPTED, Json(shown_collection(1, "running", dry_run))).into_response()
}

pub async fn collection(State(depot): Shared, Path(_): Path<String>, headers: HeaderMap) -> Response {
    depot.heard("gc-look", &headers);
    let looks = depot.count("gc-look");
    Json(shown_collection(1, if looks >= 2 { "done" } else { "running" }, false)).into_response()
}
