//! What a session wants said, as the protocol's messages. Only here do the words and the lease id come together.

use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use serde::Serialize;
use wire::runner::{
    AckLease, ArtifactRef, CacheRef, CancelAck, CanceledStatus, Complete, CompleteStatus, Decimal, Heartbeat,
    LeaseRequest, LogCursor, Progress, Timings, tag,
};
use wire::{LeaseId, RunnerId, Time};

use crate::client::{Client, LeaseAnswer, Lost, Reply, lease_answer};
use crate::clock::{Uptime, wall_time};
use crate::logs::Spooled;
use crate::session::{Beat, LOG_CHUNK_BYTES_MAX, Outcome, Request, Verdict};

const STEP_LETTERS_MAX: usize = 200;

/// In whose name an agent speaks.
#[derive(Clone)]
pub struct Speaker {
    pub client: Client,
    pub job_id: String,
    pub lease_id: LeaseId,
    pub runner_id: RunnerId,
}

/// Asks for work, waiting up to `wait` for it.
pub async fn lease(
    client: &Client,
    runner_id: &RunnerId,
    capabilities: &[String],
    wait: Duration,
    timeout: Duration,
) -> LeaseAnswer {
    let request = LeaseRequest {
        runner_id: runner_id.clone(),
        capabilities: capabilities.to_vec(),
        wait_seconds: Decimal::from_duration(wait),
        job_id: None,
        tenant_id: None,
    };
    match client.post_json("/v1/runner/lease", json(&request), timeout).await {
        Ok(reply) => lease_answer(&reply),
        Err(Lost { problem, .. }) => LeaseAnswer::Trouble(problem),
    }
}

impl Speaker {
    /// `step` is what runs, and `log` where the log is kept.
    pub async fn say(
        &self,
        request: Request,
        step: Option<String>,
        log: Option<Spooled>,
        timeout: Duration,
    ) -> Result<Reply, Lost> {
        match request {
            Request::Ack => self.ack(timeout).await,
            Request::Heartbeat(beat) => self.heartbeat(beat, step, timeout).await,
            Request::Log { offset } => {
                let read = log.map(|log| log.read(offset, LOG_CHUNK_BYTES_MAX)).transpose();
                let bytes = read.map_err(|error| Lost::unsent(format!("the log cannot be read: {error}")))?;
                self.log(offset, bytes.unwrap_or_default(), timeout).await
            }
            Request::Complete { verdict, artifacts, caches, started_at, finished_at } => {
                let leaves = (artifacts.to_vec(), caches.to_vec());
                self.complete(verdict, leaves, (started_at, finished_at), timeout).await
            }
            Request::CancelAck { summary } => self.cancel_ack(summary, timeout).await,
        }
    }

    async fn ack(&self, timeout: Duration) -> Result<Reply, Lost> {
        let message = AckLease {
            r#type: tag::AckLease,
            job_id: self.job_id.clone(),
            lease_id: self.lease_id.clone(),
            runner_id: self.runner_id.clone(),
            accepted_at: wall_time(),
        };
        self.client.post_json("/v1/runner/ack", json(&message), timeout).await
    }

    async fn heartbeat(&self, beat: Beat, step: Option<String>, timeout: Duration) -> Result<Reply, Lost> {
        let progress = Progress {
            percent: None,
            current_step: step.map(|step| step.chars().take(STEP_LETTERS_MAX).collect()),
            step_index: beat.step,
            message: None,
            phase: Some(beat.phase),
        };
        let message = Heartbeat {
            r#type: tag::Heartbeat,
            lease_id: self.lease_id.clone(),
            runner_id: self.runner_id.clone(),
            progress: Some(progress),
            log_cursor: Some(LogCursor { bytes_sent: beat.bytes_sent }),
            ts: wall_time(),
        };
        self.client.post_json("/v1/runner/heartbeat", json(&message), timeout).await
    }

    async fn log(&self, offset: u64, bytes: Vec<u8>, timeout: Duration) -> Result<Reply, Lost> {
        let mut lease = HeaderValue::from_str(self.lease_id.expose())
            .map_err(|_| Lost::unsent("the lease id cannot be a header".into()))?;
        lease.set_sensitive(true);
        let headers = [
            (HeaderName::from_static("delta-lease"), lease),
            (HeaderName::from_static("delta-offset"), HeaderValue::from(offset)),
        ];
        self.client.post("/v1/runner/logs", &headers, bytes, timeout).await
    }

    async fn complete(
        &self,
        verdict: Verdict,
        (artifacts, caches): (Vec<ArtifactRef>, Vec<CacheRef>),
        span: (Uptime, Uptime),
        timeout: Duration,
    ) -> Result<Reply, Lost> {
        let status = match verdict.outcome {
            Outcome::Succeeded => CompleteStatus::Succeeded,
            Outcome::Failed | Outcome::TimedOut | Outcome::Infra => CompleteStatus::Failed,
        };
        let message = Complete {
            r#type: tag::Complete,
            lease_id: self.lease_id.clone(),
            runner_id: self.runner_id.clone(),
            status,
            exit_code: verdict.exit_code,
            timings: Some(Timings { started_at: on_the_wall(span.0), finished_at: on_the_wall(span.1) }),
            artifacts,
            caches,
            summary: verdict.summary,
        };
        self.client.post_json("/v1/runner/complete", json(&message), timeout).await
    }

    async fn cancel_ack(&self, summary: String, timeout: Duration) -> Result<Reply, Lost> {
        let message = CancelAck {
            r#type: tag::CancelAck,
            lease_id: self.lease_id.clone(),
            runner_id: self.runner_id.clone(),
            final_status: CanceledStatus::Canceled,
            ts: wall_time(),
            artifacts: Vec::new(),
            summary,
        };
        self.client.post_json("/v1/runner/cancel-ack", json(&message), timeout).await
    }
}

/// When a moment that has passed was, by the wall clock.
fn on_the_wall(moment: Uptime) -> Time {
    let ago = moment.until(Uptime::now());
    Time::from_micros(wall_time().as_micros() - ago.as_micros() as i64)
}

fn json<T: Serialize>(message: &T) -> Vec<u8> {
    serde_json::to_vec(message).expect("a message of ours is always JSON")
}
