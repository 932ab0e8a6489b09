//! Blobs, who possesses them, and how much each tenant has.

use std::sync::Arc;

use decisions::book::{Appended, Shelf};
use decisions::doctor::{BlobFile, UsageFile};
use decisions::records::{Blob, BlobBytes, Possession, PossessionKey, Usage};
use machines::Machine;
use rusqlite::{Connection, Row, params};
use wire::{BlobId, Digest, TenantId};

use crate::sqlite::finders::{events_of, snapshot};
use crate::sqlite::lists::after_text;
use crate::sqlite::rows::{self, stored};

const BLOB: &str = "SELECT id, digest, length, state, refs, barrier_until, epoch, retention_until, unmarked_by, \
     claimed_by, created_at, updated_at, inline FROM blobs";

pub fn blob(connection: &Connection, id: BlobId) -> rusqlite::Result<Option<Blob>> {
    rows::one(connection, &[BLOB, " WHERE id = ?1"].concat(), [id.text().as_str()], read)
}

pub const HERE: &str = "SELECT id FROM blobs WHERE digest = ?1 AND claimed_by IS NULL AND state <> 'deleted'";

/// The one that can be read and referred to.
pub fn here(connection: &Connection, digest: Digest) -> rusqlite::Result<Option<BlobId>> {
    rows::one(connection, HERE, [digest.as_bytes()], rows::read_id)
}

pub fn blob_of(connection: &Connection, tenant: TenantId, digest: Digest) -> rusqlite::Result<Option<Blob>> {
    let possessed = " WHERE id = (SELECT blob_id FROM possessions WHERE tenant_id = ?1 AND digest = ?2) \
                     AND claimed_by IS NULL AND state <> 'deleted'";
    let sql = [BLOB, possessed].concat();
    rows::one(connection, &sql, (tenant.text().as_str(), digest.as_bytes()), read)
}

pub fn possession(connection: &Connection, key: PossessionKey) -> rusqlite::Result<Option<Possession>> {
    let sql = "SELECT tenant_id, digest, blob_id, created_at FROM possessions \
               WHERE tenant_id = ?1 AND digest = ?2";
    rows::one(connection, sql, (key.tenant.text().as_str(), key.digest.as_bytes()), |row| {
        Ok(Possession {
            key: PossessionKey { tenant: rows::id(row, 0)?, digest: rows::digest(row, 1)? },
            blob: rows::id(row, 2)?,
            created_at: rows::time(row, 3)?,
        })
    })
}

pub fn possessors(connection: &Connection, id: BlobId) -> rusqlite::Result<Vec<TenantId>> {
    let sql = "SELECT tenant_id FROM possessions WHERE blob_id = ?1";
    rows::all(connection, sql, [id.text().as_str()], rows::read_id)
}

pub fn usage(connection: &Connection, tenant: TenantId) -> rusqlite::Result<Option<Usage>> {
    let sql = "SELECT tenant_id, bytes, blobs FROM usages WHERE tenant_id = ?1";
    rows::one(connection, sql, [tenant.text().as_str()], |row| {
        Ok(Usage { tenant: rows::id(row, 0)?, bytes: rows::count(row, 1)?, blobs: rows::count(row, 2)? })
    })
}

pub fn usages_after(
    connection: &Connection,
    after: Option<TenantId>,
    limit: usize,
) -> rusqlite::Result<Vec<UsageFile>> {
    let has = "FROM possessions p JOIN blobs b ON b.id = p.blob_id \
        WHERE p.tenant_id = t.id AND b.claimed_by IS NULL AND b.state <> 'deleted'";
    let sql = &format!(
        "SELECT t.id, coalesce(u.bytes, 0), coalesce(u.blobs, 0), \
         (SELECT coalesce(sum(b.length), 0) {has}), (SELECT count(*) {has}) \
         FROM tenants t LEFT JOIN usages u ON u.tenant_id = t.id WHERE t.id > ?1 ORDER BY t.id LIMIT ?2"
    );
    rows::all(connection, sql, params![after_text(after), stored(limit as u64)], |row| {
        let count = |column| rows::count(row, column);
        let usage = Usage { tenant: rows::id(row, 0)?, bytes: count(1)?, blobs: count(2)? };
        Ok(UsageFile { usage, bytes: count(3)?, blobs: count(4)? })
    })
}

pub fn unreferenced(
    connection: &Connection,
    after: Option<BlobId>,
    limit: usize,
) -> rusqlite::Result<Vec<Blob>> {
    rows::all(connection, &unreferenced_sql(), params![after_text(after), stored(limit as u64)], read)
}

pub fn unreferenced_sql() -> String {
    [BLOB, " WHERE refs = 0 AND state <> 'deleted' AND id > ?1 ORDER BY id LIMIT ?2"].concat()
}

pub fn files_after(
    connection: &Connection,
    after: Option<BlobId>,
    limit: usize,
) -> rusqlite::Result<Vec<BlobFile>> {
    snapshot(connection, || {
        let sql = [BLOB, " WHERE id > ?1 ORDER BY id LIMIT ?2"].concat();
        let blobs = rows::all(connection, &sql, params![after_text(after), stored(limit as u64)], read)?;
        blobs.into_iter().map(|blob| file_of(connection, blob)).collect()
    })
}

fn file_of(connection: &Connection, blob: Blob) -> rusqlite::Result<BlobFile> {
    let refs = "SELECT \
        (SELECT count(*) FROM version_entries JOIN versions ON id = version_id WHERE blob_id = ?1 AND NOT purged) \
        + (SELECT count(*) FROM bundle_artifacts JOIN bundles USING (exec_id) WHERE blob_id = ?1 AND NOT dropped) \
        + (SELECT count(*) FROM caches WHERE blob_id = ?1 AND NOT dropped) \
        + (SELECT count(*) FROM logs WHERE blob_id = ?1)";
    let inline = "SELECT length(bytes) FROM blob_bytes WHERE blob_id = ?1";
    let id = blob.id.text();
    Ok(BlobFile {
        inline_bytes: rows::one(connection, inline, [id.as_str()], |row| rows::count(row, 0))?,
        refs: rows::one(connection, refs, [id.as_str()], |row| rows::count(row, 0))?.unwrap_or(0),
        events: events_of(connection, id.as_str())?,
        blob,
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Blob> {
    Ok(Blob {
        id: rows::id(row, 0)?,
        digest: rows::digest(row, 1)?,
        length: rows::count(row, 2)?,
        state: rows::state(row, 3)?,
        refs: rows::count(row, 4)?,
        barrier_until: rows::time(row, 5)?,
        epoch: row.get(6)?,
        retention_until: rows::maybe_time(row, 7)?,
        unmarked_by: rows::maybe_id(row, 8)?,
        claimed_by: rows::maybe_id(row, 9)?,
        created_at: rows::time(row, 10)?,
        updated_at: rows::time(row, 11)?,
        inline: row.get(12)?,
    })
}

/// First those that are there: one that is claimed makes room for the next of its digest in the same batch.
pub fn write(connection: &Connection, blobs: &Shelf<Blob>) -> rusqlite::Result<()> {
    blobs.writes().try_for_each(|(before, blob)| match before {
        None => Ok(()),
        Some(before) if is_touch(before, blob) => touch(connection, blob),
        Some(_) => update(connection, blob),
    })?;
    let mut new = blobs.writes().filter(|(before, _)| before.is_none());
    new.try_for_each(|(_, blob)| insert(connection, blob))
}

/// A promise, and nothing that an index asks for. SQLite goes by the columns a statement names.
fn is_touch(before: &Blob, it: &Blob) -> bool {
    let Blob { barrier_until, epoch, updated_at, .. } = *it;
    *it == Blob { barrier_until, epoch, updated_at, ..before.clone() }
}

fn touch(connection: &Connection, it: &Blob) -> rusqlite::Result<()> {
    let sql = "UPDATE blobs SET barrier_until = ?2, epoch = ?3, updated_at = ?4 WHERE id = ?1";
    let (barrier_until, updated_at) = (it.barrier_until.as_micros(), it.updated_at.as_micros());
    connection.prepare_cached(sql)?.execute(params![
        it.id.text().as_str(),
        barrier_until,
        it.epoch,
        updated_at
    ])?;
    Ok(())
}

fn update(connection: &Connection, it: &Blob) -> rusqlite::Result<()> {
    let sql = "UPDATE blobs SET state = ?2, refs = ?3, barrier_until = ?4, epoch = ?5, retention_until = ?6, \
               unmarked_by = ?7, claimed_by = ?8, updated_at = ?9 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![
        it.id.text().as_str(),
        it.state.get().as_str(),
        stored(it.refs),
        it.barrier_until.as_micros(),
        it.epoch,
        it.retention_until.map(|at| at.as_micros()),
        it.unmarked_by.map(|id| id.to_string()),
        it.claimed_by.map(|id| id.to_string()),
        it.updated_at.as_micros(),
    ])?;
    Ok(())
}

fn insert(connection: &Connection, it: &Blob) -> rusqlite::Result<()> {
    let sql = "INSERT INTO blobs (id, digest, length, state, refs, barrier_until, epoch, retention_until, unmarked_by, \
               claimed_by, created_at, updated_at, inline) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    connection.prepare_cached(sql)?.execute(params![
        it.id.text().as_str(),
        it.digest.as_bytes(),
        stored(it.length),
        it.state.get().as_str(),
        stored(it.refs),
        it.barrier_until.as_micros(),
        it.epoch,
        it.retention_until.map(|at| at.as_micros()),
        it.unmarked_by.map(|id| id.to_string()),
        it.claimed_by.map(|id| id.to_string()),
        it.created_at.as_micros(),
        it.updated_at.as_micros(),
        it.inline,
    ])?;
    Ok(())
}

const BYTES: &str = "SELECT bytes FROM blob_bytes WHERE blob_id = ?1";

pub fn bytes(connection: &Connection, id: BlobId) -> rusqlite::Result<Option<Arc<[u8]>>> {
    rows::one(connection, BYTES, [id.text().as_str()], |row| Ok(row.get_ref(0)?.as_blob()?.into()))
}

/// After the blobs themselves: bytes come to one that is there, and go from one that is deleted.
pub fn write_bytes(connection: &Connection, rows: &Appended) -> rusqlite::Result<()> {
    for BlobBytes { blob, bytes } in &rows.blob_bytes {
        let sql = "INSERT INTO blob_bytes (blob_id, bytes) VALUES (?1, ?2)";
        connection.prepare_cached(sql)?.execute(params![blob.text().as_str(), &**bytes])?;
    }
    for blob in &rows.bytes_gone {
        connection
            .prepare_cached("DELETE FROM blob_bytes WHERE blob_id = ?1")?
            .execute([blob.text().as_str()])?;
    }
    Ok(())
}

pub fn write_possessions(connection: &Connection, possessions: &Shelf<Possession>) -> rusqlite::Result<()> {
    let insert = "INSERT INTO possessions (tenant_id, digest, blob_id, created_at) VALUES (?1, ?2, ?3, ?4)";
    let update = "UPDATE possessions SET blob_id = ?3, created_at = ?4 WHERE tenant_id = ?1 AND digest = ?2";
    for (before, it) in possessions.writes() {
        let (tenant, blob, created_at) = (it.key.tenant.text(), it.blob.text(), it.created_at.as_micros());
        let params = params![tenant.as_str(), it.key.digest.as_bytes(), blob.as_str(), created_at];
        connection.prepare_cached(if before.is_none() { insert } else { update })?.execute(params)?;
    }
    Ok(())
}

pub fn write_usages(connection: &Connection, usages: &Shelf<Usage>) -> rusqlite::Result<()> {
    let insert = "INSERT INTO usages (tenant_id, bytes, blobs) VALUES (?1, ?2, ?3)";
    let update = "UPDATE usages SET bytes = ?2, blobs = ?3 WHERE tenant_id = ?1";
    for (before, it) in usages.writes() {
        let tenant = it.tenant.text();
        let params = params![tenant.as_str(), stored(it.bytes), stored(it.blobs)];
        connection.prepare_cached(if before.is_none() { insert } else { update })?.execute(params)?;
    }
    Ok(())
}
