//! Jobs and runs with everything filed under them, page by page: for the doctor and for a person. A page is read in one
//! snapshot, so that what a commit wrote together is seen together.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use decisions::doctor::{Examined, JobFile, Logged, RunFile, StepsFile};
use decisions::records::{Attempt, Event, Execution, Group, GroupId, Job, Run};
use tokio_postgres::Row;
use wire::{JobId, RunId};

use crate::StoreError;
use crate::postgres::finders::{after_text, ask_one, bound, cells};
use crate::postgres::pool::{Lent, Pool};
use crate::postgres::round::{BEGIN_READING, COMMIT, Param, Round};
use crate::postgres::rows::{Cell, Cells, READY_COLUMNS, read_effect, read_ready};
use crate::postgres::tables::{record, selected};
use crate::postgres::{events, fault, questions};

static JOB: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM jobs t WHERE id = $1", selected::<Job>("t")));
static JOBS_AFTER: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM jobs t WHERE id > $1 ORDER BY id LIMIT $2", selected::<Job>("t"))
});
static ATTEMPTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM attempts t WHERE job_id = ANY ($1::text[]) ORDER BY attempt",
        selected::<Attempt>("t")
    )
});
static EXECUTIONS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM executions t WHERE job_id = ANY ($1::text[]) ORDER BY token",
        selected::<Execution>("t")
    )
});
/// The queue's key begins with what an attempt knows of its place: a look at one job is a few steps, however many wait. An
/// entry elsewhere shows in the count of all entries, which `finders.rs` compares.
pub static READY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT DISTINCT x.* FROM attempts a CROSS JOIN LATERAL (
             SELECT {READY_COLUMNS} FROM ready t
             WHERE t.queue_id = a.queue_id AND t.rank = -a.priority::bigint AND t.since = a.since AND t.job_id = a.job_id
             OFFSET 0) x
         WHERE a.job_id = ANY ($1::text[]) ORDER BY {READY_COLUMNS}"
    )
});
const EFFECTS: &str = "SELECT job_id, position, exec_id, kind, body FROM effects WHERE job_id = ANY ($1::text[]) ORDER BY position";
pub static EVENTS: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT root, {} FROM event_groups WHERE root = ANY ($1::text[]) ORDER BY seq", events::COLUMNS)
});

static RUNS_AFTER: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM runs t WHERE id > $1 ORDER BY id LIMIT $2", selected::<Run>("t"))
});
static JOBS_OF_RUNS: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM jobs t WHERE run_id = ANY ($1::text[]) ORDER BY id", selected::<Job>("t"))
});
/// By the column, which is made from others: a wrong one shows.
static GROUPS_OF_RUNS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM run_groups t WHERE id IN (SELECT group_id FROM runs WHERE id = ANY ($1::text[]))",
        selected::<Group>("t")
    )
});
const NEEDS_OF_RUNS: &str = "
    SELECT run_id, needed_id, dependent_id FROM job_needs JOIN jobs ON jobs.id = needed_id
    WHERE run_id = ANY ($1::text[]) ORDER BY needed_id, dependent_id";
const REPORTS: &str = "
    SELECT reports FROM deliveries
    WHERE reports = ANY ($1::text[]) AND state NOT IN ('delivered', 'dead_letter')";

pub async fn job_file(readers: &Pool, id: JobId) -> Result<Option<JobFile>, StoreError> {
    Ok(job_files(readers, &JOB, vec![Box::new(id.to_string())]).await?.pop())
}

pub async fn job_files_after(
    readers: &Pool,
    after: Option<JobId>,
    limit: usize,
) -> Result<Vec<JobFile>, StoreError> {
    job_files(readers, &JOBS_AFTER, vec![Box::new(after_text(after)), Box::new(bound(limit))]).await
}

async fn job_files(
    readers: &Pool,
    sql: &'static str,
    params: Vec<Param<'static>>,
) -> Result<Vec<JobFile>, StoreError> {
    let reader = readers.take().await?;
    let jobs = page(&reader, sql, params).await?;
    let jobs: Vec<Job> = jobs.iter().map(record).collect::<Result<_, _>>()?;
    let keys: Vec<String> = jobs.iter().map(|job| job.id.to_string()).collect();
    let rows = filed(reader, &keys, [&ATTEMPTS, &EXECUTIONS, &READY, EFFECTS, &EVENTS]).await?;
    let [attempts, executions, ready, effects, events] = rows;
    let mut attempts = grouped(&attempts, |row| record(row).map(|it: Attempt| (it.key.job, it)))?;
    let mut executions = grouped(&executions, |row| record(row).map(|it: Execution| (it.job(), it)))?;
    let mut ready = grouped(&ready, |row| read_ready(&mut Cells::of(row)).map(|it| (it.attempt.job, it)))?;
    let mut effects = grouped(&effects, |row| read_effect(&mut Cells::of(row)).map(|it| (it.job, it)))?;
    let mut events = grouped(&events, root_and_events::<JobId>)?;
    let file = |job: Job| JobFile {
        attempts: attempts.remove(&job.id).unwrap_or_default(),
        executions: executions.remove(&job.id).unwrap_or_default(),
        ready: ready.remove(&job.id).unwrap_or_default(),
        effects: effects.remove(&job.id).unwrap_or_default(),
        events: events.remove(&job.id).unwrap_or_default().concat(),
        job,
    };
    Ok(jobs.into_iter().map(file).collect())
}

pub async fn run_files_after(
    readers: &Pool,
    after: Option<RunId>,
    limit: usize,
) -> Result<Vec<RunFile>, StoreError> {
    let reader = readers.take().await?;
    let params: Vec<Param<'static>> = vec![Box::new(after_text(after)), Box::new(bound(limit))];
    let runs = page(&reader, &RUNS_AFTER, params).await?;
    let runs: Vec<Run> = runs.iter().map(record).collect::<Result<_, _>>()?;
    let keys: Vec<String> = runs.iter().map(|run| run.id.to_string()).collect();
    let statements = [&JOBS_OF_RUNS, NEEDS_OF_RUNS, &EVENTS, REPORTS, questions::PLANS, &GROUPS_OF_RUNS];
    let [jobs, needs, events, reports, plans, groups] = filed(reader, &keys, statements).await?;
    let mut jobs = grouped(&jobs, |row| record(row).map(|job: Job| (job.run, job)))?;
    let mut needs = grouped(&needs, |row| {
        let mut cells = Cells::of(row);
        Ok((cells.next::<RunId>()?, (cells.next()?, cells.next()?)))
    })?;
    let mut events = grouped(&events, root_and_events::<RunId>)?;
    let reports = grouped(&reports, |row| Ok((Cells::of(row).next::<RunId>()?, ())))?;
    let mut plans = grouped(&plans, |row| {
        let mut cells = Cells::of(row);
        Ok((cells.next::<RunId>()?, Arc::<str>::from(cells.raw::<&str>()?)))
    })?;
    let groups: Vec<Group> = groups.iter().map(record).collect::<Result<_, _>>()?;
    let groups: BTreeMap<GroupId, Group> = groups.into_iter().map(|group| (group.id, group)).collect();
    let file = |run: Run| RunFile {
        plan: plans.remove(&run.id).and_then(|mut plans| plans.pop()),
        group: run.group_id().and_then(|group| groups.get(&group)).cloned(),
        jobs: jobs.remove(&Some(run.id)).unwrap_or_default(),
        needs: needs.remove(&run.id).unwrap_or_default(),
        events: events.remove(&run.id).unwrap_or_default().concat(),
        reports_open: reports.get(&run.id).map_or(0, |open| open.len() as u32),
        run,
    };
    Ok(runs.into_iter().map(file).collect())
}

const TENANTS_AFTER: &str = "SELECT id, state FROM tenants WHERE id > $1 ORDER BY id LIMIT $2";
const DELIVERIES_AFTER: &str = "SELECT id, state FROM deliveries WHERE id > $1 ORDER BY id LIMIT $2";
const UPLOADS_AFTER: &str = "SELECT id, state FROM uploads WHERE id > $1 ORDER BY id LIMIT $2";
const VERSIONS_AFTER: &str = "SELECT id, state FROM versions WHERE id > $1 ORDER BY id LIMIT $2";

pub async fn steps_files_after(
    readers: &Pool,
    of: Logged,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<StepsFile>, StoreError> {
    let sql = match of {
        Logged::Tenants => TENANTS_AFTER,
        Logged::Deliveries => DELIVERIES_AFTER,
        Logged::Uploads => UPLOADS_AFTER,
        Logged::Versions => VERSIONS_AFTER,
    };
    let reader = readers.take().await?;
    let after = after.unwrap_or_default().to_owned();
    let rows = page(&reader, sql, vec![Box::new(after), Box::new(bound(limit))]).await?;
    let found: Vec<(String, String)> = rows
        .iter()
        .map(|row| {
            let mut cells = Cells::of(row);
            Ok((cells.next()?, cells.next()?))
        })
        .collect::<Result<_, StoreError>>()?;
    let keys: Vec<String> = found.iter().map(|(id, _)| id.clone()).collect();
    let [events] = filed(reader, &keys, [EVENTS.as_str()]).await?;
    let mut events = grouped(&events, root_and_events::<String>)?;
    let file = |(id, state): (String, String)| StepsFile {
        events: events.remove(&id).unwrap_or_default().concat(),
        id,
        state,
    };
    Ok(found.into_iter().map(file).collect())
}

const NEXT_JOB: &str = "SELECT id FROM jobs WHERE id > $1 ORDER BY id LIMIT 1";
const NEXT_RUN: &str = "SELECT id FROM runs WHERE id > $1 ORDER BY id LIMIT 1";
const NEXT_DELIVERY: &str = "SELECT id FROM deliveries WHERE id > $1 ORDER BY id LIMIT 1";
const NEXT_BLOB: &str = "SELECT id FROM blobs WHERE id > $1 ORDER BY id LIMIT 1";
const NEXT_LOG: &str = "SELECT exec_id FROM logs WHERE exec_id > $1 ORDER BY exec_id LIMIT 1";
const NEXT_TENANT: &str = "SELECT id FROM tenants WHERE id > $1 ORDER BY id LIMIT 1";
const NEXT_UPLOAD: &str = "SELECT id FROM uploads WHERE id > $1 ORDER BY id LIMIT 1";
const NEXT_VERSION: &str = "SELECT id FROM versions WHERE id > $1 ORDER BY id LIMIT 1";

pub async fn id_after(
    readers: &Pool,
    of: Examined,
    after: Option<&str>,
) -> Result<Option<String>, StoreError> {
    let sql = match of {
        Examined::Jobs => NEXT_JOB,
        Examined::Runs => NEXT_RUN,
        Examined::Deliveries | Examined::Steps(Logged::Deliveries) => NEXT_DELIVERY,
        Examined::Blobs => NEXT_BLOB,
        Examined::Logs => NEXT_LOG,
        Examined::Usages | Examined::Steps(Logged::Tenants) => NEXT_TENANT,
        Examined::Steps(Logged::Uploads) => NEXT_UPLOAD,
        Examined::Steps(Logged::Versions) => NEXT_VERSION,
    };
    let after = after.unwrap_or_default().to_owned();
    Ok(cells(&ask_one(readers, sql, vec![Box::new(after)]).await?)?.pop())
}

/// Begins a snapshot and reads the page itself.
pub async fn page(
    reader: &Lent,
    sql: &'static str,
    params: Vec<Param<'static>>,
) -> Result<Vec<Row>, StoreError> {
    let mut round = Round::default();
    round.push(BEGIN_READING, vec![]);
    round.push(sql, params);
    let answers = reader.connection.run(round).await.map_err(|failed| fault::not_written(&failed.error))?;
    Ok(answers.into_iter().flatten().collect())
}

/// Reads what is filed under the page's keys, and ends the snapshot.
pub async fn filed<const N: usize>(
    reader: Lent,
    keys: &[String],
    statements: [&'static str; N],
) -> Result<[Vec<Row>; N], StoreError> {
    let mut round = Round::default();
    for sql in statements {
        round.push(sql, vec![Box::new(keys)]);
    }
    round.push(COMMIT, vec![]);
    let answers = reader.connection.run(round).await.map_err(|failed| fault::not_written(&failed.error))?;
    reader.give_back();
    let rows: Vec<Vec<Row>> = answers.into_iter().take(N).collect();
    Ok(rows.try_into().expect("a round has an answer for each statement"))
}

pub fn grouped<K: Ord, T>(
    rows: &[Row],
    read: impl Fn(&Row) -> Result<(K, T), StoreError>,
) -> Result<BTreeMap<K, Vec<T>>, StoreError> {
    let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for row in rows {
        let (key, value) = read(row)?;
        groups.entry(key).or_default().push(value);
    }
    Ok(groups)
}

pub fn root_and_events<I: Cell>(row: &Row) -> Result<(I, Vec<Event>), StoreError> {
    let mut cells = Cells::of(row);
    Ok((cells.next()?, events::read(&mut cells)?))
}
