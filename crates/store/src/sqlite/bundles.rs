//! The artifacts of jobs, in their two tables.

use std::sync::Arc;

use decisions::book::Shelf;
use decisions::records::{Artifact, Bundle};
use rusqlite::{Connection, Row, params};
use wire::{ExecId, JobId};

use crate::sqlite::finders::snapshot;
use crate::sqlite::rows::{self, stored};

const BUNDLE: &str = "SELECT exec_id, job_id, tenant_id, tests, keep_until, dropped, created_at FROM bundles";

pub fn bundle(connection: &Connection, id: ExecId) -> rusqlite::Result<Option<Bundle>> {
    let sql = [BUNDLE, " WHERE exec_id = ?1"].concat();
    let bundle = rows::one(connection, &sql, [id.text().as_str()], read)?;
    bundle.map(|bundle| with_artifacts(connection, bundle)).transpose()
}

pub fn bundle_of(connection: &Connection, job: JobId) -> rusqlite::Result<Option<Bundle>> {
    snapshot(connection, || {
        let sql = [BUNDLE, " WHERE job_id = ?1 ORDER BY created_at DESC, exec_id DESC LIMIT 1"].concat();
        let bundle = rows::one(connection, &sql, [job.text().as_str()], read)?;
        bundle.map(|bundle| with_artifacts(connection, bundle)).transpose()
    })
}

fn with_artifacts(connection: &Connection, bundle: Bundle) -> rusqlite::Result<Bundle> {
    let sql = "SELECT kind, path, digest, length, blob_id FROM bundle_artifacts WHERE exec_id = ?1 ORDER BY position";
    let artifacts = rows::all(connection, sql, [bundle.execution.text().as_str()], |row| {
        Ok(Artifact {
            kind: row.get(0)?,
            path: row.get(1)?,
            digest: rows::digest(row, 2)?,
            length: rows::count(row, 3)?,
            blob: rows::id(row, 4)?,
        })
    })?;
    Ok(Bundle { artifacts: Arc::new(artifacts), ..bundle })
}

/// Without its artifacts.
fn read(row: &Row<'_>) -> rusqlite::Result<Bundle> {
    Ok(Bundle {
        execution: rows::id(row, 0)?,
        job: rows::id(row, 1)?,
        tenant: rows::id(row, 2)?,
        artifacts: Arc::default(),
        tests: row.get(3)?,
        keep_until: rows::maybe_time(row, 4)?,
        dropped: row.get(5)?,
        created_at: rows::time(row, 6)?,
    })
}

pub fn write(connection: &Connection, bundles: &Shelf<Bundle>) -> rusqlite::Result<()> {
    for (before, bundle) in bundles.writes() {
        write_one(connection, before.is_none(), bundle)?;
        match before {
            None => insert_artifacts(connection, bundle)?,
            Some(before) if !has_same_artifacts(before, bundle) => {
                let sql = "DELETE FROM bundle_artifacts WHERE exec_id = ?1";
                connection.prepare_cached(sql)?.execute([bundle.execution.text().as_str()])?;
                insert_artifacts(connection, bundle)?;
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn has_same_artifacts(before: &Bundle, bundle: &Bundle) -> bool {
    Arc::ptr_eq(&before.artifacts, &bundle.artifacts) || before.artifacts == bundle.artifacts
}

const INSERT: &str = "INSERT INTO bundles (exec_id, job_id, tenant_id, tests, keep_until, dropped, created_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const UPDATE: &str = "UPDATE bundles SET tests = ?4, keep_until = ?5, dropped = ?6 \
     WHERE exec_id = ?1 AND job_id = ?2 AND tenant_id = ?3 AND created_at = ?7";

fn write_one(connection: &Connection, is_new: bool, it: &Bundle) -> rusqlite::Result<()> {
    let sql = if is_new { INSERT } else { UPDATE };
    connection.prepare_cached(sql)?.execute(params![
        it.execution.text().as_str(),
        it.job.text().as_str(),
        it.tenant.text().as_str(),
        it.tests,
        it.keep_until.map(|at| at.as_micros()),
        it.dropped,
        it.created_at.as_micros(),
    ])?;
    Ok(())
}

fn insert_artifacts(connection: &Connection, bundle: &Bundle) -> rusqlite::Result<()> {
    let sql = "INSERT INTO bundle_artifacts (exec_id, position, kind, path, digest, length, blob_id) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut insert = connection.prepare_cached(sql)?;
    let execution = bundle.execution.text();
    for (position, it) in bundle.artifacts.iter().enumerate() {
        insert.execute(params![
            execution.as_str(),
            position as i64,
            it.kind,
            it.path,
            it.digest.as_bytes(),
            stored(it.length),
            it.blob.text().as_str(),
        ])?;
    }
    Ok(())
}
