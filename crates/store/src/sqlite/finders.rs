//! Named questions, asked on read-only connections that never hold the writer up.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use decisions::doctor::{Examined, JobFile, Logged, RunFile, StepsFile};
use decisions::records::{Delivery, Event, Job, Queue, QueueId, Run, Tenant};
use rusqlite::{Connection, ErrorCode, params};
use wire::{JobId, MessageId, RunId, Time};

use crate::sqlite::syncer::Horizon;
use crate::sqlite::{groups, lists, open, refused, rows};
use crate::{Due, LogBounds, StoreError};

/// Connections that are free; one is made when none is.
pub struct Readers {
    path: PathBuf,
    free: Arc<Mutex<Vec<Connection>>>,
    horizon: Horizon,
}

const FREE_MAX: usize = 4;

impl Readers {
    pub fn new(path: &Path, horizon: Horizon) -> Readers {
        Readers { path: path.to_owned(), free: Arc::default(), horizon }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn horizon(&self) -> &Horizon {
        &self.horizon
    }

    /// Runs a question on a thread that may block. Nobody is told what the disk may not keep.
    pub async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (path, free) = (self.path.clone(), self.free.clone());
        let answer = tokio::task::spawn_blocking(move || {
            let idle = free.lock().expect("no panic holds it").pop();
            let connection = idle.map_or_else(|| open::connect_read_only(&path), Ok)?;
            let answer = question(&connection)?;
            let mut free = free.lock().expect("no panic holds it");
            if free.len() < FREE_MAX {
                free.push(connection);
            }
            Ok(answer)
        });
        let answer = answer.await.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        self.horizon.reached().await?;
        answer.map_err(refused)
    }
}

pub fn due(connection: &Connection, now: Time, limit: usize) -> rusqlite::Result<Due> {
    let (now, limit) = (now.as_micros(), limit as i64);
    let executions = "SELECT id FROM executions WHERE due_at <= ?1 ORDER BY due_at, id LIMIT ?2";
    let runs = "SELECT id FROM runs WHERE due_at <= ?1 ORDER BY due_at, id LIMIT ?2";
    let claims =
        "SELECT id FROM deliveries WHERE due_at <= ?1 AND state = 'delivering' ORDER BY due_at, id LIMIT ?2";
    let sweeps = "SELECT id FROM runs WHERE sweep IS NOT NULL ORDER BY id LIMIT ?1";
    let releases = "SELECT id FROM jobs WHERE releasing ORDER BY id LIMIT ?1";
    Ok(Due {
        executions: rows::all(connection, executions, (now, limit), rows::read_id)?,
        runs: rows::all(connection, runs, (now, limit), rows::read_id)?,
        sweeps: rows::all(connection, sweeps, [limit], rows::read_id)?,
        releases: rows::all(connection, releases, [limit], rows::read_id)?,
        claims: rows::all(connection, claims, (now, limit), rows::read_id)?,
    })
}

pub fn queues_named(connection: &Connection, ids: &[QueueId]) -> rusqlite::Result<Vec<Queue>> {
    let sql = "SELECT id, tenant_id, requires FROM queues WHERE id = ?1";
    let found =
        BTreeSet::from_iter(ids).into_iter().map(|id| rows::all(connection, sql, [id.0], rows::read_queue));
    Ok(found.collect::<rusqlite::Result<Vec<_>>>()?.concat())
}

pub fn tenants(connection: &Connection) -> rusqlite::Result<Vec<Tenant>> {
    rows::all(connection, &[rows::TENANT, " ORDER BY id"].concat(), [], rows::read_tenant)
}

pub fn job_file(connection: &Connection, id: JobId) -> rusqlite::Result<Option<JobFile>> {
    snapshot(connection, || match rows::job(connection, id)? {
        Some(job) => file_of_job(connection, job).map(Some),
        None => Ok(None),
    })
}

pub fn job_files_after(
    connection: &Connection,
    after: Option<JobId>,
    limit: usize,
) -> rusqlite::Result<Vec<JobFile>> {
    snapshot(connection, || {
        let sql = [rows::JOB, " WHERE id > ?1 ORDER BY id LIMIT ?2"].concat();
        let after = after.map_or(String::new(), |id| id.to_string());
        let jobs: Vec<Job> = rows::all(connection, &sql, params![after, limit as i64], rows::read_job)?;
        jobs.into_iter().map(|job| file_of_job(connection, job)).collect()
    })
}

fn file_of_job(connection: &Connection, job: Job) -> rusqlite::Result<JobFile> {
    let id = job.id.text();
    let attempts = [rows::ATTEMPT, " WHERE job_id = ?1 ORDER BY attempt"].concat();
    let attempts = rows::all(connection, &attempts, [id.as_str()], rows::read_attempt)?;
    let executions = [rows::EXECUTION, " WHERE job_id = ?1 ORDER BY token"].concat();
    let effects =
        "SELECT job_id, position, exec_id, kind, body FROM effects WHERE job_id = ?1 ORDER BY position";
    // The queue's key begins with what an attempt knows of its place; an entry elsewhere shows in the count below.
    let ready = [rows::READY, " WHERE queue_id = ?1 AND rank = ?2 AND since = ?3 AND job_id = ?4"].concat();
    let mut places = Vec::new();
    for attempt in &attempts {
        let attempt: &decisions::records::Attempt = attempt;
        let place =
            params![attempt.queue.0, -i64::from(attempt.priority), attempt.since.as_micros(), id.as_str()];
        for key in rows::all(connection, &ready, place, rows::read_ready)? {
            if !places.contains(&key) {
                places.push(key);
            }
        }
    }
    Ok(JobFile {
        executions: rows::all(connection, &executions, [id.as_str()], rows::read_execution)?,
        ready: places,
        effects: rows::all(connection, effects, [id.as_str()], rows::read_effect)?,
        events: events_of(connection, id.as_str())?,
        attempts,
        job,
    })
}

pub fn run_files_after(
    connection: &Connection,
    after: Option<RunId>,
    limit: usize,
) -> rusqlite::Result<Vec<RunFile>> {
    snapshot(connection, || {
        let sql = [rows::RUN, " WHERE id > ?1 ORDER BY id LIMIT ?2"].concat();
        let after = after.map_or(String::new(), |id| id.to_string());
        let runs: Vec<Run> = rows::all(connection, &sql, params![after, limit as i64], rows::read_run)?;
        runs.into_iter().map(|run| file_of_run(connection, run)).collect()
    })
}

fn file_of_run(connection: &Connection, run: Run) -> rusqlite::Result<RunFile> {
    let id = run.id.text();
    let jobs = [rows::JOB, " WHERE run_id = ?1 ORDER BY id"].concat();
    let open =
        "SELECT count(*) FROM deliveries WHERE reports = ?1 AND state NOT IN ('delivered', 'dead_letter')";
    let needs = "SELECT needed_id, dependent_id FROM job_needs JOIN jobs ON jobs.id = needed_id WHERE run_id = ?1 \
                 ORDER BY needed_id, dependent_id";
    Ok(RunFile {
        needs: rows::all(connection, needs, [id.as_str()], |row| Ok((rows::id(row, 0)?, rows::id(row, 1)?)))?,
        jobs: rows::all(connection, &jobs, [id.as_str()], rows::read_job)?,
        events: events_of(connection, id.as_str())?,
        reports_open: rows::one(connection, open, [id.as_str()], |row| row.get(0))?.unwrap_or(0),
        plan: lists::plan(connection, run.id)?,
        group: groups::group_of(connection, run.id)?,
        run,
    })
}

pub fn steps_files_after(
    connection: &Connection,
    of: Logged,
    after: &str,
    limit: usize,
) -> rusqlite::Result<Vec<StepsFile>> {
    let table = of.table();
    snapshot(connection, || {
        let sql = format!("SELECT id, state FROM {table} WHERE id > ?1 ORDER BY id LIMIT ?2");
        let found: Vec<(String, String)> =
            rows::all(connection, &sql, params![after, limit as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let file =
            |(id, state): (String, String)| Ok(StepsFile { events: events_of(connection, &id)?, id, state });
        found.into_iter().map(file).collect()
    })
}

/// From the index of the ids alone, and as bytes: what stands in the row does not matter.
pub fn id_after(connection: &Connection, of: Examined, after: &str) -> rusqlite::Result<Option<String>> {
    let (table, key) = (of.table(), of.key());
    let sql = format!("SELECT CAST({key} AS BLOB) FROM {table} WHERE {key} > ?1 ORDER BY {key} LIMIT 1");
    let bytes: Option<Vec<u8>> = rows::one(connection, &sql, [after], |row| row.get(0))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

pub fn deliveries_after(
    connection: &Connection,
    after: Option<MessageId>,
    limit: usize,
) -> rusqlite::Result<Vec<Delivery>> {
    let sql = [rows::DELIVERY, " WHERE id > ?1 ORDER BY id LIMIT ?2"].concat();
    let after = after.map_or(String::new(), |id| id.to_string());
    rows::all(connection, &sql, params![after, limit as i64], rows::read_delivery)
}

pub fn events_of(connection: &Connection, root: &str) -> rusqlite::Result<Vec<Event>> {
    let sql = [rows::EVENT_GROUP, " WHERE root = ?1 ORDER BY seq"].concat();
    Ok(rows::all(connection, &sql, [root], rows::read_event_group)?.concat())
}

/// `seq` may lie inside a group: its last number is higher, and its first events are left out.
pub fn events_after(connection: &Connection, seq: i64, limit: usize) -> rusqlite::Result<Vec<Event>> {
    let sql = [rows::EVENT_GROUP, " WHERE seq > ?1 ORDER BY seq LIMIT ?2"].concat();
    let groups = rows::all(connection, &sql, (seq, limit as i64), rows::read_event_group)?;
    Ok(groups.into_iter().flatten().filter(|event| event.seq > seq).take(limit).collect())
}

pub fn log_bounds(connection: &Connection) -> rusqlite::Result<LogBounds> {
    let sql = "SELECT coalesce(sum(size), 0), coalesce(max(seq), 0) FROM event_groups";
    connection.query_row(sql, [], |row| Ok(LogBounds { rows: row.get(0)?, last_seq: row.get(1)? }))
}

pub fn integrity(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut problems = Vec::new();
    for question in [damaged_pages, orphans, lost_in_queues] {
        match question(connection) {
            Ok(found) => problems.extend(found),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                problems.push(error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(problems)
}

const PROBLEMS_MAX: usize = 20;

/// SQLite's own words, which may be several lines below a heading.
fn damaged_pages(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let checked: Vec<String> = rows::all(connection, "PRAGMA integrity_check(20)", [], |row| row.get(0))?;
    let lines = checked.iter().flat_map(|text| text.lines());
    let problems = lines.filter(|line| *line != "ok" && !line.starts_with("***"));
    Ok(problems.map(str::to_owned).take(PROBLEMS_MAX).collect())
}

fn orphans(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let orphans: Vec<String> = rows::all(connection, "PRAGMA foreign_key_check", [], |row| {
        Ok(format!(
            "a row of {} refers to {}, which is not there",
            row.get::<_, String>(0)?,
            row.get::<_, String>(2)?
        ))
    })?;
    Ok(orphans.into_iter().take(PROBLEMS_MAX).collect())
}

fn lost_in_queues(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let queued =
        "SELECT (SELECT count(*) FROM ready), (SELECT count(*) FROM attempts WHERE state = 'QUEUED')";
    let (entries, attempts): (i64, i64) =
        connection.query_row(queued, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let problem = format!("the queues have {entries} entries for {attempts} queued attempts");
    Ok(if entries == attempts { Vec::new() } else { vec![problem] })
}

/// All reads of one question see the same moment.
pub fn snapshot<T>(
    connection: &Connection,
    read: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let transaction = connection.unchecked_transaction()?;
    let answer = read()?;
    transaction.finish()?;
    Ok(answer)
}
