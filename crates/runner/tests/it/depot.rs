//! An artifact store for tests, over a real socket: as much of the contract as a client can see, kept in memory, with
//! faults on demand. The tests of the command line use it too.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use futures_util::StreamExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

const AT: &str = "2026-01-04T08:00:00Z";
const ONE_REQUEST_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What happens to one call instead of a good answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Status(u16),
    /// Done, but the answer is lost.
    LoseAnswer,
    /// After so many bytes of the body, theirs or ours, the connection breaks.
    Cut(usize),
    Stale,
    Hang,
}

#[derive(Clone, Default)]
pub struct Depot {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
pub struct Inner {
    pub blobs: HashMap<String, Bytes>,
    pub uploads: BTreeMap<String, Upload>,
    pub versions: BTreeMap<(String, String), Value>,
    pub faults: HashMap<&'static str, VecDeque<Fault>>,
    /// Every call, with the lease it was made under.
    pub heard: Vec<String>,
    pub leases: Vec<Option<String>>,
    /// Bytes of bodies that came.
    pub taken: usize,
    /// Bodies that are being taken, and the most at a time.
    pub at_a_time: (usize, usize),
    pub collections: u32,
}

#[derive(Default)]
pub struct Upload {
    pub digest: String,
    pub length: u64,
    pub state: &'static str,
    pub staged: Vec<u8>,
}

type Shared = State<Depot>;

impl Depot {
    pub fn routes(&self) -> Router {
        let versions = "/v1/tenants/{tenant}/packages/{name}/versions";
        Router::new()
            .route("/v1/tenants/{tenant}/blobs/{digest}", put(put_blob).get(get_blob))
            .route("/v1/tenants/{tenant}/uploads", post(start))
            .route("/v1/tenants/{tenant}/uploads/{id}", get(look))
            .route("/v1/tenants/{tenant}/uploads/{id}/content", put(content))
            .route("/v1/tenants/{tenant}/uploads/{id}/commit", post(commit))
            .route("/v1/tenants/{tenant}/versions", get(list))
            .route(versions, post(draft).get(list_of))
            .route(&format!("{versions}/{{version}}"), get(version))
            .route(&format!("{versions}/{{version}}/{{verb}}"), post(change))
            .route("/v1/admin/gc", post(collect))
            .route("/v1/admin/gc/{id}", get(collection))
            .with_state(self.clone())
    }

    pub async fn start(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("an address");
        let app = self.routes();
        tokio::spawn(async move { axum::serve(listener, app).await });
        address
    }

    pub fn with<T>(&self, look: impl FnOnce(&mut Inner) -> T) -> T {
        look(&mut self.inner.lock().expect("not poisoned"))
    }

    pub fn fault(&self, call: &'static str, faults: impl IntoIterator<Item = Fault>) {
        self.with(|inner| inner.faults.entry(call).or_default().extend(faults));
    }

    pub fn count(&self, call: &str) -> usize {
        self.with(|inner| inner.heard.iter().filter(|heard| *heard == call).count())
    }

    /// Puts bytes there, as if they had been uploaded.
    pub fn keep(&self, bytes: impl Into<Bytes>) -> String {
        let bytes = bytes.into();
        let digest = digest_of(&bytes);
        self.with(|inner| inner.blobs.insert(digest.clone(), bytes));
        digest
    }

    fn heard(&self, call: &'static str, headers: &HeaderMap) -> Option<Fault> {
        self.with(|inner| {
            inner.heard.push(call.into());
            inner.leases.push(headers.get("delta-lease").map(|lease| lease.to_str().unwrap().into()));
            inner.faults.get_mut(call).and_then(VecDeque::pop_front)
        })
    }

    /// Takes a body, or as much of it as the fault allows.
    async fn take(&self, body: Body, fault: Option<Fault>) -> (Vec<u8>, bool) {
        let most = if let Some(Fault::Cut(most)) = fault { most } else { usize::MAX };
        self.with(|inner| {
            inner.at_a_time.0 += 1;
            inner.at_a_time.1 = inner.at_a_time.1.max(inner.at_a_time.0);
        });
        let (mut taken, mut stream) = (Vec::new(), body.into_data_stream());
        let mut whole = true;
        while let Some(piece) = stream.next().await {
            let Ok(piece) = piece else {
                whole = false;
                break;
            };
            taken.extend_from_slice(&piece[..piece.len().min(most - taken.len())]);
            if taken.len() >= most {
                whole = false;
                break;
            }
        }
        self.with(|inner| {
            inner.at_a_time.0 -= 1;
            inner.taken += taken.len();
        });
        (taken, whole)
    }
}

pub fn digest_of(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    format!("sha256:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn id_of(prefix: &str, number: usize) -> String {
    format!("{prefix}_{number:026}")
}

fn problem(status: u16, code: &str) -> Response {
    let body = json!({"type": "about:blank", "title": code, "status": status, "detail": format!("it is {code}"), "code": code});
    (StatusCode::from_u16(status).unwrap(), [("content-type", "application/problem+json")], body.to_string())
        .into_response()
}

async fn faulty(fault: Fault) -> Response {
    match fault {
        Fault::Status(status) => problem(status, "told_to_fail"),
        Fault::LoseAnswer | Fault::Cut(_) => {
            (StatusCode::BAD_GATEWAY, [("connection", "close")], "").into_response()
        }
        Fault::Stale => {
            let stale = json!({"type": "StaleLease", "lease_id": "l", "reason": "LEASE_EXPIRED"});
            (StatusCode::CONFLICT, Json(stale)).into_response()
        }
        Fault::Hang => std::future::pending().await,
    }
}

fn view(id: &str, upload: &Upload) -> Value {
    json!({
        "id": id, "state": upload.state, "digest": upload.digest, "length": upload.length,
        "received": upload.staged.len(), "parts": [], "expires_at": AT, "created_at": AT,
        "blob_id": (upload.state == "committed").then(|| id_of("blob", 1)),
    })
}

async fn put_blob(
    State(depot): Shared,
    Path((_, digest)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let fault = depot.heard("put-blob", &headers);
    assert!(headers.contains_key("content-length"), "{headers:?}");
    if let Some(fault @ (Fault::Status(_) | Fault::Stale | Fault::Hang)) = fault {
        return faulty(fault).await;
    }
    let (bytes, whole) = depot.take(body, fault).await;
    if !whole {
        return faulty(Fault::LoseAnswer).await;
    }
    assert!(bytes.len() <= ONE_REQUEST_BYTES_MAX);
    if digest_of(&bytes) != digest {
        return problem(422, "digest_mismatch");
    }
    let upload = Upload {
        digest: digest.clone(),
        length: bytes.len() as u64,
        state: "committed",
        staged: bytes.clone(),
    };
    depot.with(|inner| inner.blobs.insert(digest, bytes.into()));
    if fault.is_some() {
        return faulty(Fault::LoseAnswer).await;
    }
    (StatusCode::CREATED, Json(view(&id_of("upl", 0), &upload))).into_response()
}

async fn start(State(depot): Shared, headers: HeaderMap, Json(wanted): Json<Value>) -> Response {
    if let Some(fault) = depot.heard("start", &headers) {
        return faulty(fault).await;
    }
    let made = depot.with(|inner| {
        let id = id_of("upl", inner.uploads.len() + 1);
        let digest = wanted["digest"].as_str().unwrap().to_string();
        let state = if inner.blobs.contains_key(&digest) { "committed" } else { "initiated" };
        let upload = Upload { digest, length: wanted["length"].as_u64().unwrap(), state, staged: Vec::new() };
        let shown = view(&id, &upload);
        inner.uploads.insert(id, upload);
        shown
    });
    (StatusCode::CREATED, Json(made)).into_response()
}

async fn look(State(depot): Shared, Path((_, id)): Path<(String, String)>, headers: HeaderMap) -> Response {
    if let Some(fault) = depot.heard("look", &headers) {
        return faulty(fault).await;
    }
    depot.with(|inner| match inner.uploads.get(&id) {
        Some(upload) => Json(view(&id, upload)).into_response(),
        None => problem(404, "upload_not_found"),
    })
}

async fn content(
    State(depot): Shared,
    Path((_, id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let fault = depot.heard("content", &headers);
    if let Some(fault @ (Fault::Status(_) | Fault::Stale | Fault::Hang)) = fault {
        return faulty(fault).await;
    }
    let offset = match headers.get("content-range") {
        None => 0,
        Some(range) => {
            let range = range.to_str().unwrap().strip_prefix("bytes ").expect("bytes");
            let (first, rest) = range.split_once('-').expect("a range");
            let (last, total) = rest.split_once('/').expect("a total");
            assert_eq!(last.parse::<u64>().unwrap() + 1, total.parse::<u64>().unwrap());
            first.parse::<usize>().unwrap()
        }
    };
    let ended = depot.with(|inner| match inner.uploads.get_mut(&id) {
        None => Some(problem(404, "upload_not_found")),
        Some(upload) if ["committed", "aborted"].contains(&upload.state) => {
            Some(problem(409, "upload_ended"))
        }
        Some(upload) if offset != 0 && offset != upload.staged.len() => Some(problem(416, "wrong_offset")),
        Some(upload) => {
            upload.staged.truncate(offset);
            None
        }
    });
    if let Some(ended) = ended {
        return ended;
    }
    let (bytes, whole) = depot.take(body, fault).await;
    let shown = depot.with(|inner| {
        let upload = inner.uploads.get_mut(&id).unwrap();
        upload.staged.extend_from_slice(&bytes);
        if whole {
            upload.state = "pending_commit";
        }
        view(&id, upload)
    });
    if !whole || fault.is_some() { faulty(Fault::LoseAnswer).await } else { Json(shown).into_response() }
}

async fn commit(State(depot): Shared, Path((_, id)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let fault = depot.heard("commit", &headers);
    if let Some(fault @ (Fault::Status(_) | Fault::Stale)) = fault {
        return faulty(fault).await;
    }
    let answer = depot.with(|inner| {
        let Some(upload) = inner.uploads.get_mut(&id) else { return problem(404, "upload_not_found") };
        if upload.state != "pending_commit" {
            return problem(409, if upload.state == "initiated" { "not_complete" } else { "upload_ended" });
        }
        if digest_of(&upload.staged) != upload.digest {
            upload.state = "aborted";
            return problem(422, "digest_mismatch");
        }
        upload.state = "committed";
        inner.blobs.insert(upload.digest.clone(), upload.staged.clone().into());
        Json(view(&id, upload)).into_response()
    });
    if fault.is_some() { faulty(Fault::LoseAnswer).await } else { answer }
}

async fn get_blob(
    State(depot): Shared,
    Path((_, digest)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let fault = depot.heard("get-blob", &headers);
    if let Some(fault @ (Fault::Status(_) | Fault::Hang)) = fault {
        return faulty(fault).await;
    }
    let Some(bytes) = depot.with(|inner| inner.blobs.get(&digest).cloned()) else {
        return problem(404, "blob_not_found");
    };
    let total = bytes.len();
    let range = headers.get("range").map(|range| range.to_str().unwrap().to_string());
    let from = range.as_ref().map(|range| {
        range
            .strip_prefix("bytes=")
            .and_then(|range| range.strip_suffix('-'))
            .unwrap()
            .parse::<usize>()
            .unwrap()
    });
    if from.is_some_and(|from| from >= total) {
        return problem(416, "range_not_satisfiable");
    }
    let wanted = bytes.slice(from.unwrap_or(0)..);
    let length = wanted.len();
    let pieces: Vec<Result<Bytes, std::io::Error>> = match fault {
        Some(Fault::Cut(most)) => {
            vec![Ok(wanted.slice(..most.min(length))), Err(std::io::Error::other("cut"))]
        }
        _ => vec![Ok(wanted)],
    };
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    let response = Response::builder().header("content-length", length);
    match from {
        Some(from) => response
            .status(206)
            .header("content-range", format!("bytes {from}-{}/{total}", total - 1))
            .body(body)
            .unwrap(),
        None => response.body(body).unwrap(),
    }
}

async fn draft(
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

async fn version(
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

async fn change(
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

async fn list(State(depot): Shared, headers: HeaderMap) -> Response {
    depot.heard("list", &headers);
    depot.with(|inner| summaries(inner.versions.values()))
}

async fn list_of(
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

async fn collect(State(depot): Shared, headers: HeaderMap, Json(wanted): Json<Value>) -> Response {
    depot.heard("gc", &headers);
    depot.with(|inner| inner.collections += 1);
    let dry_run = wanted["dry_run"].as_bool().unwrap_or(false);
    (StatusCode::ACCEPTED, Json(shown_collection(1, "running", dry_run))).into_response()
}

async fn collection(State(depot): Shared, Path(_): Path<String>, headers: HeaderMap) -> Response {
    depot.heard("gc-look", &headers);
    let looks = depot.count("gc-look");
    Json(shown_collection(1, if looks >= 2 { "done" } else { "running" }, false)).into_response()
}
