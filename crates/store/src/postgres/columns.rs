//! What the records look like in their tables: for each column its type and value, and the record read back in the same
//! order.

use std::sync::LazyLock;

use decisions::failures::FailureClass;
use decisions::records::{
    Attempt, Delivery, Execution, Group, Job, Log, Outcome, Queue, Run, Runner, RunnerKey, Sweep, Tenant,
    Token, Webhook, WebhookKey,
};
use machines::Machine;
use wire::runner::CompleteStatus;

use crate::StoreError;
use crate::postgres::round::Param;
use crate::postgres::rows::{Cells, complete_status, count, id, long, moment, read_scope, scope};
use crate::postgres::tables::{Column, Kind, Sql, Table, table};

table!(Tenant, "tenants", |it| {
    Key id: "text" = id(it.id);
    Fixed name: "text" = it.name.as_str();
    Moving state: "text" = it.state.get().as_str();
    Fixed created_at: "timestamptz" = moment(it.created_at);
    Moving updated_at: "timestamptz" = moment(it.updated_at);
    Moving status_message: "text" = it.status_message.as_str();
    Moving desired_config: "text" = it.desired_config.as_str();
    Moving revision: "bigint" = it.version;
} |cells| Ok(Tenant {
    id: cells.next()?,
    name: cells.next()?,
    state: cells.next()?,
    created_at: cells.next()?,
    updated_at: cells.next()?,
    status_message: cells.next()?,
    desired_config: cells.next()?,
    version: cells.next()?,
}));

table!(Token, "tokens", |it| {
    Key id: "text" = id(it.id);
    Fixed kind: "text" = it.kind.as_str();
    Fixed tenant_id: "text" = it.tenant.map(id);
    Fixed name: "text" = it.name.as_str();
    Fixed hash: "bytea" = it.hash.as_bytes().as_slice();
    Fixed created_at: "timestamptz" = moment(it.created_at);
    Moving revoked_at: "timestamptz" = it.revoked_at.map(moment);
} |cells| Ok(Token {
    id: cells.next()?,
    kind: cells.next()?,
    tenant: cells.next()?,
    name: cells.next()?,
    hash: cells.next()?,
    created_at: cells.next()?,
    revoked_at: cells.next()?,
}));

table!(Log, "logs", |it| {
    Key exec_id: "text" = id(it.execution);
    Moving received: "bigint" = long(it.received);
    Moving head: "bigint" = long(it.head);
    Moving tail_from: "bigint" = long(it.tail_from);
    Moving blob_id: "text" = it.blob.map(id);
} |cells| Ok(Log {
    execution: cells.next()?,
    received: cells.next()?,
    head: cells.next()?,
    tail_from: cells.next()?,
    blob: cells.next()?,
}));

table!(Webhook, "webhooks", |it| {
    Key tenant_id: "text" = id(it.key.tenant);
    Key name: "text" = it.key.name.as_str();
    Moving url: "text" = it.url.as_str();
    Moving events: "text" = json_list(&it.events);
    Moving secret: "text" = it.secret.expose();
    Moving ordered: "boolean" = it.ordered;
    Moving turns: "bigint" = it.turns;
    Moving removed: "boolean" = it.removed;
} |cells| Ok(Webhook {
    key: WebhookKey { tenant: cells.next()?, name: cells.next()? },
    url: cells.next()?,
    events: cells.next()?,
    secret: cells.next::<String>()?.into(),
    ordered: cells.next()?,
    turns: cells.next()?,
    removed: cells.next()?,
}));

table!(Queue, "queues", |it| {
    Key id: "bigint" = it.id.0;
    Fixed tenant_id: "text" = id(it.tenant);
    Fixed requires: "text" = json_list(&it.requires);
} |cells| Ok(Queue {
    id: cells.next()?,
    tenant: cells.next()?,
    requires: cells.next()?,
}));

table!(Runner, "runners", |it| {
    Key tenant_id: "text" = scope(it.key.tenant);
    Key id: "text" = it.key.id.as_str();
    Moving acks_missed: "integer" = count(it.acks_missed);
    Moving barred_until: "timestamptz" = it.barred_until.map(moment);
    Moving last_seen_at: "timestamptz" = moment(it.last_seen_at);
    Moving capabilities: "text" = json_list(&it.capabilities);
} |cells| Ok(Runner {
    key: RunnerKey { tenant: read_scope(cells)?, id: cells.next()? },
    acks_missed: cells.next()?,
    barred_until: cells.next()?,
    last_seen_at: cells.next()?,
    capabilities: cells.next()?,
}));

table!(Run, "runs", |it| {
    Key id: "text" = id(it.id);
    Fixed tenant_id: "text" = id(it.tenant);
    Moving state: "text" = it.state.get().as_str();
    Moving outcome: "text" = it.outcome.map(Machine::as_str);
    Moving status_message: "text" = it.status_message.as_str();
    Fixed attempt: "integer" = count(it.attempt);
    Fixed rerun_of: "text" = it.rerun_of.map(id);
    Fixed trigger_key: "text" = it.trigger_key.as_deref();
    Fixed repository: "text" = it.repository.as_deref();
    Fixed git_ref: "text" = it.git_ref.as_deref();
    Fixed commit_id: "text" = it.commit.as_deref();
    Fixed base: "text" = it.base.as_deref();
    Moving fail_fast: "boolean" = it.fail_fast;
    Fixed trust: "text" = it.trust.as_str();
    Moving group_name: "text" = it.group.as_deref();
    Moving group_id: "bytea" = it.group_id().map(|id| id.0.to_vec());
    Moving supersede: "boolean" = it.supersede;
    Moving jobs_total: "integer" = count(it.jobs_total);
    Moving jobs_open: "integer" = count(it.jobs_open);
    Moving required_failed: "integer" = count(it.required_failed);
    Moving reports_open: "integer" = count(it.reports_open);
    Moving sweep: "text" = it.sweep.map(Sweep::as_str);
    Moving swept_to: "text" = it.swept_to.map(id);
    Moving due_at: "timestamptz" = it.due_at.map(moment);
    Fixed created_at: "timestamptz" = moment(it.created_at);
    Moving updated_at: "timestamptz" = moment(it.updated_at);
    Moving finished_at: "timestamptz" = it.finished_at.map(moment);
} |cells| Ok(Run {
    id: cells.next()?,
    tenant: cells.next()?,
    state: cells.next()?,
    outcome: cells.next()?,
    status_message: cells.next()?,
    attempt: cells.next()?,
    rerun_of: cells.next()?,
    trigger_key: cells.next()?,
    repository: cells.next()?,
    git_ref: cells.next()?,
    commit: cells.next()?,
    base: cells.next()?,
    fail_fast: cells.next()?,
    trust: cells.next()?,
    group: read_group(cells)?,
    supersede: cells.next()?,
    jobs_total: cells.next()?,
    jobs_open: cells.next()?,
    required_failed: cells.next()?,
    reports_open: cells.next()?,
    sweep: cells.next()?,
    swept_to: cells.next()?,
    due_at: cells.next()?,
    created_at: cells.next()?,
    updated_at: cells.next()?,
    finished_at: cells.next()?,
}));

table!(Job, "jobs", |it| {
    Key id: "text" = id(it.id);
    Fixed tenant_id: "text" = id(it.tenant);
    Fixed run_id: "text" = it.run.map(id);
    Fixed name: "text" = it.name.as_str();
    Fixed job_key: "text" = it.key.as_deref();
    Moving state: "text" = it.state.as_str();
    Fixed required: "boolean" = it.required;
    Fixed effect_once: "boolean" = it.effect_once;
    Fixed priority: "integer" = it.priority;
    Fixed queue_id: "bigint" = it.queue.0;
    Moving attempts: "integer" = count(it.attempts);
    Moving attempts_max: "integer" = count(it.attempts_max);
    Fixed retry_on: "text" = it.retry_on.to_text();
    Fixed timeout_micros: "bigint" = i64::try_from(it.timeout.as_micros()).unwrap_or(i64::MAX);
    Moving tokens: "integer" = count(it.tokens);
    Moving needs_open: "integer" = count(it.needs_open);
    Fixed has_dependents: "boolean" = it.has_dependents;
    Moving counted_failed: "boolean" = it.counted_failed;
    Moving releasing: "boolean" = it.releasing;
    Moving released_to: "text" = it.released_to.map(id);
    Fixed spec_digest: "bytea" = it.spec_digest.as_slice();
    Fixed input_key: "bytea" = it.input_key.map(|key| key.as_bytes().to_vec());
    Moving reusable: "boolean" = it.reusable;
    Moving free_at: "timestamptz" = it.free_at.map(moment);
    Fixed created_at: "timestamptz" = moment(it.created_at);
    Moving updated_at: "timestamptz" = moment(it.updated_at);
} |cells| Ok(Job {
    id: cells.next()?,
    tenant: cells.next()?,
    run: cells.next()?,
    name: cells.next()?,
    key: cells.next()?,
    state: cells.next()?,
    required: cells.next()?,
    effect_once: cells.next()?,
    priority: cells.next()?,
    queue: cells.next()?,
    attempts: cells.next()?,
    attempts_max: cells.next()?,
    retry_on: cells.next()?,
    timeout: cells.next()?,
    tokens: cells.next()?,
    needs_open: cells.next()?,
    has_dependents: cells.next()?,
    counted_failed: cells.next()?,
    releasing: cells.next()?,
    released_to: cells.next()?,
    spec_digest: cells.next()?,
    input_key: cells.next()?,
    reusable: cells.next()?,
    free_at: cells.next()?,
    created_at: cells.next()?,
    updated_at: cells.next()?,
}));

table!(Attempt, "attempts", |it| {
    Key job_id: "text" = id(it.key.job);
    Key attempt: "integer" = count(it.key.index);
    Moving state: "text" = it.state.get().as_str();
    Fixed queue_id: "bigint" = it.queue.0;
    Fixed priority: "integer" = it.priority;
    Fixed since: "timestamptz" = moment(it.since);
    Moving lost_leases: "integer" = count(it.lost_leases);
    Moving exec_id: "text" = it.execution.map(id);
    Moving failure_class: "text" = it.failure_class.map(FailureClass::as_str);
    Moving explanation: "text" = it.explanation.as_str();
    Fixed created_at: "timestamptz" = moment(it.created_at);
    Moving updated_at: "timestamptz" = moment(it.updated_at);
    Moving finished_at: "timestamptz" = it.finished_at.map(moment);
} |cells| Ok(Attempt {
    key: cells.next()?,
    state: cells.next()?,
    queue: cells.next()?,
    priority: cells.next()?,
    since: cells.next()?,
    lost_leases: cells.next()?,
    execution: cells.next()?,
    failure_class: cells.next()?,
    explanation: cells.next()?,
    created_at: cells.next()?,
    updated_at: cells.next()?,
    finished_at: cells.next()?,
}));

table!(Execution, "executions", |it| {
    Key id: "text" = id(it.id);
    Fixed job_id: "text" = id(it.attempt.job);
    Fixed attempt: "integer" = count(it.attempt.index);
    Fixed run_id: "text" = it.run.map(id);
    Fixed token: "integer" = count(it.token);
    Fixed runner_id: "text" = it.runner.as_str();
    Fixed lease_hash: "bytea" = it.lease_hash.as_bytes().as_slice();
    Moving lease_state: "text" = it.lease.get().as_str();
    Moving status: "text" = it.status.get().as_str();
    Fixed granted_at: "timestamptz" = moment(it.granted_at);
    Moving expires_at: "timestamptz" = moment(it.expires_at);
    Moving timeout_at: "timestamptz" = it.timeout_at.map(moment);
    Moving cancel_by: "timestamptz" = it.cancel_by.map(moment);
    Moving due_at: "timestamptz" = it.due_at.map(moment);
    Moving started_at: "timestamptz" = it.started_at.map(moment);
    Moving finished_at: "timestamptz" = it.finished_at.map(moment);
    Moving commit_said: "boolean" = it.commit_said;
    Moving outcome: "text" = it.outcome.map(|outcome| complete_status(outcome.status));
    Moving exit_code: "integer" = it.outcome.map(|outcome| outcome.exit_code);
    Moving summary: "text" = it.summary.as_str();
    Moving artifacts: "text" = it.artifacts.as_str();
    Fixed runner_shared: "boolean" = it.runner_shared;
} |cells| Ok(Execution {
    id: cells.next()?,
    attempt: cells.next()?,
    run: cells.next()?,
    token: cells.next()?,
    runner: cells.next()?,
    lease_hash: cells.next()?,
    lease: cells.next()?,
    status: cells.next()?,
    granted_at: cells.next()?,
    expires_at: cells.next()?,
    timeout_at: cells.next()?,
    cancel_by: cells.next()?,
    due_at: cells.next()?,
    started_at: cells.next()?,
    finished_at: cells.next()?,
    commit_said: cells.next()?,
    outcome: read_outcome(cells)?,
    summary: cells.next()?,
    artifacts: cells.next()?,
    runner_shared: cells.next()?,
}));

table!(Delivery, "deliveries", |it| {
    Key id: "text" = id(it.id);
    Fixed tenant_id: "text" = id(it.tenant);
    Fixed lane: "text" = it.lane.as_str();
    Fixed turn: "bigint" = it.turn;
    Fixed event: "text" = it.event.as_str();
    Fixed subject: "text" = it.subject.as_str();
    Fixed url: "text" = it.url.as_str();
    Fixed body: "text" = it.body.as_str();
    Moving state: "text" = it.state.get().as_str();
    Moving tries: "integer" = count(it.tries);
    Moving claims: "integer" = count(it.claims);
    Moving due_at: "timestamptz" = it.due_at.map(moment);
    Moving reports: "text" = it.reports.map(id);
    Moving last_error: "text" = it.last_error.as_str();
    Fixed created_at: "timestamptz" = moment(it.created_at);
    Moving updated_at: "timestamptz" = moment(it.updated_at);
    Moving delivered_at: "timestamptz" = it.delivered_at.map(moment);
} |cells| Ok(Delivery {
    id: cells.next()?,
    tenant: cells.next()?,
    lane: cells.next()?,
    turn: cells.next()?,
    event: cells.next()?,
    subject: cells.next()?,
    url: cells.next()?,
    body: cells.next()?,
    state: cells.next()?,
    tries: cells.next()?,
    claims: cells.next()?,
    due_at: cells.next()?,
    reports: cells.next()?,
    last_error: cells.next()?,
    created_at: cells.next()?,
    updated_at: cells.next()?,
    delivered_at: cells.next()?,
}));

table!(Group, "run_groups", |it| {
    Key id: "bytea" = it.id.0.as_slice();
    Fixed tenant_id: "text" = id(it.tenant);
    Moving joined: "bigint" = long(it.joined);
    Moving newest: "text" = it.newest.map(id);
} |cells| Ok(Group {
    id: cells.next()?,
    tenant: cells.next()?,
    joined: cells.next()?,
    newest: cells.next()?,
}));

/// A name, and the id that is made from it and other columns.
fn read_group(cells: &mut Cells<'_>) -> Result<Option<String>, StoreError> {
    let name = cells.next()?;
    cells.skip(1);
    Ok(name)
}

/// Two cells that are both there or both null.
fn read_outcome(cells: &mut Cells<'_>) -> Result<Option<Outcome>, StoreError> {
    let status: Option<CompleteStatus> = cells.next()?;
    let exit_code: Option<i32> = cells.next()?;
    Ok(status.zip(exit_code).map(|(status, exit_code)| Outcome { status, exit_code }))
}

fn json_list(texts: &[String]) -> String {
    serde_json::to_string(texts).expect("a list of texts is JSON")
}
