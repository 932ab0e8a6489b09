//! Versions and their entries. The database lets only a draft's entries change, so they are written while it is one.

use std::sync::Arc;

use decisions::book::Shelf;
use decisions::records::{Entry, Version, VersionName};
use machines::{Machine, version};
use rusqlite::{Connection, Row, params};
use wire::{TenantId, VersionId};

use crate::sqlite::finders::snapshot;
use crate::sqlite::lists::after_text;
use crate::sqlite::rows::{self, stored};

const VERSION: &str = "SELECT id, tenant_id, package, version, state, quarantine, content_hash, exec_id, \
     retention_until, purged, created_at, updated_at, published_at FROM versions";

pub fn version(connection: &Connection, id: VersionId) -> rusqlite::Result<Option<Version>> {
    let sql = [VERSION, " WHERE id = ?1"].concat();
    let version = rows::one(connection, &sql, [id.text().as_str()], read)?;
    version.map(|version| with_entries(connection, version)).transpose()
}

pub fn id_named(connection: &Connection, name: &VersionName) -> rusqlite::Result<Option<VersionId>> {
    let sql = "SELECT id FROM versions WHERE tenant_id = ?1 AND package = ?2 AND version = ?3";
    let tenant = name.tenant.text();
    rows::one(connection, sql, (tenant.as_str(), &name.package, &name.version), rows::read_id)
}

pub fn version_named(connection: &Connection, name: &VersionName) -> rusqlite::Result<Option<Version>> {
    snapshot(connection, || match id_named(connection, name)? {
        Some(id) => version(connection, id),
        None => Ok(None),
    })
}

pub fn versions_of(
    connection: &Connection,
    tenant: TenantId,
    package: Option<&str>,
    after: Option<VersionId>,
    limit: usize,
) -> rusqlite::Result<Vec<Version>> {
    let (tenant, after, limit) = (tenant.text(), after_text(after), stored(limit as u64));
    snapshot(connection, || {
        let versions = match package {
            None => {
                let sql = [VERSION, " WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3"].concat();
                rows::all(connection, &sql, params![tenant.as_str(), after, limit], read)?
            }
            Some(package) => {
                let rest = " WHERE tenant_id = ?1 AND package = ?4 AND id > ?2 ORDER BY id LIMIT ?3";
                let params = params![tenant.as_str(), after, limit, package];
                rows::all(connection, &[VERSION, rest].concat(), params, read)?
            }
        };
        versions.into_iter().map(|version| with_entries(connection, version)).collect()
    })
}

fn with_entries(connection: &Connection, version: Version) -> rusqlite::Result<Version> {
    let sql = "SELECT path, digest, length, blob_id FROM version_entries WHERE version_id = ?1 ORDER BY path";
    let entries = rows::all(connection, sql, [version.id.text().as_str()], |row| {
        Ok(Entry {
            path: row.get(0)?,
            digest: rows::digest(row, 1)?,
            length: rows::count(row, 2)?,
            blob: rows::id(row, 3)?,
        })
    })?;
    Ok(Version { entries: Arc::new(entries), ..version })
}

/// Without its entries.
fn read(row: &Row<'_>) -> rusqlite::Result<Version> {
    Ok(Version {
        id: rows::id(row, 0)?,
        name: VersionName { tenant: rows::id(row, 1)?, package: row.get(2)?, version: row.get(3)? },
        state: rows::state(row, 4)?,
        quarantine: row.get(5)?,
        entries: Arc::default(),
        content_hash: rows::maybe_digest(row, 6)?,
        execution: rows::maybe_id(row, 7)?,
        retention_until: rows::maybe_time(row, 8)?,
        purged: row.get(9)?,
        created_at: rows::time(row, 10)?,
        updated_at: rows::time(row, 11)?,
        published_at: rows::maybe_time(row, 12)?,
    })
}

pub fn write(connection: &Connection, versions: &Shelf<Version>) -> rusqlite::Result<()> {
    for (before, version) in versions.writes() {
        match before {
            None => {
                insert_draft(connection, version)?;
                insert_entries(connection, version)?;
            }
            Some(before) if !has_same_entries(before, version) => {
                let sql = "DELETE FROM version_entries WHERE version_id = ?1";
                connection.prepare_cached(sql)?.execute([version.id.text().as_str()])?;
                insert_entries(connection, version)?;
            }
            Some(_) => {}
        }
        update(connection, version)?;
    }
    Ok(())
}

fn has_same_entries(before: &Version, version: &Version) -> bool {
    Arc::ptr_eq(&before.entries, &version.entries) || before.entries == version.entries
}

/// The columns that never change; [`update`] fills the others in the same transaction.
fn insert_draft(connection: &Connection, it: &Version) -> rusqlite::Result<()> {
    let sql = "INSERT INTO versions (id, tenant_id, package, version, created_at, state, purged, updated_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?5)";
    connection.prepare_cached(sql)?.execute(params![
        it.id.text().as_str(),
        it.name.tenant.text().as_str(),
        it.name.package,
        it.name.version,
        it.created_at.as_micros(),
        version::State::Draft.as_str(),
    ])?;
    Ok(())
}

fn insert_entries(connection: &Connection, it: &Version) -> rusqlite::Result<()> {
    let sql =
        "INSERT INTO version_entries (version_id, path, digest, length, blob_id) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut insert = connection.prepare_cached(sql)?;
    let version = it.id.text();
    for entry in it.entries.iter() {
        let (digest, blob) = (entry.digest.as_bytes(), entry.blob.text());
        insert.execute(params![version.as_str(), entry.path, digest, stored(entry.length), blob.as_str()])?;
    }
    Ok(())
}

fn update(connection: &Connection, it: &Version) -> rusqlite::Result<()> {
    let sql = "UPDATE versions SET state = ?2, quarantine = ?3, content_hash = ?4, exec_id = ?5, retention_until = ?6, \
               purged = ?7, updated_at = ?8, published_at = ?9 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![
        it.id.text().as_str(),
        it.state.get().as_str(),
        it.quarantine,
        it.content_hash.as_ref().map(|hash| hash.as_bytes()),
        it.execution.map(|id| id.to_string()),
        it.retention_until.map(|at| at.as_micros()),
        it.purged,
        it.updated_at.as_micros(),
        it.published_at.map(|at| at.as_micros()),
    ])?;
    Ok(())
}
