//! A running server on a free port, and what a test says to it. Every answer is compared with the served document: the
//! route and the status must be listed, an error must be a problem, and no secret may be where none belongs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use decisions::Policy;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use repo::Mirrors;
use serde_json::{Value, json};
use server::artifacts::Judge;
use server::outbox::Rules;
use server::serve::{Duty, Server, Settings};
use store::blobs::Blobs;
use store::{Memory, Sqlite, Store};
use tempfile::TempDir;
use tokio::net::TcpStream;
use wire::TokenSecret;

/// The admin token that test servers are started with.
pub const ADMIN: &str = "an-admin-token-for-tests";

/// What a test waits for at most.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Site<S: Store> {
    pub server: Server<S>,
    pub store: Arc<S>,
    pub document: Value,
    folder: Option<TempDir>,
    /// Where the bytes are, unless the test has its own place for them.
    pub bytes: TempDir,
}

pub async fn in_memory() -> Site<Memory> {
    Site::open(Arc::new(Memory::default()), Policy::default(), None).await
}

pub async fn in_file() -> Site<Sqlite> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let store = Sqlite::open(&folder.path().join("delta.db")).expect("a new file can be opened");
    Site::open(Arc::new(store), Policy::default(), Some(folder)).await
}

/// Runs each test over memory and over a file.
macro_rules! on_each_store {
    ($($name:ident),+ $(,)?) => {
        mod memory {
            $( #[tokio::test]
            async fn $name() { super::$name(crate::api::site::in_memory().await).await; } )+
        }
        mod sqlite {
            $( #[tokio::test]
            async fn $name() { super::$name(crate::api::site::in_file().await).await; } )+
        }
    };
}
pub(crate) use on_each_store;

impl<S: Store> Site<S> {
    pub async fn open(store: Arc<S>, policy: Policy, folder: Option<TempDir>) -> Site<S> {
        Site::open_with(store, policy, folder, Judge::Absent, None).await
    }

    /// With a policy for publications, and with the bytes elsewhere than in a folder.
    pub async fn open_with(
        store: Arc<S>,
        policy: Policy,
        folder: Option<TempDir>,
        judge: Judge,
        blobs: Option<Blobs>,
    ) -> Site<S> {
        let bytes = tempfile::tempdir().expect("a temporary folder can be made");
        let blobs = match blobs {
            Some(blobs) => blobs,
            None => Blobs::open(bytes.path().to_str().expect("a text")).await.expect("a new folder"),
        };
        let listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        let admin_token = Some(TokenSecret::from(ADMIN.to_string()));
        let mirrors = Some(Mirrors::new(bytes.path().join("mirrors")).allow_local(true));
        let duty = Duty::All;
        let settings = Settings {
            listen,
            duty,
            policy,
            admin_token,
            outbox: Rules::default(),
            blobs,
            judge,
            collect_every: Duration::from_secs(3600),
            archive_logs_after: None, // whoever wants it does it by hand
            mirrors,
        };
        let server = Server::start(store.clone(), settings).await.expect("the server starts");
        let mut site = Site { server, store, document: Value::Null, folder, bytes };
        let document = site.send("GET", "/openapi.json", &[], Bytes::new()).await;
        site.document = document.json();
        site
    }

    /// The same records behind another server.
    pub fn into_parts(self) -> (Server<S>, Arc<S>, Option<TempDir>) {
        (self.server, self.store, self.folder)
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address.expect("it listens")
    }

    /// A request as it is, over a connection of its own.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Bytes) -> Reply {
        let response = open(self.address(), method, path, headers, body).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.expect("the answer arrives whole").to_bytes();
        let reply = Reply { status: head.status.as_u16(), headers: head.headers, body };
        if !self.document.is_null() {
            self.check(method, path, &reply);
        }
        reply
    }

    pub async fn get(&self, token: &str, path: &str) -> Reply {
        self.send("GET", path, &[(AUTHORIZATION.as_str(), &bearer(token))], Bytes::new()).await
    }

    pub async fn delete(&self, token: &str, path: &str) -> Reply {
        self.send("DELETE", path, &[(AUTHORIZATION.as_str(), &bearer(token))], Bytes::new()).await
    }

    /// Bytes as they are.
    pub async fn put(&self, token: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let token = bearer(token);
        let mut all = vec![(AUTHORIZATION.as_str(), &*token)];
        all.extend_from_slice(headers);
        self.send("PUT", path, &all, Bytes::copy_from_slice(body)).await
    }

    pub async fn post(&self, token: &str, path: &str, body: Value) -> Reply {
        let headers =
            [(AUTHORIZATION.as_str(), &*bearer(token)), (CONTENT_TYPE.as_str(), "application/json")];
        self.send("POST", path, &headers, body.to_string().into()).await
    }

    pub async fn put_json(&self, token: &str, path: &str, body: Value) -> Reply {
        let headers =
            [(AUTHORIZATION.as_str(), &*bearer(token)), (CONTENT_TYPE.as_str(), "application/json")];
        self.send("PUT", path, &headers, body.to_string().into()).await
    }

    /// A tenant with a token of its own.
    pub async fn tenant(&self, name: &str) -> Tenant {
        self.post(ADMIN, "/v1/tenants", json!({"name": name, "desired_config": {}})).await.expect(201);
        let tenant = self.token(name, "tenant").await;
        let runner = self.token(name, "runner").await;
        Tenant { name: name.into(), path: format!("/v1/tenants/{name}"), tenant, runner }
    }

    pub async fn token(&self, tenant: &str, kind: &str) -> String {
        let path = format!("/v1/tenants/{tenant}/tokens");
        let made = self.post(ADMIN, &path, json!({"kind": kind, "name": "for a test"})).await.expect(201);
        made["token"].as_str().expect("a token").into()
    }

    /// A standalone job of this tenant, leased and acknowledged: its id and the lease.
    pub async fn active_job(&self, tenant: &Tenant) -> (String, String) {
        let made = self.post(&tenant.tenant, &format!("{}/jobs", tenant.path), json!({"payload": 1})).await;
        let id = made.expect(201)["id"].as_str().expect("an id").to_string();
        let lease = self.lease(tenant).await;
        self.ack(tenant, &id, &lease).await.expect(200);
        (id, lease)
    }

    pub async fn lease(&self, tenant: &Tenant) -> String {
        let asked = json!({"runner_id": "r1", "wait_seconds": 20});
        let granted = self.post(&tenant.runner, "/v1/runner/lease", asked).await.expect(200);
        granted["lease_id"].as_str().expect("a lease id").into()
    }

    pub async fn ack(&self, tenant: &Tenant, job: &str, lease: &str) -> Reply {
        let said = json!({"type": "AckLease", "job_id": job, "lease_id": lease, "runner_id": "r1",
            "accepted_at": "2026-01-04T08:00:00Z"});
        self.post(&tenant.runner, "/v1/runner/ack", said).await
    }

    pub async fn complete(&self, tenant: &Tenant, lease: &str, status: &str, exit_code: i32) -> Reply {
        let said = json!({"type": "Complete", "lease_id": lease, "runner_id": "r1", "status": status,
            "exit_code": exit_code, "summary": "done"});
        self.post(&tenant.runner, "/v1/runner/complete", said).await
    }

    pub async fn append(&self, tenant: &Tenant, lease: &str, offset: u64, bytes: &[u8]) -> Reply {
        let headers = [
            (AUTHORIZATION.as_str(), &*bearer(&tenant.runner)),
            ("Delta-Lease", lease),
            ("Delta-Offset", &offset.to_string()),
        ];
        self.send("POST", "/v1/runner/logs", &headers, Bytes::copy_from_slice(bytes)).await
    }

    /// What was answered must be what the document promises.
    pub fn check(&self, method: &str, path: &str, reply: &Reply) {
        let path = path.split('?').next().unwrap_or(path);
        let at = format!("{method} {path} {}", reply.status);
        if reply.status >= 400 && reply.kind() != "application/json" && method != "HEAD" {
            assert_eq!(reply.kind(), "application/problem+json", "{at}");
            let problem = reply.json();
            assert_eq!(problem["status"], reply.status, "{at}");
            for field in ["type", "title", "detail", "code"] {
                assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{at}: {field}");
            }
        }
        let speaks_of_secrets = path.starts_with("/v1/runner/") || path.ends_with("/tokens");
        if !speaks_of_secrets {
            let text = String::from_utf8_lossy(&reply.body);
            assert!(!text.contains("lease_0") && !text.contains("dci_"), "{at}: a secret in {text}");
        }
        let Some(item) = self.described(path) else {
            return assert_eq!(reply.status, 404, "{at}: not in the document");
        };
        let operation = &item[method.to_lowercase()];
        if operation.is_null() {
            return assert_eq!(reply.status, 405, "{at}: not in the document");
        }
        let response = &operation["responses"][reply.status.to_string()];
        assert!(response.is_object(), "{at}: this status is not in the document");
        if !reply.body.is_empty() {
            let kinds = response["content"].as_object().expect("an answer with a body is described");
            assert!(kinds.contains_key(reply.kind()), "{at}: {} is not in the document", reply.kind());
        }
    }

    fn described(&self, path: &str) -> Option<&Value> {
        let paths = self.document["paths"].as_object().expect("the document has paths");
        let fits = |template: &str| {
            let (template, path) = (template.split('/'), path.split('/'));
            // A file's path within a version is one parameter, however deep it is.
            let deep = template.clone().next_back() == Some("{path}");
            let (parts, given) = (template.clone().count(), path.clone().count());
            (parts == given || (deep && parts < given))
                && template.zip(path).all(|(part, given)| part == given || part.starts_with('{'))
        };
        paths.iter().find(|(template, _)| fits(template)).map(|(_, item)| item)
    }
}

/// A tenant and the tokens a test speaks with.
pub struct Tenant {
    pub name: String,
    pub path: String,
    pub tenant: String,
    pub runner: String,
}

#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error} in {}: {}", self.status, String::from_utf8_lossy(&self.body))
        })
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).expect("the answer is text")
    }

    /// The body, of an answer with this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// A problem with this status and code.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        let problem = self.expect(status);
        assert_eq!(problem["code"], code, "{problem}");
        problem
    }

    pub fn kind(&self) -> &str {
        let given = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        given.split(';').next().unwrap_or(given)
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }
}

pub fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// Sends a request and returns as soon as the answer begins.
pub async fn open(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Response<Incoming> {
    let host = [(HOST.as_str(), "localhost")];
    open_at(address, method, path, &[&host[..], headers].concat(), body).await
}

/// The same, with the host among the headers.
pub async fn open_at(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Response<Incoming> {
    let stream = TcpStream::connect(address).await.expect("the server listens");
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.expect("the server speaks HTTP");
    tokio::spawn(connection);
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body)).expect("the request is well-formed");
    tokio::time::timeout(PATIENCE * 3, sender.send_request(request))
        .await
        .expect("an answer comes")
        .expect("the connection holds")
}
