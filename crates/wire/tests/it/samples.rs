//! Every message once, as in the runner protocol's own examples or, where it has none, in the contract's words.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use wire::runner::{
    AckLease, AckLeaseAck, CancelAck, CancelAckAck, CancelRequested, Commit, CommitAck, Complete,
    CompleteAck, Heartbeat, HeartbeatAck, JobSpec, LeaseGranted, LeaseRequest, StaleLease,
};
use wire::{BadMessage, decode};

/// One message as JSON, and what its type makes of such bytes.
pub struct Sample {
    pub name: &'static str,
    pub json: &'static str,
    /// Decodes, and says what is encoded again.
    pub reread: fn(&[u8]) -> Result<Value, BadMessage>,
    /// Decodes, and prints as for a log.
    pub shown: fn(&[u8]) -> String,
    /// Fields without which the message is refused.
    pub required: &'static [&'static str],
    /// Fields that may be left out.
    pub optional: &'static [&'static str],
}

impl Sample {
    pub fn value(&self) -> Value {
        serde_json::from_str(self.json).expect("a sample is JSON")
    }

    pub fn reread_value(&self, value: &Value) -> Result<Value, BadMessage> {
        (self.reread)(value.to_string().as_bytes())
    }
}

fn sample<T: DeserializeOwned + Serialize + Debug>(
    name: &'static str,
    json: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
) -> Sample {
    Sample { name, json, reread: reread::<T>, shown: shown::<T>, required, optional }
}

fn reread<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<Value, BadMessage> {
    let message: T = decode(bytes)?;
    Ok(serde_json::to_value(&message).expect("a message is JSON"))
}

fn shown<T: DeserializeOwned + Debug>(bytes: &[u8]) -> String {
    let message: T = decode(bytes).expect("a sample decodes");
    format!("{message:?} {message:#?}")
}

/// The specification's messages, with its own examples.
pub fn seed() -> Vec<Sample> {
    let mut samples = seed_from_orchestrator();
    samples.extend(seed_from_runner());
    samples
}

fn seed_from_orchestrator() -> Vec<Sample> {
    vec![
        sample::<LeaseGranted>(
            "LeaseGranted",
            include_str!("golden/lease_granted.json"),
            &[
                "type",
                "job_id",
                "lease_id",
                "lease_ttl_seconds",
                "heartbeat_interval_seconds",
                "max_runtime_seconds",
            ],
            &["run_id", "job_spec", "cancel_token"],
        ),
        sample::<HeartbeatAck>(
            "HeartbeatAck",
            include_str!("golden/heartbeat_ack.json"),
            &[
                "type",
                "lease_id",
                "extend_lease",
                "new_lease_ttl_seconds",
                "cancel_requested",
                "cancel_deadline_seconds",
            ],
            &[],
        ),
        sample::<CompleteAck>(
            "CompleteAck",
            include_str!("golden/complete_ack.json"),
            &["type", "lease_id", "accepted"],
            &[],
        ),
        sample::<CancelRequested>(
            "CancelRequested",
            include_str!("golden/cancel_requested.json"),
            &["type", "lease_id", "job_id", "reason", "deadline_seconds", "ts"],
            &[],
        ),
    ]
}

fn seed_from_runner() -> Vec<Sample> {
    vec![
        sample::<AckLease>(
            "AckLease",
            include_str!("golden/ack_lease.json"),
            &["type", "job_id", "lease_id", "runner_id", "accepted_at"],
            &[],
        ),
        sample::<Heartbeat>(
            "Heartbeat",
            include_str!("golden/heartbeat.json"),
            &["type", "lease_id", "runner_id", "log_cursor.bytes_sent", "ts"],
            &[
                "progress",
                "progress.percent",
                "progress.current_step",
                "progress.step_index",
                "progress.message",
                "log_cursor",
            ],
        ),
        sample::<Complete>(
            "Complete",
            include_str!("golden/complete.json"),
            &[
                "type",
                "lease_id",
                "runner_id",
                "status",
                "exit_code",
                "timings.started_at",
                "timings.finished_at",
                "artifacts[0].type",
                "artifacts[0].uri",
                "artifacts[1].type",
                "artifacts[1].uri",
            ],
            &["timings", "artifacts", "artifacts[0]", "artifacts[1]", "summary"],
        ),
        sample::<CancelAck>(
            "CancelAck",
            include_str!("golden/cancel_ack.json"),
            &["type", "lease_id", "runner_id", "final_status", "ts", "artifacts[0].type", "artifacts[0].uri"],
            &["artifacts", "artifacts[0]", "summary"],
        ),
    ]
}

/// Messages and forms that the contract adds.
pub fn contract() -> Vec<Sample> {
    vec![
        sample::<AckLeaseAck>(
            "AckLeaseAck",
            include_str!("golden/ack_lease_ack.json"),
            &["type", "lease_id", "lease_ttl_seconds"],
            &[],
        ),
        sample::<Commit>(
            "Commit",
            include_str!("golden/commit.json"),
            &[
                "type",
                "lease_id",
                "runner_id",
                "effects[0].kind",
                "effects[0].url",
                "effects[0].body",
                "effects[1].kind",
                "effects[1].value",
            ],
            &["effects", "effects[0]", "effects[1]"],
        ),
        sample::<CommitAck>(
            "CommitAck",
            include_str!("golden/commit_ack.json"),
            &["type", "committed", "duplicate"],
            &[],
        ),
        sample::<CompleteAck>(
            "CompleteAck, refused",
            include_str!("golden/complete_ack_refused.json"),
            &["type", "lease_id", "accepted"],
            &["reason"],
        ),
        sample::<CancelAckAck>(
            "CancelAckAck",
            include_str!("golden/cancel_ack_ack.json"),
            &["type", "lease_id", "accepted"],
            &[],
        ),
        sample::<StaleLease>(
            "StaleLease",
            include_str!("golden/stale_lease_answer.json"),
            &["type", "lease_id", "reason"],
            &["extend_lease", "stale", "accepted"],
        ),
        sample::<LeaseGranted>(
            "LeaseGranted of a standalone job",
            include_str!("golden/lease_granted_standalone.json"),
            &[
                "type",
                "job_id",
                "lease_id",
                "lease_ttl_seconds",
                "heartbeat_interval_seconds",
                "max_runtime_seconds",
            ],
            &["run_id", "job_spec"],
        ),
        sample::<LeaseRequest>(
            "LeaseRequest",
            include_str!("golden/lease_request.json"),
            &["runner_id"],
            &["capabilities", "capabilities[0]", "wait_seconds", "job_id", "tenant_id"],
        ),
    ]
}

pub fn all() -> Vec<Sample> {
    seed().into_iter().chain(contract()).collect()
}

/// The `job_spec` inside the specification's `LeaseGranted`. A runner reads less of it (`runner::agent::spec`).
pub fn job_spec() -> Sample {
    sample::<JobSpec>(
        "JobSpec",
        include_str!("golden/job_spec.json"),
        &[
            "name",
            "artifacts[0].type",
            "artifacts[0].path_glob",
            "caches[0].type",
            "caches[0].key",
            "caches[0].paths",
        ],
        &[
            "workdir",
            "image",
            "steps",
            "steps[0]",
            "env",
            "env.CI",
            "artifacts",
            "artifacts[0]",
            "caches",
            "caches[0]",
            "caches[0].paths[0]",
        ],
    )
}
