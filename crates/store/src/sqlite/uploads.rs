//! Uploads in their table.

use decisions::book::Shelf;
use decisions::records::{Measured, Upload};
use machines::Machine;
use rusqlite::{Connection, Row, params};
use wire::UploadId;

use crate::sqlite::rows::{self, stored};

const UPLOAD: &str = "SELECT id, tenant_id, digest, length, blob_id, state, parts, etags, multipart, measured_digest, \
     measured_length, got, exec_id, expires_at, litter, created_at, updated_at FROM uploads";

pub fn upload(connection: &Connection, id: UploadId) -> rusqlite::Result<Option<Upload>> {
    rows::one(connection, &[UPLOAD, " WHERE id = ?1"].concat(), [id.text().as_str()], read)
}

pub fn litter(connection: &Connection, limit: i64) -> rusqlite::Result<Vec<Upload>> {
    rows::all(connection, &litter_sql(), [limit], read)
}

pub fn litter_sql() -> String {
    [UPLOAD, " WHERE litter ORDER BY id LIMIT ?1"].concat()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Upload> {
    let measured = match rows::maybe_digest(row, 9)? {
        Some(digest) => Some(Measured { digest, length: rows::count(row, 10)? }),
        None => None,
    };
    Ok(Upload {
        id: rows::id(row, 0)?,
        tenant: rows::id(row, 1)?,
        digest: rows::digest(row, 2)?,
        length: rows::count(row, 3)?,
        blob: rows::id(row, 4)?,
        state: rows::state(row, 5)?,
        parts: rows::text(row, 6, |text| serde_json::from_str(text).ok())?,
        etags: rows::text(row, 7, |text| serde_json::from_str(text).ok())?,
        multipart: row.get(8)?,
        measured,
        got: rows::maybe_id(row, 11)?,
        execution: rows::maybe_id(row, 12)?,
        expires_at: rows::time(row, 13)?,
        litter: row.get(14)?,
        created_at: rows::time(row, 15)?,
        updated_at: rows::time(row, 16)?,
    })
}

const INSERT: &str = "INSERT INTO uploads (id, state, parts, etags, multipart, measured_digest, measured_length, got, \
     exec_id, expires_at, litter, updated_at, tenant_id, digest, length, blob_id, created_at) VALUES \
     (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
/// The columns of the second line never change: they are named so that both statements take the same values.
const UPDATE: &str = "UPDATE uploads SET state = ?2, parts = ?3, etags = ?4, multipart = ?5, measured_digest = ?6, \
     measured_length = ?7, got = ?8, exec_id = ?9, expires_at = ?10, litter = ?11, updated_at = ?12 \
     WHERE id = ?1 AND tenant_id = ?13 AND digest = ?14 AND length = ?15 AND blob_id = ?16 AND created_at = ?17";

pub fn write(connection: &Connection, uploads: &Shelf<Upload>) -> rusqlite::Result<()> {
    for (before, it) in uploads.writes() {
        let sql = if before.is_none() { INSERT } else { UPDATE };
        connection.prepare_cached(sql)?.execute(params![
            it.id.text().as_str(),
            it.state.get().as_str(),
            serde_json::to_string(&it.parts).expect("numbers are JSON"),
            serde_json::to_string(&it.etags).expect("texts are JSON"),
            it.multipart,
            it.measured.as_ref().map(|measured| measured.digest.as_bytes()),
            it.measured.map(|measured| stored(measured.length)),
            it.got.map(|id| id.to_string()),
            it.execution.map(|id| id.to_string()),
            it.expires_at.as_micros(),
            it.litter,
            it.updated_at.as_micros(),
            it.tenant.text().as_str(),
            it.digest.as_bytes(),
            stored(it.length),
            it.blob.text().as_str(),
            it.created_at.as_micros(),
        ])?;
    }
    Ok(())
}
