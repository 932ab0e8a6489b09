//! What jobs printed, in its two tables: how far each log has come, and the bytes that are kept.

use decisions::book::{Appended, Shelf};
use decisions::doctor::LogFile;
use decisions::records::{Log, LogChunk};
use rusqlite::{Connection, Row, params};
use wire::{ExecId, TenantId, Time};

use crate::LOG_CHUNKS_MAX;
use crate::sqlite::blobs;
use crate::sqlite::finders::snapshot;
use crate::sqlite::lists::after_text;
use crate::sqlite::rows::{self, count, stored};

const LOG: &str = "SELECT exec_id, received, head, tail_from, blob_id FROM logs";

pub fn log(connection: &Connection, id: ExecId) -> rusqlite::Result<Option<Log>> {
    let sql = [LOG, " WHERE exec_id = ?1"].concat();
    rows::one(connection, &sql, [id.text().as_str()], read)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Log> {
    Ok(Log {
        execution: rows::id(row, 0)?,
        received: count(row, 1)?,
        head: count(row, 2)?,
        tail_from: count(row, 3)?,
        blob: rows::maybe_id(row, 4)?,
    })
}

/// Whatever is archived is not walked over.
pub const DUE: &str = "SELECT l.exec_id, received, head, tail_from, blob_id, tenant_id FROM logs l \
     CROSS JOIN executions e ON e.id = l.exec_id CROSS JOIN jobs j ON j.id = e.job_id \
     WHERE blob_id IS NULL AND l.exec_id > ?1 AND e.finished_at <= ?2 ORDER BY l.exec_id LIMIT ?3";

pub fn due(
    connection: &Connection,
    ended_by: Time,
    after: Option<ExecId>,
    limit: usize,
) -> rusqlite::Result<Vec<(Log, TenantId)>> {
    let params = params![after_text(after), ended_by.as_micros(), stored(limit as u64)];
    rows::all(connection, DUE, params, |row| Ok((read(row)?, rows::id(row, 5)?)))
}

pub fn files_after(
    connection: &Connection,
    after: Option<ExecId>,
    limit: usize,
) -> rusqlite::Result<Vec<LogFile>> {
    snapshot(connection, || {
        let sql = [LOG, " WHERE exec_id > ?1 ORDER BY exec_id LIMIT ?2"].concat();
        let logs = rows::all(connection, &sql, params![after_text(after), stored(limit as u64)], read)?;
        logs.into_iter().map(|log| file_of(connection, log)).collect()
    })
}

fn file_of(connection: &Connection, log: Log) -> rusqlite::Result<LogFile> {
    let kept = "SELECT coalesce(sum(length(bytes)), 0) FROM log_chunks WHERE exec_id = ?1";
    let live = "SELECT finished_at IS NULL FROM executions WHERE id = ?1";
    let id = log.execution.text();
    Ok(LogFile {
        chunked: rows::one(connection, kept, [id.as_str()], |row| count(row, 0))?.unwrap_or(0),
        live: rows::one(connection, live, [id.as_str()], |row| row.get(0))?.unwrap_or(false),
        blob: log.blob.map_or(Ok(None), |blob| blobs::blob(connection, blob))?,
        log,
    })
}

/// Begins with the last chunk that starts at `from` or before: it may reach beyond.
const CHUNKS: &str = "
    SELECT exec_id, \"offset\", bytes FROM log_chunks
    WHERE exec_id = ?1 AND \"offset\" >= coalesce(
        (SELECT max(\"offset\") FROM log_chunks WHERE exec_id = ?1 AND \"offset\" <= ?2), 0)
    ORDER BY \"offset\" LIMIT ?3";

pub fn log_chunks(
    connection: &Connection,
    id: ExecId,
    from: u64,
    bytes_max: usize,
) -> rusqlite::Result<Vec<LogChunk>> {
    let mut statement = connection.prepare_cached(CHUNKS)?;
    // One more than is returned: the first may end before it is wanted.
    let mut found = statement.query(params![id.text().as_str(), stored(from), LOG_CHUNKS_MAX as i64 + 1])?;
    let (mut chunks, mut total) = (Vec::new(), 0);
    while let Some(row) = found.next()? {
        let length = row.get_ref(2)?.as_blob()?.len();
        if count(row, 1)? + length as u64 <= from {
            continue;
        }
        total += length;
        if chunks.len() == LOG_CHUNKS_MAX || (!chunks.is_empty() && total > bytes_max) {
            break;
        }
        let bytes = row.get_ref(2)?.as_blob()?.into();
        chunks.push(LogChunk { execution: rows::id(row, 0)?, offset: count(row, 1)?, bytes });
    }
    Ok(chunks)
}

/// Does nothing, and prepares nothing, for a batch without log lines.
pub fn write(connection: &Connection, logs: &Shelf<Log>, rows: &Appended) -> rusqlite::Result<()> {
    for (_, it) in logs.writes() {
        let sql = "INSERT INTO logs (exec_id, received, head, tail_from) VALUES (?1, ?2, ?3, ?4) \
                   ON CONFLICT DO UPDATE SET received = excluded.received, head = excluded.head, \
                   tail_from = excluded.tail_from";
        let execution = it.execution.text();
        let params = params![execution.as_str(), stored(it.received), stored(it.head), stored(it.tail_from)];
        connection.prepare_cached(sql)?.execute(params)?;
        // Apart from the above: a statement that can set it would touch its indexes with every message.
        if let Some(blob) = it.blob {
            let sql = "UPDATE logs SET blob_id = ?2 WHERE exec_id = ?1";
            connection.prepare_cached(sql)?.execute([execution.as_str(), blob.text().as_str()])?;
        }
    }
    for chunk in &rows.log_chunks {
        let sql = "INSERT INTO log_chunks (exec_id, \"offset\", bytes) VALUES (?1, ?2, ?3)";
        let execution = chunk.execution.text();
        let params = params![execution.as_str(), stored(chunk.offset), &*chunk.bytes];
        connection.prepare_cached(sql)?.execute(params)?;
    }
    for trim in &rows.log_trims {
        let sql = "DELETE FROM log_chunks WHERE exec_id = ?1 AND \"offset\" >= ?2 AND \"offset\" < ?3 \
                   AND \"offset\" + length(bytes) <= ?3";
        let execution = trim.execution.text();
        let params = params![execution.as_str(), stored(trim.from), stored(trim.to)];
        connection.prepare_cached(sql)?.execute(params)?;
    }
    Ok(())
}
