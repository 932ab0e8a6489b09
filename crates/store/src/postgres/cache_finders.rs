//! Named questions about caches. Times are compared with the database's clock, as in `finders.rs`.

use std::sync::LazyLock;
use std::time::Duration;

use decisions::records::{Cache, CacheName, Trust};
use tokio_postgres::Row;
use wire::{CacheId, TenantId};

use crate::StoreError;
use crate::caches::{CachesDue, best, end_of};
use crate::postgres::finders::{after_text, ask, ask_one, bound, micros_ago};
use crate::postgres::pool::Pool;
use crate::postgres::round::Param;
use crate::postgres::rows::{Cells, long};
use crate::postgres::tables::{record, selected};

static NAMED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM caches t WHERE tenant_id = $1 AND trust = $2 AND key = $3 AND NOT dropped",
        selected::<Cache>("t")
    )
});
static BEGINNING: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM caches t
         WHERE tenant_id = $1 AND trust = $2 AND key >= $3 AND key < $4 AND NOT dropped
         ORDER BY created_at DESC, id DESC LIMIT 1",
        selected::<Cache>("t")
    )
});
static WITH_ID: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM caches t WHERE tenant_id = $1 AND id = $2 AND NOT dropped",
        selected::<Cache>("t")
    )
});
static OF_TENANT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM caches t WHERE tenant_id = $1 AND id > $2 AND NOT dropped ORDER BY id LIMIT $3",
        selected::<Cache>("t")
    )
});
const UNUSED: &str = "
    SELECT tenant_id, trust, key FROM caches
    WHERE NOT dropped AND used_at <= (SELECT clock_timestamp() - $1::bigint * interval '1 microsecond')
    ORDER BY used_at LIMIT $2";
const BEYOND: &str = "
    SELECT tenant_id, trust, key, used_at FROM (
        SELECT tenant_id, trust, key, used_at, sum(bytes) OVER (
            PARTITION BY tenant_id ORDER BY used_at DESC, trust DESC, key DESC) AS total
        FROM caches WHERE NOT dropped) t
    WHERE total > $1::bigint ORDER BY used_at, trust, key LIMIT $2";

pub async fn cache(
    readers: &Pool,
    tenant: TenantId,
    trusts: &[Trust],
    key: &str,
    prefix: Option<&str>,
) -> Result<Option<Cache>, StoreError> {
    let named = |trust: &Trust, key: &str| -> Vec<Param<'static>> {
        vec![Box::new(tenant.to_string()), Box::new(trust.as_str()), Box::new(key.to_owned())]
    };
    let mut statements: Vec<(&'static str, Vec<Param<'static>>)> =
        trusts.iter().map(|trust| (NAMED.as_str(), named(trust, key))).collect();
    if let Some((from, to)) = prefix.and_then(|prefix| Some((prefix, end_of(prefix)?))) {
        for trust in trusts {
            let mut params = named(trust, from);
            params.push(Box::new(to.clone()));
            statements.push((BEGINNING.as_str(), params));
        }
    }
    let answers = ask(readers, statements).await?;
    let (exact, others) = answers.split_at(trusts.len());
    let read = |answers: &[Vec<Row>]| answers.iter().flatten().map(record).collect::<Result<Vec<Cache>, _>>();
    Ok(best(read(exact)?, read(others)?))
}

pub async fn cache_with(readers: &Pool, tenant: TenantId, id: CacheId) -> Result<Option<Cache>, StoreError> {
    let params: Vec<Param<'static>> = vec![Box::new(tenant.to_string()), Box::new(id.to_string())];
    ask_one(readers, &WITH_ID, params).await?.first().map(record).transpose()
}

pub async fn caches_of(
    readers: &Pool,
    tenant: TenantId,
    after: Option<CacheId>,
    limit: usize,
) -> Result<Vec<Cache>, StoreError> {
    let params: Vec<Param<'static>> =
        vec![Box::new(tenant.to_string()), Box::new(after_text(after)), Box::new(bound(limit))];
    ask_one(readers, &OF_TENANT, params).await?.iter().map(record).collect()
}

pub async fn due(
    readers: &Pool,
    ttl: Duration,
    bytes_max: u64,
    limit: usize,
) -> Result<CachesDue, StoreError> {
    let unused: Vec<Param<'static>> = vec![Box::new(micros_ago(ttl)), Box::new(bound(limit))];
    let beyond: Vec<Param<'static>> = vec![Box::new(long(bytes_max)), Box::new(bound(limit))];
    let answers = ask(readers, vec![(UNUSED, unused), (BEYOND, beyond)]).await?;
    let [unused, beyond] = answers.as_slice() else {
        unreachable!("a round has an answer for each statement")
    };
    let with_use = |row: &Row| {
        let mut cells = Cells::of(row);
        Ok((name(&mut cells)?, cells.next()?))
    };
    Ok(CachesDue {
        unused: unused.iter().map(|row| name(&mut Cells::of(row))).collect::<Result<_, _>>()?,
        beyond: beyond.iter().map(with_use).collect::<Result<_, StoreError>>()?,
    })
}

fn name(cells: &mut Cells<'_>) -> Result<CacheName, StoreError> {
    Ok(CacheName { tenant: cells.next()?, trust: cells.next()?, key: cells.next()? })
}
