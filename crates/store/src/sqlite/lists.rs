//! What people and the API ask for, page by page, each through an index.

use std::sync::Arc;

use decisions::records::{Event, Execution, Job, QueueId, Run, Runner, Tenant};
use rusqlite::{Connection, params};
use wire::{Digest, JobId, RunId, RunnerId, TenantId};

use crate::sqlite::rows;

/// Jumps from queue to queue: a step per queue, however many attempts wait there.
const QUEUES_READY: &str = "
    WITH RECURSIVE queue (id) AS (
        SELECT min(queue_id) FROM ready
        UNION ALL
        SELECT (SELECT min(queue_id) FROM ready WHERE queue_id > queue.id) FROM queue WHERE queue.id IS NOT NULL)
    SELECT id FROM queue WHERE id IS NOT NULL";

pub fn queues_ready(connection: &Connection) -> rusqlite::Result<Vec<QueueId>> {
    rows::all(connection, QUEUES_READY, [], |row| Ok(QueueId(row.get(0)?)))
}

pub fn runs_planning(
    connection: &Connection,
    after: Option<RunId>,
    limit: usize,
) -> rusqlite::Result<Vec<RunId>> {
    let sql = "SELECT id FROM runs WHERE (state = 'CREATED' OR state = 'PLANNING') AND id > ?1 ORDER BY id LIMIT ?2";
    rows::all(connection, sql, params![after_text(after), limit as i64], rows::read_id)
}

pub fn tenant(connection: &Connection, id: TenantId) -> rusqlite::Result<Option<Tenant>> {
    let sql = [rows::TENANT, " WHERE id = ?1"].concat();
    rows::one(connection, &sql, [id.text().as_str()], rows::read_tenant)
}

pub fn tenant_named(connection: &Connection, name: &str) -> rusqlite::Result<Option<Tenant>> {
    rows::one(connection, &[rows::TENANT, " WHERE name = ?1"].concat(), [name], rows::read_tenant)
}

pub fn tenants_after(
    connection: &Connection,
    after: Option<TenantId>,
    limit: usize,
) -> rusqlite::Result<Vec<Tenant>> {
    let sql = [rows::TENANT, " WHERE id > ?1 ORDER BY id LIMIT ?2"].concat();
    rows::all(connection, &sql, params![after_text(after), limit as i64], rows::read_tenant)
}

pub fn runners_of(
    connection: &Connection,
    tenant: Option<TenantId>,
    after: Option<RunnerId>,
    limit: usize,
) -> rusqlite::Result<Vec<Runner>> {
    let sql = [rows::RUNNER, " WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3"].concat();
    let params = params![rows::scope(tenant), after_text(after), limit as i64];
    rows::all(connection, &sql, params, rows::read_runner)
}

pub fn executions_live(
    connection: &Connection,
    limit: usize,
) -> rusqlite::Result<Vec<(Execution, TenantId)>> {
    // The tenant after the execution's own columns; the job's primary key gives it.
    let sql = rows::EXECUTION.replace(
        " FROM executions",
        ", (SELECT tenant_id FROM jobs WHERE jobs.id = executions.job_id) FROM executions \
         WHERE finished_at IS NULL ORDER BY job_id, attempt LIMIT ?1",
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_map([limit as i64], |row| {
        Ok((rows::read_execution(row)?, rows::id(row, row.as_ref().column_count() - 1)?))
    })?;
    found.collect()
}

pub fn runs_of(
    connection: &Connection,
    tenant: TenantId,
    before: Option<RunId>,
    limit: usize,
) -> rusqlite::Result<Vec<Run>> {
    let sql = [rows::RUN, " WHERE tenant_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"].concat();
    let before = before.unwrap_or(RunId::from_u128(u128::MAX)).to_string();
    rows::all(connection, &sql, params![tenant.text().as_str(), before, limit as i64], rows::read_run)
}

pub fn plan(connection: &Connection, id: RunId) -> rusqlite::Result<Option<Arc<str>>> {
    let sql = "SELECT plan FROM run_plans WHERE run_id = ?1";
    rows::one(connection, sql, [id.text().as_str()], |row| row.get(0))
}

pub fn jobs_of_run(
    connection: &Connection,
    run: RunId,
    after: Option<JobId>,
    limit: usize,
) -> rusqlite::Result<Vec<Job>> {
    let sql = [rows::JOB, " WHERE run_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3"].concat();
    rows::all(connection, &sql, params![run.text().as_str(), after_text(after), limit as i64], rows::read_job)
}

pub fn successes(
    connection: &Connection,
    tenant: TenantId,
    keys: &[Digest],
) -> rusqlite::Result<Vec<(Digest, RunId, JobId)>> {
    let sql = "SELECT run_id, id FROM jobs WHERE tenant_id = ?1 AND input_key = ?2 AND reusable \
               ORDER BY id DESC LIMIT 1";
    let tenant = tenant.text();
    let mut found = Vec::new();
    for key in keys {
        let params = params![tenant.as_str(), key.as_bytes()];
        let newest = rows::one(connection, sql, params, |row| Ok((rows::id(row, 0)?, rows::id(row, 1)?)))?;
        found.extend(newest.map(|(run, job)| (*key, run, job)));
    }
    Ok(found)
}

pub fn job_keyed(connection: &Connection, tenant: TenantId, key: &str) -> rusqlite::Result<Option<JobId>> {
    let sql = "SELECT id FROM jobs WHERE tenant_id = ?1 AND job_key = ?2";
    rows::one(connection, sql, (tenant.text().as_str(), key), rows::read_id)
}

/// Whose a group of events is, by the primary key of what it is filed under. A group may begin before the first number
/// asked for or end after the last.
const OF_TENANT: &str = " WHERE seq > ?1
    AND seq <= (SELECT coalesce(min(g.seq), ?2) FROM event_groups AS g WHERE g.seq >= ?2) AND ?3 = CASE substr(root, 1, 4)
    WHEN 'job_' THEN (SELECT tenant_id FROM jobs WHERE id = root)
    WHEN 'run_' THEN (SELECT tenant_id FROM runs WHERE id = root)
    WHEN 'msg_' THEN (SELECT tenant_id FROM deliveries WHERE id = root)
    WHEN 'upl_' THEN (SELECT tenant_id FROM uploads WHERE id = root)
    WHEN 'ver_' THEN (SELECT tenant_id FROM versions WHERE id = root)
    WHEN 'blob' THEN (SELECT tenant_id FROM possessions WHERE blob_id = root AND tenant_id = ?3)
    ELSE root END
    ORDER BY seq";

pub fn events_scan(
    connection: &Connection,
    tenant: TenantId,
    after: i64,
    scan_max: usize,
) -> rusqlite::Result<(Vec<Event>, i64)> {
    let newest: i64 = connection
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM event_groups")?
        .query_row([], |row| row.get(0))?;
    // Numbers have no gaps, and none appears below one that is there.
    let last = after.saturating_add(scan_max as i64).min(newest).max(after);
    let sql = [rows::EVENT_GROUP, OF_TENANT].concat();
    let tenant = tenant.text();
    let groups = rows::all(connection, &sql, params![after, last, tenant.as_str()], rows::read_event_group)?;
    let events = groups.into_iter().flatten().filter(|event| (after + 1..=last).contains(&event.seq));
    Ok((events.collect(), last))
}

/// Nothing sorts before the empty text.
pub fn after_text(after: Option<impl ToString>) -> String {
    after.map(|id| id.to_string()).unwrap_or_default()
}
