//! Runs: as they are triggered, and as they are shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{JobId, RunId};
use crate::object::{maybe_object, objects};
use crate::runner::{ArtifactSpec, CacheSpec, Decimal, PublishSpec};
use crate::schema::{Label, Timeout};
use crate::time::Time;
use crate::whole::{maybe_whole, whole};

/// Start a run. The same `trigger_key` again names the same run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct TriggerRun {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 512)]
    pub trigger_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048)]
    pub repository: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048)]
    pub r#ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048)]
    pub commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2048)]
    pub base: Option<String>,
    /// Whose code it is; `trusted` unless said otherwise. A trusted run uses nothing that an untrusted one left behind.
    #[serde(default)]
    pub trust: Trust,
    /// The first required failure stops the rest.
    #[serde(default)]
    pub fail_fast: bool,
    /// With a plan the planner is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_object")]
    pub plan: Option<Plan>,
}

/// Whose code a run executes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    #[default]
    Trusted,
    /// A stranger's, such as a pull request from a fork.
    Untrusted,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    #[serde(deserialize_with = "objects")]
    #[schema(max_items = 10000)]
    pub jobs: Vec<PlannedJob>,
}

/// A job of a plan.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct PlannedJob {
    /// Unique in the plan.
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    #[serde(default)]
    pub steps: Vec<String>,
    #[serde(default)]
    pub needs: Vec<String>,
    /// Its failure fails the run; true unless said otherwise.
    #[serde(default = "yes")]
    pub required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_whole")]
    #[schema(minimum = 1, maximum = 100)]
    pub max_attempts: Option<u32>,
    #[serde(default)]
    #[schema(value_type = Vec<Label>, max_items = 64)]
    pub runs_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Timeout>)]
    pub timeout_seconds: Option<Decimal>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    #[serde(default, deserialize_with = "objects")]
    pub artifacts: Vec<ArtifactSpec>,
    #[serde(default, deserialize_with = "objects")]
    pub caches: Vec<CacheSpec>,
    /// A version that the job's commit publishes, made of its artifacts.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_object")]
    pub publish: Option<PublishSpec>,
    /// Failure classes worth another attempt, such as `infra`, `timeout`, `flaky`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_on: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectClass>,
    #[serde(default, deserialize_with = "whole")]
    pub priority: i32,
    /// Whether the job may use the network; the runner's choice without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<bool>,
}

fn yes() -> bool {
    true
}

/// What a lost lease means for the job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EffectClass {
    /// It may be run again.
    #[default]
    Idempotent,
    /// A person must say so first.
    Once,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct CancelRun {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct RerunRun {
    /// Only what did not succeed.
    #[serde(default)]
    pub failed_only: bool,
}

/// A run without its jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunSummary {
    pub id: RunId,
    pub state: String,
    /// The state the run ended in, kept after `REPORTED`.
    pub outcome: Option<String>,
    /// Why it is where it is: the planner's error, the cancel's reason.
    pub status_message: String,
    /// 1, and one more for each rerun.
    pub attempt: u32,
    pub rerun_of: Option<RunId>,
    pub trigger_key: Option<String>,
    pub repository: Option<String>,
    pub r#ref: Option<String>,
    pub commit: Option<String>,
    pub base: Option<String>,
    pub trust: Trust,
    /// Its concurrency group, from its plan.
    pub group: Option<String>,
    pub fail_fast: bool,
    /// Jobs that run; the plan lists the others too.
    pub jobs_total: u32,
    /// Jobs that are not over.
    pub jobs_open: u32,
    pub created_at: Time,
    pub updated_at: Time,
    pub finished_at: Option<Time>,
}

/// A run with its plan and its jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunView {
    #[serde(flatten)]
    pub run: RunSummary,
    /// Null until the run has one.
    pub plan: Option<PlanView>,
    /// Those that run.
    pub jobs: Vec<JobSummary>,
}

/// Every job that was thought of, also those that do not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanView {
    /// The commit that the difference was taken against, if one was.
    pub base: Option<String>,
    pub source: PlanSource,
    pub jobs: Vec<PlannedJobView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlannedJobView {
    pub name: String,
    pub decision: Decision,
    pub reasons: Vec<Reason>,
    pub needs: Vec<String>,
    pub required: bool,
}

/// Where a plan's jobs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanSource {
    /// The plan came with the trigger.
    Given,
    /// The repository's pipeline file.
    File,
    /// Nobody wrote a file; the projects were found.
    Discovered,
}

/// What the planner decided about a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    #[default]
    Run,
    /// Nothing it depends on changed since the base.
    Skip,
    /// An earlier success had the same inputs; the reason names it.
    Reuse,
}

impl Decision {
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Run => "run",
            Decision::Skip => "skip",
            Decision::Reuse => "reuse",
        }
    }
}

/// Why the planner decided so: the rule and its words, and what it saw as data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reason {
    pub rule: String,
    pub detail: String,
    /// The first of the files that made the difference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The commit that the difference was taken against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The earlier run, and the job in it, whose success is reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
}

/// A job of a run, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobSummary {
    pub id: JobId,
    pub name: String,
    pub state: String,
    pub required: bool,
    pub needs: Vec<String>,
    /// Why it is in the plan.
    pub reasons: Vec<Reason>,
    /// Attempts made so far.
    pub attempts: u32,
    pub max_attempts: u32,
    pub created_at: Time,
    pub updated_at: Time,
}
