//! Jobs as they are shown: attempts with their executions, effects, artifacts. Never a lease id or its hash.

use std::collections::BTreeSet;

use decisions::doctor::JobFile;
use decisions::records::{Artifact, Attempt, Bundle, EffectRow, Execution};
use machines::Machine;
use serde_json::Value;
use store::{Store, StoreError};
use wire::api::{AppliedEffect, ArtifactView, AttemptView, EffectClass, ExecutionView, JobView, LogInfo};
use wire::runner::{ArtifactRef, Decimal};

use crate::artifacts::stored::SCHEME;

pub async fn whole<S: Store>(store: &S, file: JobFile) -> Result<JobView, StoreError> {
    let JobFile { job, attempts, executions, effects, .. } = file;
    let bundle = store.bundle_of(job.id).await?.filter(|bundle| is_shown(bundle, &executions));
    let tests = bundle.as_ref().and_then(|bundle| serde_json::from_str(bundle.tests.as_deref()?).ok());
    let stored = bundle.iter().flat_map(|bundle| bundle.artifacts.iter().map(stored_view)).collect();
    let said = executions.iter().rev().map(artifacts_of).find(|found| !found.is_empty());
    let artifacts = with_stored(said.unwrap_or_default(), stored);
    let mut attempts: Vec<AttemptView> = attempts.into_iter().map(attempt_view).collect();
    for execution in executions {
        let log = store.log(execution.id).await?;
        let log = log.map(|log| LogInfo { bytes: log.received, truncated: log.is_truncated() });
        let index = execution.attempt.index;
        if let Some(attempt) = attempts.iter_mut().find(|attempt| attempt.index == index) {
            attempt.executions.push(execution_view(execution, log.unwrap_or_default()));
        }
    }
    Ok(JobView {
        id: job.public_id(),
        uid: job.id,
        run_id: job.run,
        state: job.state.as_str().into(),
        required: job.required,
        priority: job.priority,
        effect: if job.effect_once { EffectClass::Once } else { EffectClass::Idempotent },
        max_attempts: job.attempts_max,
        timeout_seconds: Decimal::from_duration(job.timeout),
        needs_open: job.needs_open,
        created_at: job.created_at,
        updated_at: job.updated_at,
        name: job.name,
        attempts,
        effects: effects.into_iter().map(effect_view).collect(),
        artifacts,
        tests,
    })
}

/// What the tests of an attempt that failed told is not told of the success after it.
fn is_shown(bundle: &Bundle, executions: &[Execution]) -> bool {
    let committed = executions.iter().find(|execution| execution.status.get().has_committed());
    committed.is_none_or(|committed| committed.id == bundle.execution)
}

fn attempt_view(attempt: Attempt) -> AttemptView {
    AttemptView {
        index: attempt.key.index,
        state: attempt.state.get().as_str().into(),
        failure_class: attempt.failure_class.map(|class| class.as_str().into()),
        explanation: attempt.explanation,
        created_at: attempt.created_at,
        finished_at: attempt.finished_at,
        executions: Vec::new(),
    }
}

fn execution_view(execution: Execution, log: LogInfo) -> ExecutionView {
    ExecutionView {
        exec_id: execution.id,
        token: execution.token,
        status: execution.status.get().as_str().into(),
        lease_state: execution.lease.get().as_str().into(),
        runner_id: execution.runner.as_str().into(),
        granted_at: execution.granted_at,
        started_at: execution.started_at,
        finished_at: execution.finished_at,
        exit_code: execution.outcome.map(|outcome| outcome.exit_code),
        summary: execution.summary,
        log,
    }
}

fn artifacts_of(execution: &Execution) -> Vec<ArtifactRef> {
    serde_json::from_str(&execution.artifacts).unwrap_or_default() // empty until the runner sent any
}

/// What is in our own store comes first, as it is there; then what the runner referred to elsewhere.
fn with_stored(said: Vec<ArtifactRef>, mut stored: Vec<ArtifactView>) -> Vec<ArtifactView> {
    let known: BTreeSet<String> = stored.iter().map(|artifact| artifact.uri.clone()).collect();
    let others = said.into_iter().filter(|artifact| !known.contains(&artifact.uri));
    stored.extend(others.map(|ArtifactRef { r#type, uri, path }| ArtifactView {
        r#type,
        path,
        uri,
        digest: None,
        length: None,
    }));
    stored
}

fn stored_view(artifact: &Artifact) -> ArtifactView {
    ArtifactView {
        r#type: artifact.kind.clone(),
        path: Some(artifact.path.clone()),
        uri: format!("{SCHEME}{}", artifact.digest),
        digest: Some(artifact.digest),
        length: Some(artifact.length),
    }
}

fn effect_view(effect: EffectRow) -> AppliedEffect {
    AppliedEffect {
        exec_id: effect.execution,
        kind: effect.kind.into(),
        effect: serde_json::from_str(&effect.body).unwrap_or(Value::Null),
    }
}
