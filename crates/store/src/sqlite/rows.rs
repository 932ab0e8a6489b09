//! Rows to records: one function per table, all columns in the order of its `SELECT`.

use std::str::FromStr;
use std::time::Duration;

use decisions::draft::Stated;
use decisions::failures::{ClassSet, FailureClass};
use decisions::records::{
    Attempt, AttemptKey, Delivery, EffectRow, Event, Execution, Job, Outcome, Queue, QueueId, ReadyKey, Run,
    Runner, RunnerKey, Sweep, Tenant, Trust, Webhook, WebhookKey,
};
use machines::Machine;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Params, Row};
use wire::runner::CompleteStatus;
use wire::{Digest, ExecId, JobId, LeaseHash, MessageId, RunId, RunnerId, TenantId, Time};

use crate::log_groups::unpacked;

pub const TENANT: &str = "SELECT id, name, state, created_at, updated_at, status_message, \
     desired_config, revision FROM tenants";
pub const RUN: &str = "SELECT id, tenant_id, state, outcome, status_message, attempt, rerun_of, trigger_key, repository, \
     git_ref, commit_id, base, fail_fast, jobs_total, jobs_open, required_failed, reports_open, sweep, swept_to, due_at, \
     created_at, updated_at, finished_at, trust, group_name, supersede FROM runs";
pub const JOB: &str = "SELECT id, tenant_id, run_id, name, job_key, state, required, effect_once, priority, queue_id, \
     attempts, attempts_max, retry_on, timeout_micros, tokens, needs_open, has_dependents, counted_failed, releasing, \
     released_to, spec_digest, created_at, updated_at, input_key, reusable, free_at FROM jobs";
pub const ATTEMPT: &str = "SELECT job_id, attempt, state, queue_id, priority, since, lost_leases, exec_id, \
     failure_class, explanation, created_at, updated_at, finished_at FROM attempts";
pub const EXECUTION: &str = "SELECT id, job_id, attempt, run_id, token, runner_id, lease_hash, lease_state, status, \
     granted_at, expires_at, timeout_at, cancel_by, due_at, started_at, finished_at, outcome, exit_code, summary, \
     artifacts, runner_shared, commit_said FROM executions";
pub const DELIVERY: &str = "SELECT id, tenant_id, event, subject, url, body, state, tries, claims, due_at, reports, \
     last_error, created_at, updated_at, delivered_at, lane, turn FROM deliveries";
pub const WEBHOOK: &str =
    "SELECT tenant_id, name, url, events, secret, ordered, turns, removed FROM webhooks";
pub const RUNNER: &str =
    "SELECT tenant_id, id, acks_missed, barred_until, last_seen_at, capabilities FROM runners";
pub const READY: &str = "SELECT queue_id, rank, since, job_id, attempt FROM ready";
pub const EVENT_GROUP: &str = "SELECT seq, at, root, entries FROM event_groups";

/// The first row of a query, if there is one.
pub fn one<T, P: Params>(
    connection: &Connection,
    sql: &str,
    params: P,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    connection.prepare_cached(sql)?.query_row(params, read).optional()
}

/// All rows of a query.
pub fn all<T, P: Params>(
    connection: &Connection,
    sql: &str,
    params: P,
    read: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map(params, read)?.collect()
}

pub fn tenant(connection: &Connection, id: TenantId) -> rusqlite::Result<Option<Tenant>> {
    one(connection, &[TENANT, " WHERE id = ?1"].concat(), [id.text().as_str()], read_tenant)
}

pub fn run(connection: &Connection, id: RunId) -> rusqlite::Result<Option<Run>> {
    one(connection, &[RUN, " WHERE id = ?1"].concat(), [id.text().as_str()], read_run)
}

pub fn job(connection: &Connection, id: JobId) -> rusqlite::Result<Option<Job>> {
    one(connection, &[JOB, " WHERE id = ?1"].concat(), [id.text().as_str()], read_job)
}

pub fn attempt(connection: &Connection, key: AttemptKey) -> rusqlite::Result<Option<Attempt>> {
    let sql = [ATTEMPT, " WHERE job_id = ?1 AND attempt = ?2"].concat();
    one(connection, &sql, (key.job.text().as_str(), key.index), read_attempt)
}

pub fn execution(connection: &Connection, id: ExecId) -> rusqlite::Result<Option<Execution>> {
    one(connection, &[EXECUTION, " WHERE id = ?1"].concat(), [id.text().as_str()], read_execution)
}

pub fn runner(connection: &Connection, key: &RunnerKey) -> rusqlite::Result<Option<Runner>> {
    let sql = [RUNNER, " WHERE tenant_id = ?1 AND id = ?2"].concat();
    one(connection, &sql, (scope(key.tenant), key.id.as_str()), read_runner)
}

pub fn read_tenant(row: &Row<'_>) -> rusqlite::Result<Tenant> {
    Ok(Tenant {
        id: id(row, 0)?,
        name: row.get(1)?,
        state: state(row, 2)?,
        created_at: time(row, 3)?,
        updated_at: time(row, 4)?,
        status_message: row.get(5)?,
        desired_config: row.get(6)?,
        version: row.get(7)?,
    })
}

pub fn read_run(row: &Row<'_>) -> rusqlite::Result<Run> {
    Ok(Run {
        id: id(row, 0)?,
        tenant: id::<TenantId>(row, 1)?,
        state: state(row, 2)?,
        outcome: maybe_text(row, 3, machines::run::State::parse)?,
        status_message: row.get(4)?,
        attempt: row.get(5)?,
        rerun_of: maybe_id(row, 6)?,
        trigger_key: row.get(7)?,
        repository: row.get(8)?,
        git_ref: row.get(9)?,
        commit: row.get(10)?,
        base: row.get(11)?,
        fail_fast: row.get(12)?,
        jobs_total: row.get(13)?,
        jobs_open: row.get(14)?,
        required_failed: row.get(15)?,
        reports_open: row.get(16)?,
        sweep: maybe_text(row, 17, Sweep::parse)?,
        swept_to: maybe_id(row, 18)?,
        due_at: maybe_time(row, 19)?,
        created_at: time(row, 20)?,
        updated_at: time(row, 21)?,
        finished_at: maybe_time(row, 22)?,
        trust: text(row, 23, Trust::parse)?,
        group: row.get(24)?,
        supersede: row.get(25)?,
    })
}

pub fn read_job(row: &Row<'_>) -> rusqlite::Result<Job> {
    Ok(Job {
        id: id(row, 0)?,
        tenant: id(row, 1)?,
        run: maybe_id(row, 2)?,
        name: row.get(3)?,
        key: row.get(4)?,
        state: text(row, 5, machines::job::State::parse)?,
        required: row.get(6)?,
        effect_once: row.get(7)?,
        priority: row.get(8)?,
        queue: QueueId(row.get(9)?),
        attempts: row.get(10)?,
        attempts_max: row.get(11)?,
        retry_on: text(row, 12, ClassSet::parse)?,
        timeout: Duration::from_micros(row.get::<_, i64>(13)?.unsigned_abs()),
        tokens: row.get(14)?,
        needs_open: row.get(15)?,
        has_dependents: row.get(16)?,
        counted_failed: row.get(17)?,
        releasing: row.get(18)?,
        released_to: maybe_id(row, 19)?,
        spec_digest: row.get(20)?,
        created_at: time(row, 21)?,
        updated_at: time(row, 22)?,
        input_key: row.get::<_, Option<[u8; 32]>>(23)?.map(Digest::from_bytes),
        reusable: row.get(24)?,
        free_at: maybe_time(row, 25)?,
    })
}

pub fn read_attempt(row: &Row<'_>) -> rusqlite::Result<Attempt> {
    Ok(Attempt {
        key: AttemptKey { job: id(row, 0)?, index: row.get(1)? },
        state: state(row, 2)?,
        queue: QueueId(row.get(3)?),
        priority: row.get(4)?,
        since: time(row, 5)?,
        lost_leases: row.get(6)?,
        execution: maybe_id(row, 7)?,
        failure_class: maybe_text(row, 8, FailureClass::parse)?,
        explanation: row.get(9)?,
        created_at: time(row, 10)?,
        updated_at: time(row, 11)?,
        finished_at: maybe_time(row, 12)?,
    })
}

pub fn read_execution(row: &Row<'_>) -> rusqlite::Result<Execution> {
    let outcome = match maybe_text(row, 16, parse_complete_status)? {
        Some(status) => Some(Outcome { status, exit_code: row.get(17)? }),
        None => None,
    };
    Ok(Execution {
        id: id(row, 0)?,
        attempt: AttemptKey { job: id(row, 1)?, index: row.get(2)? },
        run: maybe_id(row, 3)?,
        token: row.get(4)?,
        runner: text(row, 5, RunnerId::parse)?,
        lease_hash: LeaseHash::from_bytes(row.get(6)?),
        lease: state(row, 7)?,
        status: state(row, 8)?,
        granted_at: time(row, 9)?,
        expires_at: time(row, 10)?,
        timeout_at: maybe_time(row, 11)?,
        cancel_by: maybe_time(row, 12)?,
        due_at: maybe_time(row, 13)?,
        started_at: maybe_time(row, 14)?,
        finished_at: maybe_time(row, 15)?,
        outcome,
        summary: row.get(18)?,
        artifacts: row.get(19)?,
        runner_shared: row.get(20)?,
        commit_said: row.get(21)?,
    })
}

pub fn read_runner(row: &Row<'_>) -> rusqlite::Result<Runner> {
    Ok(Runner {
        key: RunnerKey { tenant: text(row, 0, parse_scope)?, id: text(row, 1, RunnerId::parse)? },
        acks_missed: row.get(2)?,
        barred_until: maybe_time(row, 3)?,
        last_seen_at: time(row, 4)?,
        capabilities: text(row, 5, parse_list)?,
    })
}

pub fn read_queue(row: &Row<'_>) -> rusqlite::Result<Queue> {
    Ok(Queue { id: QueueId(row.get(0)?), tenant: id(row, 1)?, requires: text(row, 2, parse_list)? })
}

pub fn read_webhook(row: &Row<'_>) -> rusqlite::Result<Webhook> {
    Ok(Webhook {
        key: WebhookKey { tenant: id(row, 0)?, name: row.get(1)? },
        url: row.get(2)?,
        events: text(row, 3, parse_list)?,
        secret: row.get::<_, String>(4)?.into(),
        ordered: row.get(5)?,
        turns: row.get(6)?,
        removed: row.get(7)?,
    })
}

pub fn read_delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    Ok(Delivery {
        id: id::<MessageId>(row, 0)?,
        tenant: id(row, 1)?,
        event: row.get(2)?,
        subject: row.get(3)?,
        url: row.get(4)?,
        body: row.get(5)?,
        state: state(row, 6)?,
        tries: row.get(7)?,
        claims: row.get(8)?,
        due_at: maybe_time(row, 9)?,
        reports: maybe_id(row, 10)?,
        last_error: row.get(11)?,
        created_at: time(row, 12)?,
        updated_at: time(row, 13)?,
        delivered_at: maybe_time(row, 14)?,
        lane: row.get(15)?,
        turn: row.get(16)?,
    })
}

pub fn read_ready(row: &Row<'_>) -> rusqlite::Result<ReadyKey> {
    Ok(ReadyKey {
        queue: QueueId(row.get(0)?),
        rank: row.get(1)?,
        since: time(row, 2)?,
        attempt: AttemptKey { job: id(row, 3)?, index: row.get(4)? },
    })
}

pub fn read_effect(row: &Row<'_>) -> rusqlite::Result<EffectRow> {
    Ok(EffectRow {
        job: id(row, 0)?,
        position: row.get(1)?,
        execution: id(row, 2)?,
        kind: text(row, 3, |kind| ["result", "webhook"].into_iter().find(|known| *known == kind))?,
        body: row.get(4)?,
    })
}

pub fn read_event_group(row: &Row<'_>) -> rusqlite::Result<Vec<Event>> {
    let (last, at, root) = (row.get(0)?, time(row, 1)?, row.get_ref(2)?.as_str()?);
    text(row, 3, |entries| unpacked(last, at, root, entries))
}

pub fn read_id<I: FromStr>(row: &Row<'_>) -> rusqlite::Result<I> {
    id(row, 0)
}

fn parse_complete_status(text: &str) -> Option<CompleteStatus> {
    [CompleteStatus::Succeeded, CompleteStatus::Failed]
        .into_iter()
        .find(|status| complete_status(*status) == text)
}

pub fn complete_status(status: CompleteStatus) -> &'static str {
    match status {
        CompleteStatus::Succeeded => "SUCCEEDED",
        CompleteStatus::Failed => "FAILED",
    }
}

/// Runners that all tenants share are kept under the empty text.
fn parse_scope(text: &str) -> Option<Option<TenantId>> {
    if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
}

pub fn scope(tenant: Option<TenantId>) -> String {
    tenant.map(|tenant| tenant.to_string()).unwrap_or_default()
}

fn parse_list(text: &str) -> Option<Vec<String>> {
    serde_json::from_str(text).ok()
}

pub fn id<I: FromStr>(row: &Row<'_>, column: usize) -> rusqlite::Result<I> {
    text(row, column, |text| text.parse().ok())
}

pub fn maybe_id<I: FromStr>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<I>> {
    maybe_text(row, column, |text| text.parse().ok())
}

pub fn state<M: Machine>(row: &Row<'_>, column: usize) -> rusqlite::Result<Stated<M>> {
    Ok(Stated::stored(text(row, column, M::parse)?))
}

pub fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Time> {
    Ok(Time::from_micros(row.get(column)?))
}

pub fn maybe_time(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Time>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Time::from_micros))
}

pub fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Digest> {
    Ok(Digest::from_bytes(row.get(column)?))
}

pub fn maybe_digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Digest>> {
    Ok(row.get::<_, Option<[u8; 32]>>(column)?.map(Digest::from_bytes))
}

pub fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.unsigned_abs())
}

/// As [`count`] reads it. No number of bytes comes near the bound; a caller may name any.
pub fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A text that must mean something to us.
pub fn text<T>(row: &Row<'_>, column: usize, parse: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str().map_err(|error| damaged(row, column, &error.to_string()))?;
    parse(text).ok_or_else(|| damaged(row, column, &format!("it holds `{text}`")))
}

pub fn maybe_text<T>(
    row: &Row<'_>,
    column: usize,
    parse: impl Fn(&str) -> Option<T>,
) -> rusqlite::Result<Option<T>> {
    let text = row.get_ref(column)?.as_str_or_null();
    match text.map_err(|error| damaged(row, column, &error.to_string()))? {
        Some(text) => {
            parse(text).map(Some).ok_or_else(|| damaged(row, column, &format!("it holds `{text}`")))
        }
        None => Ok(None),
    }
}

fn damaged(row: &Row<'_>, column: usize, problem: &str) -> rusqlite::Error {
    let name = row.as_ref().column_name(column).unwrap_or("?");
    let problem = format!("a row is damaged in column `{name}`: {problem}");
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, problem.into())
}
