//! An orchestrator that follows a script, over a real socket: it grants what is queued, notes what it hears, and plays
//! the faults it was told to, in order, per kind of call.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::depot::Depot;

pub const TOKEN: &str = "dci_test_token";

/// What happens to one call instead of a good answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Status(u16),
    /// Heard and acted upon, but answered with 502.
    LoseAnswer,
    /// No answer at all for as long as anybody would wait.
    Hang,
    Stale(&'static str),
    NotAcknowledged,
    /// A heartbeat that passes a cancel on.
    Cancel,
    /// A completion that comes after a cancel.
    NotAccepted,
}

#[derive(Clone, Default)]
pub struct Orchestrator {
    inner: Arc<Mutex<Inner>>,
    /// Where artifacts go.
    pub depot: Depot,
}

pub struct Inner {
    pub queue: VecDeque<Value>,
    pub faults: HashMap<&'static str, VecDeque<Fault>>,
    /// Every call that was heard, in order.
    pub heard: Vec<String>,
    pub messages: Vec<(&'static str, Value)>,
    /// Of the last lease that sent any.
    pub log: Vec<u8>,
    log_lease: String,
    pub log_truncated: bool,
    pub ttl: f64,
    pub interval: f64,
    /// Whether leases say whose job it is.
    pub names_tenant: bool,
    leases: u32,
}

impl Default for Inner {
    fn default() -> Inner {
        Inner {
            queue: VecDeque::new(),
            faults: HashMap::new(),
            heard: Vec::new(),
            messages: Vec::new(),
            log: Vec::new(),
            log_lease: String::new(),
            log_truncated: false,
            ttl: 60.0,
            interval: 20.0,
            names_tenant: true,
            leases: 0,
        }
    }
}

impl Orchestrator {
    pub async fn start(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("an address");
        let app = self.app();
        tokio::spawn(async move { axum::serve(listener, app).await });
        address
    }

    fn app(&self) -> Router {
        Router::new()
            .route("/v1/runner/lease", post(Self::lease))
            .route("/v1/runner/ack", post(Self::ack))
            .route("/v1/runner/heartbeat", post(Self::heartbeat))
            .route("/v1/runner/complete", post(Self::complete))
            .route("/v1/runner/cancel-ack", post(Self::cancel_ack))
            .route("/v1/runner/logs", post(Self::logs))
            .with_state(self.clone())
            .merge(self.depot.routes())
    }

    pub fn with<T>(&self, look: impl FnOnce(&mut Inner) -> T) -> T {
        look(&mut self.inner.lock().expect("not poisoned"))
    }

    pub fn fault(&self, call: &'static str, faults: impl IntoIterator<Item = Fault>) {
        self.with(|inner| inner.faults.entry(call).or_default().extend(faults));
    }

    async fn lease(State(this): State<Orchestrator>, headers: HeaderMap, body: Bytes) -> Response {
        if let Some(refused) = this.heard(&headers, "lease", &body, None).await {
            return refused;
        }
        let granted = this.with(|inner| {
            let spec = inner.queue.pop_front()?;
            inner.leases += 1;
            Some(json!({
                "type": "LeaseGranted", "job_id": format!("job_{}", inner.leases), "run_id": "run_1",
                "tenant_id": inner.names_tenant.then_some("ten_00000000000000000000000007"),
                "lease_id": format!("lease_{}", inner.leases), "lease_ttl_seconds": inner.ttl,
                "heartbeat_interval_seconds": inner.interval, "max_runtime_seconds": 3600, "job_spec": spec,
            }))
        });
        match granted {
            Some(granted) => (StatusCode::OK, granted.to_string()).into_response(),
            None => {
                tokio::time::sleep(Duration::from_millis(5)).await;
                StatusCode::NO_CONTENT.into_response()
            }
        }
    }

    async fn ack(State(this): State<Orchestrator>, headers: HeaderMap, body: Bytes) -> Response {
        let ttl = this.with(|inner| inner.ttl);
        let good = json!({"type": "AckLeaseAck", "lease_id": "l", "lease_ttl_seconds": ttl});
        this.answered(&headers, "ack", &body, good).await
    }

    async fn heartbeat(State(this): State<Orchestrator>, headers: HeaderMap, body: Bytes) -> Response {
        let ttl = this.with(|inner| inner.ttl);
        let good = json!({
            "type": "HeartbeatAck", "lease_id": "l", "extend_lease": true, "new_lease_ttl_seconds": ttl,
            "cancel_requested": false, "cancel_deadline_seconds": 0,
        });
        this.answered(&headers, "heartbeat", &body, good).await
    }

    async fn complete(State(this): State<Orchestrator>, headers: HeaderMap, body: Bytes) -> Response {
        let good = json!({"type": "CompleteAck", "lease_id": "l", "accepted": true});
        this.answered(&headers, "complete", &body, good).await
    }

    async fn cancel_ack(State(this): State<Orchestrator>, headers: HeaderMap, body: Bytes) -> Response {
        let good = json!({"type": "CancelAckAck", "lease_id": "l", "accepted": true});
        this.answered(&headers, "cancel-ack", &body, good).await
    }

    async fn logs(State(this): State<Orchestrator>, headers: HeaderMap, body: Bytes) -> Response {
        let lease = headers["delta-lease"].to_str().expect("text").to_string();
        assert!(lease.starts_with("lease_"));
        this.with(|inner| {
            if inner.log_lease != lease {
                inner.log.clear();
                inner.log_lease = lease;
            }
        });
        let offset: usize = headers["delta-offset"].to_str().expect("text").parse().expect("a number");
        assert!(body.len() <= 256 * 1024 && !body.is_empty(), "{} bytes", body.len());
        let chunk = body.clone();
        let append = move |inner: &mut Inner| {
            if offset == inner.log.len() {
                inner.log.extend_from_slice(&chunk);
            }
        };
        if let Some(refused) = this.heard(&headers, "log", &[], Some(&append)).await {
            return refused;
        }
        this.with(|inner| {
            let expected = inner.log.len();
            if offset != expected {
                let problem = json!({"code": "log_offset", "detail": "", "offset": expected});
                return (StatusCode::RANGE_NOT_SATISFIABLE, problem.to_string()).into_response();
            }
            append(inner);
            let answer = json!({"offset": inner.log.len(), "truncated": inner.log_truncated});
            (StatusCode::OK, answer.to_string()).into_response()
        })
    }

    async fn answered(&self, headers: &HeaderMap, call: &'static str, body: &[u8], good: Value) -> Response {
        match self.heard(headers, call, body, None).await {
            Some(refused) => refused,
            None => (StatusCode::OK, good.to_string()).into_response(),
        }
    }

    /// Notes the call and plays its next fault, if there is one.
    async fn heard(
        &self,
        headers: &HeaderMap,
        call: &'static str,
        body: &[u8],
        effect: Option<&(dyn Fn(&mut Inner) + Sync)>,
    ) -> Option<Response> {
        if headers["authorization"] != format!("Bearer {TOKEN}") {
            return Some(StatusCode::UNAUTHORIZED.into_response());
        }
        let message: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let fault = self.with(|inner| {
            if call != "lease" {
                inner.heard.push(summary(call, &message));
            }
            inner.messages.push((call, message));
            inner.faults.get_mut(call).and_then(VecDeque::pop_front)
        })?;
        Some(match fault {
            Fault::Status(status) => StatusCode::from_u16(status).expect("a status").into_response(),
            Fault::LoseAnswer => {
                self.with(|inner| effect.into_iter().for_each(|effect| effect(inner)));
                StatusCode::BAD_GATEWAY.into_response()
            }
            Fault::Hang => std::future::pending().await,
            Fault::Stale(reason) => {
                let stale = json!({"type": "StaleLease", "lease_id": "l", "reason": reason});
                (StatusCode::CONFLICT, stale.to_string()).into_response()
            }
            Fault::NotAcknowledged => {
                let problem = json!({"code": "lease_not_acknowledged", "detail": ""});
                (StatusCode::CONFLICT, problem.to_string()).into_response()
            }
            Fault::Cancel => {
                let answer = json!({
                    "type": "HeartbeatAck", "lease_id": "l", "extend_lease": true, "new_lease_ttl_seconds": 60,
                    "cancel_requested": true, "cancel_deadline_seconds": 30,
                });
                (StatusCode::OK, answer.to_string()).into_response()
            }
            Fault::NotAccepted => {
                let answer = json!({
                    "type": "CompleteAck", "lease_id": "l", "accepted": false, "reason": "CANCEL_REQUESTED",
                });
                (StatusCode::OK, answer.to_string()).into_response()
            }
        })
    }
}

fn summary(call: &str, message: &Value) -> String {
    match call {
        "complete" => {
            format!("complete {} {}", message["status"].as_str().unwrap_or("?"), message["exit_code"])
        }
        other => other.into(),
    }
}
