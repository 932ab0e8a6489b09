//! What people and the API ask for, page by page, each through an index.

use std::sync::{Arc, LazyLock};

use decisions::records::{Event, Execution, Job, QueueId, Run, Runner, Tenant, Token};
use wire::{Digest, JobId, RunId, RunnerId, TenantId, TokenId};

use crate::StoreError;
use crate::postgres::events;
use crate::postgres::finders::{after_text, ask, ask_one, bound, cells, unpacked};
use crate::postgres::pool::Pool;
use crate::postgres::round::Param;
use crate::postgres::rows::{Cells, scope};
use crate::postgres::tables::{record, seen, selected};

/// Jumps from queue to queue: a step per queue, however many attempts wait there.
const QUEUES_READY: &str = "
    WITH RECURSIVE queue (id) AS (
        SELECT min(queue_id) FROM ready
        UNION ALL
        SELECT (SELECT min(queue_id) FROM ready WHERE queue_id > queue.id) FROM queue WHERE queue.id IS NOT NULL)
    SELECT id FROM queue WHERE id IS NOT NULL";

const RUNS_PLANNING: &str = "
    SELECT id FROM runs WHERE state IN ('CREATED', 'PLANNING') AND id > $1 ORDER BY id LIMIT $2";

static TENANT: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM tenants t WHERE id = $1", selected::<Tenant>("t")));
static TENANT_NAMED: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM tenants t WHERE name = $1", selected::<Tenant>("t")));
static TENANTS_AFTER: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM tenants t WHERE id > $1 ORDER BY id LIMIT $2", selected::<Tenant>("t"))
});
static TOKEN: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM tokens t WHERE id = $1", selected::<Token>("t")));
/// Two questions: an index finds nulls, and finds a tenant, but not whichever of the two a parameter is.
static TOKENS_OF_NOBODY: LazyLock<String> =
    LazyLock::new(|| tokens_where("tenant_id IS NULL AND id > $1", 2));
static TOKENS_OF_TENANT: LazyLock<String> = LazyLock::new(|| tokens_where("tenant_id = $1 AND id > $2", 3));
static RUNNERS_OF: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM runners t WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3",
        selected::<Runner>("t")
    )
});
static EXECUTIONS_LIVE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {}, (SELECT j.tenant_id FROM jobs j WHERE j.id = t.job_id) FROM executions t
         WHERE finished_at IS NULL ORDER BY job_id, attempt LIMIT $1",
        selected::<Execution>("t")
    )
});
static RUNS_OF: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM runs t WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        selected::<Run>("t")
    )
});
const PLAN: &str = "SELECT plan FROM run_plans WHERE run_id = $1";
static JOBS_OF_RUN: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM jobs t WHERE run_id = $1 AND id > $2 ORDER BY id LIMIT $3", selected::<Job>("t"))
});
/// From the list into the index, whatever the table looked like when the statement was planned.
pub const SUCCESSES: &str = "
    SELECT u.key, x.run_id, x.id FROM unnest($2::bytea[]) WITH ORDINALITY AS u (key, place)
    CROSS JOIN LATERAL (
        SELECT t.run_id, t.id FROM jobs t
        WHERE t.tenant_id = $1 AND t.input_key = u.key AND t.reusable
        ORDER BY t.id DESC LIMIT 1) x
    ORDER BY u.place";
const JOB_KEYED: &str = "SELECT id FROM jobs WHERE tenant_id = $1 AND job_key = $2 AND job_key IS NOT NULL";

const NEWEST_EVENT: &str = "SELECT seq FROM event_head WHERE one";
/// Whose a group is, by the primary key of what it is filed under. Subqueries for one value are asked row by row; a join
/// might read all jobs of a tenant.
static EVENTS_SCAN: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM event_groups
         WHERE seq > $1 AND seq <= (
                 SELECT coalesce(min(g.seq), $2) FROM event_groups g WHERE g.seq >= $2)
             AND $3 = CASE left(root, 4)
                 WHEN 'job_' THEN (SELECT t.tenant_id FROM jobs t WHERE t.id = root)
                 WHEN 'run_' THEN (SELECT t.tenant_id FROM runs t WHERE t.id = root)
                 WHEN 'msg_' THEN (SELECT t.tenant_id FROM deliveries t WHERE t.id = root)
                 WHEN 'upl_' THEN (SELECT t.tenant_id FROM uploads t WHERE t.id = root)
                 WHEN 'ver_' THEN (SELECT t.tenant_id FROM versions t WHERE t.id = root)
                 WHEN 'blob' THEN (
                     SELECT t.tenant_id FROM possessions t WHERE t.blob_id = root AND t.tenant_id = $3)
                 ELSE root END
         ORDER BY seq",
        events::COLUMNS
    )
});

fn tokens_where(condition: &str, limit: usize) -> String {
    format!("SELECT {} FROM tokens t WHERE {condition} ORDER BY id LIMIT ${limit}", selected::<Token>("t"))
}

pub async fn queues_ready(readers: &Pool) -> Result<Vec<QueueId>, StoreError> {
    cells(&ask_one(readers, QUEUES_READY, vec![]).await?)
}

pub async fn runs_planning(
    readers: &Pool,
    after: Option<RunId>,
    limit: usize,
) -> Result<Vec<RunId>, StoreError> {
    let params: Vec<Param<'static>> = vec![Box::new(after_text(after)), Box::new(bound(limit))];
    cells(&ask_one(readers, RUNS_PLANNING, params).await?)
}

pub async fn tenant(readers: &Pool, id: TenantId) -> Result<Option<Tenant>, StoreError> {
    ask_one(readers, &TENANT, vec![Box::new(id.to_string())]).await?.first().map(record).transpose()
}

pub async fn tenant_named(readers: &Pool, name: &str) -> Result<Option<Tenant>, StoreError> {
    ask_one(readers, &TENANT_NAMED, vec![Box::new(name.to_owned())]).await?.first().map(record).transpose()
}

pub async fn tenants_after(
    readers: &Pool,
    after: Option<TenantId>,
    limit: usize,
) -> Result<Vec<Tenant>, StoreError> {
    let params: Vec<Param<'static>> = vec![Box::new(after_text(after)), Box::new(bound(limit))];
    ask_one(readers, &TENANTS_AFTER, params).await?.iter().map(record).collect()
}

pub async fn token(readers: &Pool, id: TokenId) -> Result<Option<Token>, StoreError> {
    ask_one(readers, &TOKEN, vec![Box::new(id.to_string())]).await?.first().map(record).transpose()
}

pub async fn tokens_of(
    readers: &Pool,
    tenant: Option<TenantId>,
    after: Option<TokenId>,
    limit: usize,
) -> Result<Vec<Token>, StoreError> {
    let mut params: Vec<Param<'static>> = vec![Box::new(after_text(after)), Box::new(bound(limit))];
    let rows = match tenant {
        None => ask_one(readers, &TOKENS_OF_NOBODY, params).await?,
        Some(tenant) => {
            params.insert(0, Box::new(tenant.to_string()));
            ask_one(readers, &TOKENS_OF_TENANT, params).await?
        }
    };
    rows.iter().map(record).collect()
}

pub async fn runners_of(
    readers: &Pool,
    tenant: Option<TenantId>,
    after: Option<RunnerId>,
    limit: usize,
) -> Result<Vec<Runner>, StoreError> {
    let params: Vec<Param<'static>> =
        vec![Box::new(scope(tenant)), Box::new(after_text(after)), Box::new(bound(limit))];
    ask_one(readers, &RUNNERS_OF, params).await?.iter().map(record).collect()
}

pub async fn executions_live(readers: &Pool, limit: usize) -> Result<Vec<(Execution, TenantId)>, StoreError> {
    let rows = ask_one(readers, &EXECUTIONS_LIVE, vec![Box::new(bound(limit))]).await?;
    let with_tenant = |row| {
        let mut cells = Cells::of(row);
        let (_, execution): (_, Arc<Execution>) = seen(&mut cells)?;
        Ok((Arc::unwrap_or_clone(execution), cells.next()?))
    };
    rows.iter().map(with_tenant).collect()
}

pub async fn runs_of(
    readers: &Pool,
    tenant: TenantId,
    before: Option<RunId>,
    limit: usize,
) -> Result<Vec<Run>, StoreError> {
    let before = before.unwrap_or(RunId::from_u128(u128::MAX)).to_string();
    let params: Vec<Param<'static>> =
        vec![Box::new(tenant.to_string()), Box::new(before), Box::new(bound(limit))];
    ask_one(readers, &RUNS_OF, params).await?.iter().map(record).collect()
}

pub async fn plan(readers: &Pool, id: RunId) -> Result<Option<Arc<str>>, StoreError> {
    let rows = ask_one(readers, PLAN, vec![Box::new(id.to_string())]).await?;
    rows.first().map(|row| Ok(Cells::of(row).raw::<&str>()?.into())).transpose()
}

pub async fn jobs_of_run(
    readers: &Pool,
    run: RunId,
    after: Option<JobId>,
    limit: usize,
) -> Result<Vec<Job>, StoreError> {
    let params: Vec<Param<'static>> =
        vec![Box::new(run.to_string()), Box::new(after_text(after)), Box::new(bound(limit))];
    ask_one(readers, &JOBS_OF_RUN, params).await?.iter().map(record).collect()
}

pub async fn successes(
    readers: &Pool,
    tenant: TenantId,
    keys: &[Digest],
) -> Result<Vec<(Digest, RunId, JobId)>, StoreError> {
    let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
    let rows = ask_one(readers, SUCCESSES, vec![Box::new(tenant.to_string()), Box::new(keys)]).await?;
    let read = |row| {
        let mut cells = Cells::of(row);
        Ok((cells.next()?, cells.next()?, cells.next()?))
    };
    rows.iter().map(read).collect()
}

pub async fn job_keyed(readers: &Pool, tenant: TenantId, key: &str) -> Result<Option<JobId>, StoreError> {
    let params: Vec<Param<'static>> = vec![Box::new(tenant.to_string()), Box::new(key.to_owned())];
    Ok(cells(&ask_one(readers, JOB_KEYED, params).await?)?.pop())
}

pub async fn events_scan(
    readers: &Pool,
    tenant: TenantId,
    after: i64,
    scan_max: usize,
) -> Result<(Vec<Event>, i64), StoreError> {
    let end = after.saturating_add(bound(scan_max));
    let params: Vec<Param<'static>> = vec![Box::new(after), Box::new(end), Box::new(tenant.to_string())];
    // The newest number first: what it counts is there for whoever looks later, and never changes.
    let answers = ask(readers, vec![(NEWEST_EVENT, vec![]), (&EVENTS_SCAN, params)]).await?;
    let [newest, found] = answers.as_slice() else {
        unreachable!("a round has an answer for each statement")
    };
    let newest: i64 = cells(newest)?.pop().unwrap_or(0);
    let last = end.min(newest).max(after);
    // A group goes by its last number: the first and the last one found may reach beyond what was asked for.
    let scanned = unpacked(found)?.into_iter().filter(|event| event.seq > after && event.seq <= last);
    Ok((scanned.collect(), last))
}
