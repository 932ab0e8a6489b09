//! Caches in their table.

use std::time::Duration;

use decisions::book::Shelf;
use decisions::records::{Cache, CacheName, Trust};
use rusqlite::{Connection, Row, params};
use wire::{CacheId, TenantId, Time};

use crate::caches::{CachesDue, best, end_of};
use crate::sqlite::finders::snapshot;
use crate::sqlite::lists::after_text;
use crate::sqlite::rows::{self, stored};

const CACHE: &str = "SELECT tenant_id, trust, key, id, blob_id, digest, bytes, job_id, created_at, used_at, dropped \
     FROM caches";
const NAMED: &str = " WHERE tenant_id = ?1 AND trust = ?2 AND key = ?3";
const BEGINNING: &str = " WHERE tenant_id = ?1 AND trust = ?2 AND key >= ?3 AND key < ?4 AND NOT dropped \
     ORDER BY created_at DESC, id DESC LIMIT 1";
pub const UNUSED: &str = "SELECT tenant_id, trust, key FROM caches \
     WHERE NOT dropped AND used_at <= ?1 ORDER BY used_at LIMIT ?2";
const BEYOND: &str = "SELECT tenant_id, trust, key, used_at FROM \
         (SELECT tenant_id, trust, key, used_at, sum(bytes) OVER \
             (PARTITION BY tenant_id ORDER BY used_at DESC, trust DESC, key DESC) AS total \
          FROM caches WHERE NOT dropped) \
     WHERE total > ?1 ORDER BY used_at, trust, key LIMIT ?2";

/// Also one that was dropped.
pub fn cache_named(connection: &Connection, name: &CacheName) -> rusqlite::Result<Option<Cache>> {
    let tenant = name.tenant.text();
    let params = params![tenant.as_str(), name.trust.as_str(), name.key];
    rows::one(connection, &[CACHE, NAMED].concat(), params, read)
}

pub fn cache(
    connection: &Connection,
    tenant: TenantId,
    trusts: &[Trust],
    key: &str,
    prefix: Option<&str>,
) -> rusqlite::Result<Option<Cache>> {
    snapshot(connection, || {
        let (mut exact, mut others) = (Vec::new(), Vec::new());
        for trust in trusts {
            let name = CacheName { tenant, trust: *trust, key: key.into() };
            exact.extend(cache_named(connection, &name)?.filter(|cache| !cache.dropped));
        }
        if let Some((from, to)) = prefix.and_then(|prefix| Some((prefix, end_of(prefix)?))) {
            for trust in trusts {
                let tenant = tenant.text();
                let params = params![tenant.as_str(), trust.as_str(), from, to];
                others.extend(rows::one(connection, &[CACHE, BEGINNING].concat(), params, read)?);
            }
        }
        Ok(best(exact, others))
    })
}

pub fn cache_with(connection: &Connection, tenant: TenantId, id: CacheId) -> rusqlite::Result<Option<Cache>> {
    let sql = [CACHE, " WHERE tenant_id = ?1 AND id = ?2 AND NOT dropped"].concat();
    rows::one(connection, &sql, (tenant.text().as_str(), id.text().as_str()), read)
}

pub fn caches_of(
    connection: &Connection,
    tenant: TenantId,
    after: Option<CacheId>,
    limit: usize,
) -> rusqlite::Result<Vec<Cache>> {
    let sql = [CACHE, " WHERE tenant_id = ?1 AND id > ?2 AND NOT dropped ORDER BY id LIMIT ?3"].concat();
    let (tenant, after) = (tenant.text(), after_text(after));
    let params = params![tenant.as_str(), after, stored(limit as u64)];
    rows::all(connection, &sql, params, read)
}

pub fn due(
    connection: &Connection,
    now: Time,
    ttl: Duration,
    bytes_max: u64,
    limit: usize,
) -> rusqlite::Result<CachesDue> {
    let limit = stored(limit as u64);
    let used_by = now.as_micros().saturating_sub(i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX));
    Ok(CachesDue {
        unused: rows::all(connection, UNUSED, (used_by, limit), read_name)?,
        beyond: rows::all(connection, BEYOND, (stored(bytes_max), limit), |row| {
            Ok((read_name(row)?, rows::time(row, 3)?))
        })?,
    })
}

fn read_name(row: &Row<'_>) -> rusqlite::Result<CacheName> {
    Ok(CacheName { tenant: rows::id(row, 0)?, trust: rows::text(row, 1, Trust::parse)?, key: row.get(2)? })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Cache> {
    Ok(Cache {
        name: read_name(row)?,
        id: rows::id(row, 3)?,
        blob: rows::id(row, 4)?,
        digest: rows::digest(row, 5)?,
        bytes: rows::count(row, 6)?,
        job: rows::id(row, 7)?,
        created_at: rows::time(row, 8)?,
        used_at: rows::time(row, 9)?,
        dropped: row.get(10)?,
    })
}

const INSERT: &str = "INSERT INTO caches (tenant_id, trust, key, id, blob_id, digest, bytes, job_id, created_at, used_at, \
     dropped) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const UPDATE: &str = "UPDATE caches SET id = ?4, blob_id = ?5, digest = ?6, bytes = ?7, job_id = ?8, created_at = ?9, \
     used_at = ?10, dropped = ?11 WHERE tenant_id = ?1 AND trust = ?2 AND key = ?3";

pub fn write(connection: &Connection, caches: &Shelf<Cache>) -> rusqlite::Result<()> {
    for (before, it) in caches.writes() {
        let sql = if before.is_none() { INSERT } else { UPDATE };
        connection.prepare_cached(sql)?.execute(params![
            it.name.tenant.text().as_str(),
            it.name.trust.as_str(),
            it.name.key,
            it.id.text().as_str(),
            it.blob.text().as_str(),
            it.digest.as_bytes(),
            stored(it.bytes),
            it.job.text().as_str(),
            it.created_at.as_micros(),
            it.used_at.as_micros(),
            it.dropped,
        ])?;
    }
    Ok(())
}
