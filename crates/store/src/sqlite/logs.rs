//! What jobs printed, in its two tables: how far each log has come, and the bytes that are kept.

use decisions::book::{Appended, Shelf};
use decisions::records::{Log, LogChunk};
use rusqlite::{Connection, params};
use wire::ExecId;

use crate::LOG_CHUNKS_MAX;
use crate::sqlite::rows::{self, count, stored};

pub fn log(connection: &Connection, id: ExecId) -> rusqlite::Result<Option<Log>> {
    let sql = "SELECT exec_id, received, head, tail_from FROM logs WHERE exec_id = ?1";
    rows::one(connection, sql, [id.text().as_str()], |row| {
        Ok(Log {
            execution: rows::id(row, 0)?,
            received: count(row, 1)?,
            head: count(row, 2)?,
            tail_from: count(row, 3)?,
        })
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
