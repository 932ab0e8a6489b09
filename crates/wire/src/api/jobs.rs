//! Jobs: a standalone one as it is submitted, and any job as it is shown.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::api::EffectClass;
use crate::digest::Digest;
use crate::ids::{ExecId, JobId, RunId};
use crate::runner::Decimal;
use crate::schema::{Label, Timeout};
use crate::time::Time;
use crate::whole::{maybe_whole, whole};

/// A job of its own: workers lease it with the runner protocol and get the payload as it came.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SubmitJob {
    /// The submitter's own id: the same id and payload again is the same job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[!-.0-~]{1,128}$")]
    pub job_id: Option<String>,
    #[schema(value_type = Value)]
    pub payload: Box<RawValue>,
    #[serde(default)]
    #[schema(value_type = Vec<Label>, max_items = 64)]
    pub runs_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_whole")]
    #[schema(minimum = 1, maximum = 100)]
    pub max_attempts: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Timeout>)]
    pub timeout_seconds: Option<Decimal>,
    #[serde(default, deserialize_with = "whole")]
    pub priority: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectClass>,
}

/// The answer to a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Submitted {
    /// As in [`JobView`].
    pub id: String,
    pub uid: JobId,
    pub run_id: Option<RunId>,
    pub name: String,
    pub state: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// How runners and users name the job: the id its submitter chose, or ours.
    pub id: String,
    /// Our own id, whatever the submitter chose.
    pub uid: JobId,
    pub run_id: Option<RunId>,
    pub name: String,
    pub state: String,
    pub required: bool,
    pub priority: i32,
    pub effect: EffectClass,
    pub max_attempts: u32,
    pub timeout_seconds: Decimal,
    /// Needed jobs that have not succeeded yet.
    pub needs_open: u32,
    pub created_at: Time,
    pub updated_at: Time,
    pub attempts: Vec<AttemptView>,
    pub effects: Vec<AppliedEffect>,
    /// Those that the execution that committed the job made visible; before that, as the runner of the latest execution
    /// that sent any referred to them.
    pub artifacts: Vec<ArtifactView>,
    /// What the JUnit files among them tell of.
    #[schema(value_type = Option<Object>)]
    pub tests: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArtifactView {
    pub r#type: String,
    /// Where it was in the workspace.
    pub path: Option<String>,
    /// `blob:` and a digest for what is in our own store.
    pub uri: String,
    /// Set for what is in our own store.
    pub digest: Option<Digest>,
    pub length: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttemptView {
    pub index: u32,
    pub state: String,
    pub failure_class: Option<String>,
    /// Why it ended as it did, or what it waits for, for a person.
    pub explanation: String,
    pub created_at: Time,
    pub finished_at: Option<Time>,
    pub executions: Vec<ExecutionView>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionView {
    pub exec_id: ExecId,
    /// The fencing token: it rises with every lease of the job.
    pub token: u32,
    pub status: String,
    pub lease_state: String,
    pub runner_id: String,
    pub granted_at: Time,
    pub started_at: Option<Time>,
    pub finished_at: Option<Time>,
    pub exit_code: Option<i32>,
    pub summary: String,
    pub log: LogInfo,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogInfo {
    /// Received, kept or not.
    pub bytes: u64,
    /// The middle is not kept.
    pub truncated: bool,
}

/// An effect that was applied when its execution committed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AppliedEffect {
    pub exec_id: ExecId,
    pub kind: String,
    /// As the runner sent it.
    #[schema(value_type = Value)]
    pub effect: Value,
}

/// The cancel is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelTaken {
    pub id: String,
    pub state: String,
    /// Nothing was left to stop.
    pub over: bool,
}

/// One more attempt was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RetryTaken {
    pub id: String,
    pub state: String,
    pub attempt: u32,
}
