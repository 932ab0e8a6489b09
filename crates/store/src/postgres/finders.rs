//! The named questions that one statement answers.
//!
//! Deadlines are compared with the database's clock, the one they were written by. It is asked for in a subquery: a
//! function that changes from row to row could not be looked up in an index.

use std::sync::LazyLock;
use std::time::Duration;

use decisions::records::{Delivery, Event, Queue, QueueId, Run, Tenant};
use tokio_postgres::Row;
use wire::{ExecId, JobId, MessageId, RunId, Time};

use crate::postgres::pool::Pool;
use crate::postgres::round::{Param, Round};
use crate::postgres::rows::{Cell, Cells};
use crate::postgres::tables::{record, selected};
use crate::postgres::{events, fault};
use crate::{Due, LogBounds, StoreError};

const EXECUTIONS_DUE: &str =
    "SELECT id FROM executions WHERE due_at <= (SELECT clock_timestamp()) ORDER BY due_at, id LIMIT $1";
const RUNS_DUE: &str =
    "SELECT id FROM runs WHERE due_at <= (SELECT clock_timestamp()) ORDER BY due_at, id LIMIT $1";
const SWEEPS: &str = "SELECT id FROM runs WHERE sweep IS NOT NULL ORDER BY id LIMIT $1";
const RELEASES: &str = "SELECT id FROM jobs WHERE releasing ORDER BY id LIMIT $1";
const CLAIMS_DUE: &str = "
    SELECT id FROM deliveries WHERE state = 'delivering' AND due_at <= (SELECT clock_timestamp())
    ORDER BY due_at, id LIMIT $1";
const NOW: &str = "SELECT clock_timestamp()";
const EXECUTION_JOB: &str = "SELECT job_id FROM executions WHERE id = $1";
const LOG_BOUNDS: &str = "SELECT coalesce(sum(size), 0)::bigint, coalesce(max(seq), 0) FROM event_groups";

static QUEUES: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM queues t WHERE id = ANY($1) ORDER BY id", selected::<Queue>("t"))
});
static TENANTS: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM tenants t ORDER BY id", selected::<Tenant>("t")));
static RUN: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM runs t WHERE id = $1", selected::<Run>("t")));
static DELIVERIES_AFTER: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM deliveries t WHERE id > $1 ORDER BY id LIMIT $2", selected::<Delivery>("t"))
});

static EVENTS_OF: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM event_groups WHERE root = $1 ORDER BY seq", events::COLUMNS));
/// A group is numbered by its last event, so every row has something to give.
static EVENTS_AFTER: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM event_groups WHERE seq > $1 ORDER BY seq LIMIT $2", events::COLUMNS)
});

/// What an operator must know, from the catalogue and the settings; not a check of every page.
const INTEGRITY: &str = "
    SELECT format('index %s is invalid: rebuild it (REINDEX)', indexrelid::regclass) FROM pg_index
    JOIN pg_class ON pg_class.oid = indexrelid
    WHERE NOT indisvalid AND relnamespace = current_schema()::regnamespace
    UNION ALL
    SELECT format('constraint %s on %s is not validated', conname, conrelid::regclass) FROM pg_constraint
    WHERE NOT convalidated AND connamespace = current_schema()::regnamespace
    UNION ALL
    SELECT format('the last event is %s, but event_head says %s', last, seq)
    FROM (SELECT coalesce(max(seq), 0) AS last FROM event_groups) e, event_head WHERE last <> seq
    UNION ALL
    SELECT 'event_head has no row' WHERE NOT EXISTS (SELECT FROM event_head)
    UNION ALL
    SELECT format('the queues have %s entries for %s queued attempts', entries, attempts)
    FROM (SELECT count(*) AS entries FROM ready) r, (SELECT count(*) AS attempts FROM attempts WHERE state = 'QUEUED') a
    WHERE entries <> attempts
    UNION ALL
    SELECT format('%s is off: a power failure may lose or damage what was acknowledged', name) FROM pg_settings
    WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'";

/// Sends statements that need not see the same moment.
pub async fn ask(
    readers: &Pool,
    statements: Vec<(&'static str, Vec<Param<'static>>)>,
) -> Result<Vec<Vec<Row>>, StoreError> {
    let reader = readers.take().await?;
    let mut round = Round::default();
    for (sql, params) in statements {
        round.push(sql, params);
    }
    let answers = reader.connection.run(round).await.map_err(|failed| fault::not_written(&failed.error))?;
    reader.give_back();
    Ok(answers)
}

pub async fn ask_one(
    readers: &Pool,
    sql: &'static str,
    params: Vec<Param<'static>>,
) -> Result<Vec<Row>, StoreError> {
    let answers = ask(readers, vec![(sql, params)]).await?;
    Ok(answers.into_iter().flatten().collect())
}

/// Rows of one cell each.
pub fn cells<T: Cell>(rows: &[Row]) -> Result<Vec<T>, StoreError> {
    rows.iter().map(|row| Cells::of(row).next()).collect()
}

pub fn unpacked(rows: &[Row]) -> Result<Vec<Event>, StoreError> {
    let groups: Vec<Vec<Event>> =
        rows.iter().map(|row| events::read(&mut Cells::of(row))).collect::<Result<_, _>>()?;
    Ok(groups.into_iter().flatten().collect())
}

pub fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Longer than anything of ours is old, and short enough for the database's calendar.
const AGO_MAX: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// For statements that go back from the database's clock.
pub fn micros_ago(ago: Duration) -> i64 {
    ago.min(AGO_MAX).as_micros() as i64
}

pub async fn due(readers: &Pool, limit: usize) -> Result<Due, StoreError> {
    let statements = [EXECUTIONS_DUE, RUNS_DUE, SWEEPS, RELEASES, CLAIMS_DUE];
    let statements = statements.map(|sql| (sql, vec![Box::new(bound(limit)) as Param<'static>]));
    let answers = ask(readers, statements.into()).await?;
    let [executions, runs, sweeps, releases, claims] = answers.as_slice() else {
        unreachable!("a round has an answer for each statement")
    };
    Ok(Due {
        executions: cells(executions)?,
        runs: cells(runs)?,
        sweeps: cells(sweeps)?,
        releases: cells(releases)?,
        claims: cells(claims)?,
    })
}

pub async fn queues_named(readers: &Pool, ids: &[QueueId]) -> Result<Vec<Queue>, StoreError> {
    let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    ask_one(readers, &QUEUES, vec![Box::new(ids)]).await?.iter().map(record).collect()
}

pub async fn tenants(readers: &Pool) -> Result<Vec<Tenant>, StoreError> {
    ask_one(readers, &TENANTS, vec![]).await?.iter().map(record).collect()
}

pub async fn run(readers: &Pool, id: RunId) -> Result<Option<Run>, StoreError> {
    ask_one(readers, &RUN, vec![Box::new(id.to_string())]).await?.first().map(record).transpose()
}

pub async fn execution_job(readers: &Pool, id: ExecId) -> Result<Option<JobId>, StoreError> {
    let rows = ask_one(readers, EXECUTION_JOB, vec![Box::new(id.to_string())]).await?;
    Ok(cells(&rows)?.pop())
}

pub async fn deliveries_after(
    readers: &Pool,
    after: Option<MessageId>,
    limit: usize,
) -> Result<Vec<Delivery>, StoreError> {
    let params: Vec<Param<'static>> = vec![Box::new(after_text(after)), Box::new(bound(limit))];
    ask_one(readers, &DELIVERIES_AFTER, params).await?.iter().map(record).collect()
}

/// Nothing sorts before the empty text.
pub fn after_text(after: Option<impl ToString>) -> String {
    after.map(|id| id.to_string()).unwrap_or_default()
}

pub async fn events_of(readers: &Pool, root: &str) -> Result<Vec<Event>, StoreError> {
    unpacked(&ask_one(readers, &EVENTS_OF, vec![Box::new(root.to_owned())]).await?)
}

pub async fn events_after(readers: &Pool, seq: i64, limit: usize) -> Result<Vec<Event>, StoreError> {
    let rows = ask_one(readers, &EVENTS_AFTER, vec![Box::new(seq), Box::new(bound(limit))]).await?;
    let later = unpacked(&rows)?.into_iter().filter(|event| event.seq > seq);
    Ok(later.take(limit).collect())
}

pub async fn log_bounds(readers: &Pool) -> Result<LogBounds, StoreError> {
    let rows = ask_one(readers, LOG_BOUNDS, vec![]).await?;
    let row = rows.first().ok_or_else(|| StoreError::Unavailable("an aggregate without a row".into()))?;
    let mut cells = Cells::of(row);
    Ok(LogBounds { rows: cells.next()?, last_seq: cells.next()? })
}

pub async fn now(readers: &Pool) -> Result<Time, StoreError> {
    let found = cells(&ask_one(readers, NOW, vec![]).await?)?.pop();
    found.ok_or_else(|| StoreError::Unavailable("a clock without a row".into()))
}

pub async fn integrity(readers: &Pool) -> Result<Vec<String>, StoreError> {
    cells(&ask_one(readers, INTEGRITY, vec![]).await?)
}
