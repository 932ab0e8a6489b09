//! What a runner says under its lease: AckLease, Heartbeat, Commit, Complete, CancelAck. Each is one command; a repeat is
//! answered as the first time.

use axum::Json;
use axum::extract::State;
use decisions::caches::Saves;
use decisions::records::{Execution, Job};
use decisions::{Answer, Ask, leases};
use store::{Store, StoreError};
use wire::api::Problem as ProblemBody;
use wire::runner::{
    AckLease, AckLeaseAck, ArtifactRef, CancelAck, CancelAckAck, Commit, CommitAck, Complete, CompleteAck,
    CompleteRefused, CompleteStatus, Decimal, Heartbeat, HeartbeatAck, PublishSpec, StaleLease, tag,
};
use wire::{ExecId, JobId, Time};

use crate::api::caches::trust_of_job;
use crate::api::document::Routes;
use crate::api::guard::RunnerAccess;
use crate::api::input::Input;
use crate::api::problem::Problem;
use crate::api::runner::said::No;
use crate::api::state::Api;
use crate::api::vault::execution_of;
use crate::artifacts::saved::saved;
use crate::artifacts::stored::{self, Of, Said};

/// A reference for each of the ten thousand files that a job may leave.
const COMPLETE_BYTES_MAX: usize = 16 * 1024 * 1024;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes
        .add::<__path_ack, _, _>(ack::<S>)
        .add::<__path_heartbeat, _, _>(heartbeat::<S>)
        .add::<__path_commit, _, _>(commit::<S>)
        .add::<__path_complete, _, _>(complete::<S>)
        .add::<__path_cancel_ack, _, _>(cancel_ack::<S>)
}

/// Accept a lease
#[utoipa::path(post, path = "/v1/runner/ack", tag = "runner", security(("token" = [])),
    request_body = AckLease,
    responses(
        (status = 200, description = "The lease is active", body = AckLeaseAck),
        (status = 409, description = "The lease is stale", content(
            (StaleLease = "application/json"), (ProblemBody = "application/problem+json"))),
    ))]
async fn ack<S: Store>(
    State(api): State<Api<S>>,
    access: RunnerAccess,
    Input(said): Input<AckLease>,
) -> Result<Json<AckLeaseAck>, No> {
    let lease = access.lease(&api, &said.lease_id).await?;
    let command = leases::Ack { lease, runner: said.runner_id };
    let answer = api.engine.perform(command).await.map_err(No::to(&said.lease_id))?;
    let Answer::Acked { lease_ttl } = answer else { return Err(No::mistake()) };
    Ok(Json(AckLeaseAck {
        r#type: tag::AckLeaseAck,
        lease_id: said.lease_id,
        lease_ttl_seconds: Decimal::from_duration(lease_ttl),
    }))
}

/// Keep a lease alive
#[utoipa::path(post, path = "/v1/runner/heartbeat", tag = "runner", security(("token" = [])),
    request_body = Heartbeat,
    responses(
        (status = 200, description = "The lease is extended", body = HeartbeatAck),
        (status = 409, description = "The lease is stale, or was not acknowledged", content(
            (StaleLease = "application/json"), (ProblemBody = "application/problem+json"))),
    ))]
async fn heartbeat<S: Store>(
    State(api): State<Api<S>>,
    access: RunnerAccess,
    Input(said): Input<Heartbeat>,
) -> Result<Json<HeartbeatAck>, No> {
    let lease = access.lease(&api, &said.lease_id).await?;
    let phase = said.progress.and_then(|progress| progress.phase);
    let command = leases::Heartbeat { lease, runner: said.runner_id, phase };
    let answer = api.engine.perform(command).await.map_err(No::to(&said.lease_id))?;
    let Answer::Beaten { lease_ttl, cancel } = answer else { return Err(No::mistake()) };
    Ok(Json(HeartbeatAck {
        r#type: tag::HeartbeatAck,
        lease_id: said.lease_id,
        extend_lease: true,
        new_lease_ttl_seconds: Decimal::from_duration(lease_ttl),
        cancel_requested: cancel.is_some(),
        cancel_deadline_seconds: Decimal::from_duration(cancel.unwrap_or_default()),
    }))
}

/// Apply effects, once
#[utoipa::path(post, path = "/v1/runner/commit", tag = "runner", security(("token" = [])),
    request_body = Commit,
    responses(
        (status = 200, description = "The effects are applied", body = CommitAck),
        (status = 409, description = "The lease is stale or not acknowledged, or the job is being cancelled",
            content((StaleLease = "application/json"), (ProblemBody = "application/problem+json"))),
    ))]
async fn commit<S: Store>(
    State(api): State<Api<S>>,
    access: RunnerAccess,
    Input(said): Input<Commit>,
) -> Result<Json<CommitAck>, No> {
    let lease = access.lease(&api, &said.lease_id).await?;
    let command = leases::Commit { lease, runner: said.runner_id, effects: said.effects };
    let answer = api.engine.perform(command).await.map_err(No::to(&said.lease_id))?;
    let Answer::Committed { duplicate } = answer else { return Err(No::mistake()) };
    Ok(Json(CommitAck { r#type: tag::CommitAck, committed: true, duplicate }))
}

/// The final word on an execution
#[utoipa::path(post, path = "/v1/runner/complete", tag = "runner", security(("token" = [])),
    request_body = Complete,
    responses(
        (status = 200, description = "The lease has ended; `accepted` is false when a cancel had won",
            body = CompleteAck),
        (status = 409, description = "The lease is stale, or was not acknowledged", content(
            (StaleLease = "application/json"), (ProblemBody = "application/problem+json"))),
    ))]
async fn complete<S: Store>(
    State(api): State<Api<S>>,
    access: RunnerAccess,
    Input(said): Input<Complete, COMPLETE_BYTES_MAX>,
) -> Result<Json<CompleteAck>, No> {
    let lease = access.lease(&api, &said.lease_id).await?;
    let stored = stored(&api, lease.execution, &said).await?;
    let saves = saves(&api, lease.execution, &said).await?;
    let command = leases::Complete {
        lease,
        runner: said.runner_id,
        status: said.status,
        exit_code: said.exit_code,
        summary: said.summary,
        artifacts: as_json(&said.artifacts),
        stored,
        saves,
    };
    let answer = api.engine.perform(command).await.map_err(No::to(&said.lease_id))?;
    let Answer::Completed { accepted } = answer else { return Err(No::mistake()) };
    Ok(Json(CompleteAck {
        r#type: tag::CompleteAck,
        lease_id: said.lease_id,
        accepted,
        reason: (!accepted).then_some(CompleteRefused::CancelRequested),
    }))
}

/// What the last word brings into the store, if anything: gathered before the decision, judged before it is published.
async fn stored<S: Store>(
    api: &Api<S>,
    said_by: ExecId,
    said: &Complete,
) -> Result<Option<Box<leases::Stored>>, Problem> {
    let (store, now) = (api.engine.store(), api.engine.clock().now());
    let has_blobs = stored::has_blobs(&said.artifacts);
    let may_publish = api.vault.leased(said_by, now).is_none_or(|leased| leased.may_publish);
    let publishes = may_publish && said.status == CompleteStatus::Succeeded;
    if !has_blobs && !publishes {
        return Ok(None);
    }
    // A lease that never was is left to the decision, and so is one that has nothing to publish any more.
    let Some((job, execution)) = execution_of(store, said_by).await? else { return Ok(None) };
    if !may_succeed(store, &job, &execution).await? {
        return Ok(None);
    }
    let publish = if publishes { publish_of(store, job.id, now).await? } else { None };
    if !has_blobs && publish.is_none() {
        return Ok(None);
    }
    let said = Said { execution: said_by, status: said.status, artifacts: &said.artifacts };
    let stored = stored::stored(&api.artifacts, &api.engine, &said, Of { job, publish }).await?;
    Ok(Some(Box::new(stored)))
}

/// Neither ended nor cancelled, or the effect has happened. What is over or cancelled stays so: such a word changes nothing,
/// and must not wait for a policy that is away.
async fn may_succeed<S: Store>(store: &S, job: &Job, execution: &Execution) -> Result<bool, StoreError> {
    if !execution.lease.get().is_live() {
        return Ok(false);
    }
    if execution.status.get().has_committed() {
        return Ok(true);
    }
    let run = match job.run {
        Some(run) => store.run(run).await?,
        None => None,
    };
    Ok(execution.cancel_by.is_none() && !run.is_some_and(|run| run.is_stopping()))
}

/// What it leaves for later jobs, under the trust of its run.
async fn saves<S: Store>(
    api: &Api<S>,
    execution: ExecId,
    said: &Complete,
) -> Result<Option<Box<Saves>>, Problem> {
    if said.caches.is_empty() || said.status != CompleteStatus::Succeeded {
        return Ok(None);
    }
    let store = api.engine.store();
    let Some((job, _)) = execution_of(store, execution).await? else { return Ok(None) };
    let trust = trust_of_job(store, &job).await?;
    Ok(Some(Box::new(saved(&job, trust, &said.caches)?)))
}

/// The version that a job's specification names. A payload is its submitter's own affair.
async fn publish_of<S: Store>(store: &S, job: JobId, now: Time) -> Result<Option<PublishSpec>, Problem> {
    #[derive(serde::Deserialize)]
    struct Spec {
        publish: Option<PublishSpec>,
    }
    let loaded = store.load(&[Ask::Spec(job)], now).await?;
    let spec = loaded.book.specs.get(&job).and_then(|spec| serde_json::from_str::<Spec>(spec).ok());
    Ok(spec.and_then(|spec| spec.publish))
}

/// The job was stopped, as asked
#[utoipa::path(post, path = "/v1/runner/cancel-ack", tag = "runner", security(("token" = [])),
    request_body = CancelAck,
    responses(
        (status = 200, description = "The job is cancelled", body = CancelAckAck),
        (status = 409, description = "The lease is stale or not acknowledged, or nobody asked for a cancel",
            content((StaleLease = "application/json"), (ProblemBody = "application/problem+json"))),
    ))]
async fn cancel_ack<S: Store>(
    State(api): State<Api<S>>,
    access: RunnerAccess,
    Input(said): Input<CancelAck>,
) -> Result<Json<CancelAckAck>, No> {
    let lease = access.lease(&api, &said.lease_id).await?;
    let command = leases::CancelAck {
        lease,
        runner: said.runner_id,
        summary: said.summary,
        artifacts: as_json(&said.artifacts),
    };
    let answer = api.engine.perform(command).await.map_err(No::to(&said.lease_id))?;
    let Answer::CancelAcked = answer else { return Err(No::mistake()) };
    Ok(Json(CancelAckAck { r#type: tag::CancelAckAck, lease_id: said.lease_id, accepted: true }))
}

fn as_json(artifacts: &[ArtifactRef]) -> String {
    serde_json::to_string(artifacts).expect("references are plain data")
}
