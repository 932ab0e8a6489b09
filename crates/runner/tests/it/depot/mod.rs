//! An artifact store for tests, over a real socket: as much of the contract as a client can see, kept in memory, with
//! faults on demand. The tests of the command line use it too.
#![allow(dead_code)] // neither of the two uses all of it

mod bytes;
mod caches;
mod versions;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::State;
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
    /// The digest of each key.
    pub caches: BTreeMap<String, String>,
    pub faults: HashMap<&'static str, VecDeque<Fault>>,
    /// Every call, with the lease it was made under.
    pub heard: Vec<String>,
    pub leases: Vec<Option<String>>,
    /// Bytes of bodies that came.
    pub taken: usize,
    /// Bodies that are being taken, and the most at a time.
    pub at_a_time: (usize, usize),
    /// No body is taken before so many came at a time.
    pub gather: usize,
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
            .route("/v1/tenants/{tenant}/blobs/{digest}", put(bytes::put_blob).get(bytes::get_blob))
            .route("/v1/tenants/{tenant}/uploads", post(bytes::start))
            .route("/v1/tenants/{tenant}/uploads/{id}", get(bytes::look))
            .route("/v1/tenants/{tenant}/uploads/{id}/content", put(bytes::content))
            .route("/v1/tenants/{tenant}/uploads/{id}/commit", post(bytes::commit))
            .route("/v1/tenants/{tenant}/packages", get(versions::list))
            .route(versions, post(versions::draft).get(versions::list_of))
            .route(&format!("{versions}/{{version}}"), get(versions::version))
            .route(&format!("{versions}/{{version}}/{{verb}}"), post(versions::change))
            .route("/v1/tenants/{tenant}/caches/find", get(caches::find))
            .route("/v1/admin/gc", post(versions::collect))
            .route("/v1/admin/gc/{id}", get(versions::collection))
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
        while self.with(|inner| inner.at_a_time.1 < inner.gather) {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
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
