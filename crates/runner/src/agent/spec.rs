//! A lease's `job_spec` as an order for a keeper, or the reason why this runner cannot execute it.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use wire::decode;
use wire::runner::{ArtifactSpec, CacheSpec, LeaseGranted};

use crate::agent::settings::{Ground, Settings};
use crate::client::seconds;
use crate::clock::Uptime;
use crate::keeper::{Checkout, Order};
use crate::session::Verdict;

/// Between SIGTERM and SIGKILL when a job runs out of time; the orchestrator waits 30 s longer than the job may run.
const TIMEOUT_GRACE: Duration = Duration::from_secs(10);

/// The part of a specification that this runner looks at.
#[derive(Debug, Deserialize)]
struct Spec {
    #[serde(default)]
    workdir: Option<String>,
    #[serde(default)]
    image: Option<String>,
    #[serde(default)]
    steps: Option<Vec<String>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    checkout: Option<Checkout>,
    #[serde(default)]
    artifacts: Vec<ArtifactSpec>,
    #[serde(default)]
    caches: Vec<CacheSpec>,
    #[serde(default)]
    network: Option<bool>,
    /// Of a standalone job.
    #[serde(default)]
    payload: Option<Box<RawValue>>,
}

/// What a lease asks for. Which artifacts are kept, and under which keys caches are found, is none of the keeper's
/// business.
#[derive(Debug)]
pub struct Task {
    pub order: Order,
    pub artifacts: Vec<ArtifactSpec>,
    pub caches: Vec<CacheSpec>,
}

/// Everything but the folders and the lease's deadline, which come later.
pub fn task(granted: &LeaseGranted, settings: &Settings) -> Result<Task, Verdict> {
    let refuse = |problem: &str| Verdict::not_executable(problem);
    let Some(text) = granted.job_spec.as_deref() else {
        return Err(refuse(
            "this runner needs the job's specification in its lease; it follows no job_spec_ref",
        ));
    };
    let spec = executable(text).map_err(|problem| refuse(&problem))?;
    let workdir = spec.workdir.unwrap_or_else(|| ".".into());
    if !is_inside(&workdir) {
        return Err(refuse("the job's workdir must be a relative path inside its workspace"));
    }
    let (checkout, copy) = match &settings.ground {
        Ground::Fresh => (spec.checkout, None),
        Ground::CopyOf(copy) => (None, Some(copy.clone())),
        Ground::InPlace(_) => (None, None),
    };
    let order = Order {
        job: granted.job_id.clone(),
        execution: granted.lease_id.key().execution.to_string(),
        workspace: PathBuf::new(),
        scratch: PathBuf::new(),
        checkout,
        copy,
        steps: spec.steps.unwrap_or_default(),
        env: spec.env,
        workdir,
        image: spec.image,
        executor: settings.executor,
        network: settings.network.allows(spec.network),
        limits: settings.limits,
        caches: Vec::new(),
        cache_bytes_max: settings.artifacts_bytes_max,
        max_runtime: seconds(granted.max_runtime_seconds),
        grace: TIMEOUT_GRACE,
        until: Uptime::from_start(Duration::ZERO),
    };
    Ok(Task { order, artifacts: spec.artifacts, caches: spec.caches })
}

/// A standalone job's payload is a specification too, when it has steps.
fn executable(text: &RawValue) -> Result<Spec, String> {
    let read = |text: &RawValue| decode::<Spec>(text.get().as_bytes());
    let spec = read(text).map_err(|problem| format!("the job's specification cannot be read: {problem}"))?;
    if spec.steps.is_some() {
        return Ok(spec);
    }
    let inner = spec.payload.as_deref().and_then(|payload| read(payload).ok());
    inner.filter(|inner| inner.steps.is_some()).ok_or_else(|| {
        "this runner executes steps only, and the job has none; lease it with a worker that knows its payload, \
         or submit a payload with `steps`"
            .into()
    })
}

fn is_inside(workdir: &str) -> bool {
    Path::new(workdir).components().all(|part| match part {
        Component::Normal(_) | Component::CurDir => true,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::settings::Network;
    use crate::keeper::{Choice, Limits};

    fn read(spec: serde_json::Value) -> Result<Order, String> {
        let granted = json!({
            "type": "LeaseGranted", "job_id": "job_1", "run_id": null, "lease_id": "l", "lease_ttl_seconds": 120,
            "heartbeat_interval_seconds": 20, "max_runtime_seconds": 0.5, "job_spec": spec,
        });
        let granted: LeaseGranted = decode(granted.to_string().as_bytes()).expect("a lease");
        let settings = Settings {
            name: "a".into(),
            slots: 1,
            once: false,
            capabilities: vec![],
            executor: Choice::Auto,
            ground: Ground::Fresh,
            network: Network::Asked,
            work_dir: PathBuf::new(),
            limits: Limits::default(),
            artifacts_bytes_max: 1,
            tap: None,
        };
        task(&granted, &settings).map(|task| task.order).map_err(|verdict| verdict.summary)
    }

    #[test]
    fn a_specification_becomes_an_order() {
        let order = read(json!({
            "name": "n", "workdir": "sub/./dir", "steps": ["a", "b"], "env": {"X": "1"}, "network": true,
            "checkout": {"repository": "r", "commit": "c"}, "artifacts": [], "caches": [], "new": 1,
        }))
        .expect("an order");
        assert_eq!((order.steps.len(), order.workdir.as_str(), order.network), (2, "sub/./dir", true));
        assert_eq!(order.max_runtime, Duration::from_millis(500));
        let checkout = Checkout { repository: "r".into(), r#ref: None, commit: Some("c".into()) };
        assert_eq!(order.checkout, Some(checkout));
    }

    #[test]
    fn a_standalone_job_runs_when_its_payload_has_steps() {
        let order = read(json!({"name": "n", "payload": {"steps": ["true"]}})).expect("an order");
        assert_eq!(order.steps, ["true"]);
        for payload in [json!(1), json!(null), json!({"a": 1}), json!({"steps": 1})] {
            let problem = read(json!({"name": "n", "payload": payload})).expect_err("no steps");
            assert!(problem.contains("executes steps only"), "{problem}");
        }
    }

    #[test]
    fn what_cannot_be_executed_is_refused_with_the_reason() {
        for workdir in ["/etc", "..", "a/../../b"] {
            let problem = read(json!({"steps": [], "workdir": workdir})).expect_err("outside");
            assert!(problem.contains("inside its workspace"), "{problem}");
        }
        let problem = read(json!({"steps": [1]})).expect_err("no text");
        assert!(problem.contains("`steps[0]`"), "{problem}");
        assert!(read(json!(null)).expect_err("nothing").contains("job_spec"));
    }
}
