//! The runner protocol's messages (seed 002), field by field, and the answers the contract adds.
//!
//! Seconds may be fractional. Each message carries its `type`, checked on the way in.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::ids::{RunnerId, TenantId};
use crate::object::{maybe_object, objects};
use crate::schema::Label;
use crate::secret::{CancelToken, LeaseId};
use crate::time::Time;
use crate::whole::{count, maybe_whole, whole};

/// A unit type that is written as its message's name and refuses any other.
macro_rules! message_type {
    ($($name:ident),+ $(,)?) => {
        /// The `type` field of each message.
        pub mod tag {
            use super::*;
            $(
                #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
                pub struct $name;

                impl Serialize for $name {
                    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                        serializer.serialize_str(stringify!($name))
                    }
                }

                impl<'de> Deserialize<'de> for $name {
                    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                        let text = String::deserialize(deserializer)?;
                        if text == stringify!($name) {
                            return Ok($name);
                        }
                        Err(serde::de::Error::custom(concat!("expected \"", stringify!($name), "\"")))
                    }
                }

                impl utoipa::PartialSchema for $name {
                    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                        crate::schema::constant(stringify!($name))
                    }
                }

                impl ToSchema for $name {
                    fn name() -> std::borrow::Cow<'static, str> {
                        concat!(stringify!($name), "Type").into()
                    }
                }
            )+
        }
    };
}

message_type!(
    LeaseGranted,
    AckLease,
    AckLeaseAck,
    Heartbeat,
    HeartbeatAck,
    Commit,
    CommitAck,
    Complete,
    CompleteAck,
    CancelRequested,
    CancelAck,
    CancelAckAck,
    StaleLease,
);

/// A number that is zero or more and finite, such as seconds; written without a fraction when it is whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Decimal(f64);

impl Decimal {
    pub fn from_duration(duration: Duration) -> Decimal {
        Decimal(duration.as_micros() as f64 / 1e6)
    }

    pub fn as_f64(self) -> f64 {
        self.0
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0 < 1e15 {
            return serializer.serialize_u64(self.0 as u64);
        }
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
        let number = f64::deserialize(deserializer)?;
        if number.is_finite() && number >= 0.0 {
            return Ok(Decimal(number));
        }
        Err(serde::de::Error::custom("expected a number that is zero or more"))
    }
}

/// Sent when a lease is granted: everything the runner needs to execute the job.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LeaseGranted {
    pub r#type: tag::LeaseGranted,
    /// The job's id, or for a standalone job the id its submitter gave it.
    pub job_id: String,
    /// `null` for a standalone job.
    pub run_id: Option<String>,
    /// Whose job it is: below its path the runner puts what the job made. Older servers leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
    pub lease_id: LeaseId,
    pub lease_ttl_seconds: Decimal,
    pub heartbeat_interval_seconds: Decimal,
    pub max_runtime_seconds: Decimal,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub job_spec: Option<Box<RawValue>>,
    /// In place of an embedded specification that would be too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_spec_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_token: Option<CancelToken>,
}

/// What a runner executes: the `job_spec` of a job that belongs to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobSpec {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    #[serde(default)]
    pub steps: Vec<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub artifacts: Vec<ArtifactSpec>,
    #[serde(default)]
    pub caches: Vec<CacheSpec>,
    /// What to check out before the first step; without it the job starts in an empty folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkout: Option<Checkout>,
    /// What becomes of the artifacts when the job succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<PublishSpec>,
    /// Whether the steps may use the network; left out, the runner's own setting decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
}

/// The most bytes of one part of a log.
pub const LOG_CHUNK_BYTES_MAX: usize = 256 * 1024;

/// The sources of a run, as its trigger named them. A commit goes before a ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Checkout {
    pub repository: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArtifactSpec {
    pub r#type: String,
    pub path_glob: String,
}

/// A version of a package that the job's commit publishes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PublishSpec {
    pub package: String,
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CacheSpec {
    pub r#type: String,
    pub key: String,
    /// When nothing has the key, the newest whose key begins so will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    pub paths: Vec<String>,
}

/// The runner accepts the lease and starts to prepare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AckLease {
    pub r#type: tag::AckLease,
    pub job_id: String,
    pub lease_id: LeaseId,
    pub runner_id: RunnerId,
    pub accepted_at: Time,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AckLeaseAck {
    pub r#type: tag::AckLeaseAck,
    pub lease_id: LeaseId,
    pub lease_ttl_seconds: Decimal,
}

/// The runner lives and reports progress; the lease is extended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Heartbeat {
    pub r#type: tag::Heartbeat,
    pub lease_id: LeaseId,
    pub runner_id: RunnerId,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_object")]
    pub progress: Option<Progress>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_object")]
    pub log_cursor: Option<LogCursor>,
    pub ts: Time,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<Decimal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_step: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_whole")]
    #[schema(format = Int64, maximum = 4_294_967_295u32)]
    pub step_index: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
}

/// What the runner is doing with the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Running,
    Uploading,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogCursor {
    #[serde(deserialize_with = "count")]
    pub bytes_sent: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatAck {
    pub r#type: tag::HeartbeatAck,
    pub lease_id: LeaseId,
    pub extend_lease: bool,
    pub new_lease_ttl_seconds: Decimal,
    pub cancel_requested: bool,
    pub cancel_deadline_seconds: Decimal,
}

/// The runner asks for its effects to be applied, before it completes (seed 001's commit boundary).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Commit {
    pub r#type: tag::Commit,
    pub lease_id: LeaseId,
    pub runner_id: RunnerId,
    #[serde(default, deserialize_with = "objects")]
    pub effects: Vec<Effect>,
}

/// Something that shall happen once, when the execution commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Effect {
    /// Tell somebody, through the outbox.
    Webhook { url: String, body: serde_json::Value },
    /// Keep a value with the job.
    Result { value: serde_json::Value },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CommitAck {
    pub r#type: tag::CommitAck,
    pub committed: bool,
    /// Another execution of the job had committed before; this one changed nothing.
    pub duplicate: bool,
}

/// The runner's final word on the execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Complete {
    pub r#type: tag::Complete,
    pub lease_id: LeaseId,
    pub runner_id: RunnerId,
    pub status: CompleteStatus,
    #[serde(deserialize_with = "whole")]
    pub exit_code: i32,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_object")]
    pub timings: Option<Timings>,
    #[serde(default, deserialize_with = "objects")]
    pub artifacts: Vec<ArtifactRef>,
    /// What is to be found by later jobs; only a success saves.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "objects")]
    pub caches: Vec<CacheRef>,
    #[serde(default)]
    pub summary: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum CompleteStatus {
    Succeeded,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Timings {
    pub started_at: Time,
    pub finished_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArtifactRef {
    pub r#type: String,
    /// `blob:` and a digest for what was uploaded to us; anything else is kept as it is and never followed.
    pub uri: String,
    /// Where it was in the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A cache that was uploaded. The first to save a key wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CacheRef {
    pub key: String,
    /// `blob:` and a digest.
    pub uri: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CompleteAck {
    pub r#type: tag::CompleteAck,
    pub lease_id: LeaseId,
    pub accepted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CompleteRefused>,
}

/// Why a completion was taken note of but not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CompleteRefused {
    CancelRequested,
}

/// The orchestrator asks the runner to stop; pushed, or told in a `HeartbeatAck`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CancelRequested {
    pub r#type: tag::CancelRequested,
    pub lease_id: LeaseId,
    pub job_id: String,
    pub reason: String,
    pub deadline_seconds: Decimal,
    pub ts: Time,
}

/// The runner has stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CancelAck {
    pub r#type: tag::CancelAck,
    pub lease_id: LeaseId,
    pub runner_id: RunnerId,
    pub final_status: CanceledStatus,
    pub ts: Time,
    #[serde(default, deserialize_with = "objects")]
    pub artifacts: Vec<ArtifactRef>,
    #[serde(default)]
    pub summary: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum CanceledStatus {
    Canceled,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CancelAckAck {
    pub r#type: tag::CancelAckAck,
    pub lease_id: LeaseId,
    pub accepted: bool,
}

/// The lease no longer speaks for the attempt: stop, clean up, never complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StaleLease {
    pub r#type: tag::StaleLease,
    pub lease_id: LeaseId,
    pub reason: StaleReason,
    #[serde(default)]
    pub extend_lease: bool,
    #[serde(default = "yes")]
    pub stale: bool,
    #[serde(default)]
    pub accepted: bool,
}

/// The specification's own `StaleLease` leaves the field out.
fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StaleReason {
    LeaseExpired,
    LeaseRevoked,
    LeaseCompleted,
    LeaseCanceled,
    LeaseUnknown,
}

/// A runner asks for work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LeaseRequest {
    pub runner_id: RunnerId,
    #[serde(default)]
    #[schema(value_type = Vec<Label>, max_items = 64)]
    pub capabilities: Vec<String>,
    #[serde(default)]
    pub wait_seconds: Decimal,
    /// Lease this very job (transport A).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// Whose job, when a runner shared by all tenants names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
}
