//! What jobs printed: how far each log has come, and the bytes that are kept.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use decisions::doctor::LogFile;
use decisions::records::{Blob, Log, LogChunk, LogTrim};
use wire::{ExecId, TenantId};

use crate::postgres::files::{filed, grouped, page};
use crate::postgres::finders::{after_text, ask_one, bound, micros_ago};
use crate::postgres::pool::Pool;
use crate::postgres::round::{Param, Round};
use crate::postgres::rows::{Cells, long};
use crate::postgres::tables::{record, seen, selected};
use crate::{LOG_CHUNKS_MAX, StoreError};

const INSERT_CHUNKS: &str = "
    INSERT INTO log_chunks (exec_id, \"offset\", bytes) SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])";

/// The length of a value is known without reading it.
const TRIM: &str = "
    DELETE FROM log_chunks WHERE ctid = ANY (ARRAY (
        SELECT x.ctid FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS u (exec_id, first, last)
        CROSS JOIN LATERAL (
            SELECT t.ctid FROM log_chunks t
            WHERE t.exec_id = u.exec_id AND t.\"offset\" >= u.first AND t.\"offset\" < u.last
                AND t.\"offset\" + octet_length(t.bytes) <= u.last
            OFFSET 0) x))";

static LOG: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM logs t WHERE exec_id = $1", selected::<Log>("t")));

/// Whatever is archived is not walked over.
pub static DUE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {}, j.tenant_id FROM logs t JOIN executions e ON e.id = t.exec_id JOIN jobs j ON j.id = e.job_id
         WHERE t.blob_id IS NULL AND t.exec_id > $1
             AND e.finished_at <= (SELECT clock_timestamp() - $2::bigint * interval '1 microsecond')
         ORDER BY t.exec_id LIMIT $3",
        selected::<Log>("t")
    )
});

static LOGS_AFTER: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM logs t WHERE exec_id > $1 ORDER BY exec_id LIMIT $2", selected::<Log>("t"))
});
const CHUNKED: &str = "
    SELECT exec_id, sum(octet_length(bytes))::bigint FROM log_chunks WHERE exec_id = ANY ($1::text[])
    GROUP BY exec_id";
const LIVE: &str = "SELECT id FROM executions WHERE id = ANY ($1::text[]) AND finished_at IS NULL";
static BLOBS_OF_LOGS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM blobs t WHERE id IN (SELECT blob_id FROM logs WHERE exec_id = ANY ($1::text[]))",
        selected::<Blob>("t")
    )
});

/// Begins with the last chunk that starts at the offset or before: it may reach beyond. The sum goes over no more rows
/// than may be returned; bytes are read only of those that are.
const CHUNKS: &str = "
    SELECT exec_id, \"offset\", bytes FROM (
        SELECT *, row_number() OVER found AS place, sum(octet_length(bytes)) OVER found AS total FROM (
            SELECT * FROM log_chunks
            WHERE exec_id = $1 AND \"offset\" >= coalesce(
                (SELECT max(\"offset\") FROM log_chunks WHERE exec_id = $1 AND \"offset\" <= $2), 0)
                AND \"offset\" + octet_length(bytes) > $2
            ORDER BY \"offset\" LIMIT $4) kept
        WINDOW found AS (ORDER BY \"offset\")) summed
    WHERE place = 1 OR total <= $3
    ORDER BY \"offset\"";

pub fn insert_chunks<'a>(round: &mut Round<'a>, chunks: &'a [LogChunk]) {
    if chunks.is_empty() {
        return;
    }
    let executions: Vec<String> = chunks.iter().map(|chunk| chunk.execution.to_string()).collect();
    let offsets: Vec<i64> = chunks.iter().map(|chunk| long(chunk.offset)).collect();
    let bytes: Vec<&[u8]> = chunks.iter().map(|chunk| &*chunk.bytes).collect();
    round.push(INSERT_CHUNKS, vec![Box::new(executions), Box::new(offsets), Box::new(bytes)]);
}

pub fn trim(round: &mut Round<'_>, trims: &[LogTrim]) {
    if trims.is_empty() {
        return;
    }
    let executions: Vec<String> = trims.iter().map(|trim| trim.execution.to_string()).collect();
    let from: Vec<i64> = trims.iter().map(|trim| long(trim.from)).collect();
    let to: Vec<i64> = trims.iter().map(|trim| long(trim.to)).collect();
    round.push(TRIM, vec![Box::new(executions), Box::new(from), Box::new(to)]);
}

pub async fn log(readers: &Pool, id: ExecId) -> Result<Option<Log>, StoreError> {
    ask_one(readers, &LOG, vec![Box::new(id.to_string())]).await?.first().map(record).transpose()
}

pub async fn log_chunks(
    readers: &Pool,
    id: ExecId,
    from: u64,
    bytes_max: usize,
) -> Result<Vec<LogChunk>, StoreError> {
    let params: Vec<Param<'static>> = vec![
        Box::new(id.to_string()),
        Box::new(long(from)),
        Box::new(long(bytes_max as u64)),
        Box::new(LOG_CHUNKS_MAX as i64),
    ];
    let rows = ask_one(readers, CHUNKS, params).await?;
    let chunk = |row| {
        let mut cells = Cells::of(row);
        let (execution, offset) = (cells.next()?, cells.next()?);
        Ok(LogChunk { execution, offset, bytes: cells.raw::<&[u8]>()?.into() })
    };
    rows.iter().map(chunk).collect()
}

pub async fn due(
    readers: &Pool,
    ago: Duration,
    after: Option<ExecId>,
    limit: usize,
) -> Result<Vec<(Log, TenantId)>, StoreError> {
    let params: Vec<Param<'static>> =
        vec![Box::new(after_text(after)), Box::new(micros_ago(ago)), Box::new(bound(limit))];
    let with_tenant = |row| {
        let mut cells = Cells::of(row);
        let (_, log): (_, Arc<Log>) = seen(&mut cells)?;
        Ok((*log, cells.next()?))
    };
    ask_one(readers, &DUE, params).await?.iter().map(with_tenant).collect()
}

pub async fn files_after(
    readers: &Pool,
    after: Option<ExecId>,
    limit: usize,
) -> Result<Vec<LogFile>, StoreError> {
    let reader = readers.take().await?;
    let params: Vec<Param<'static>> = vec![Box::new(after_text(after)), Box::new(bound(limit))];
    let logs = page(&reader, &LOGS_AFTER, params).await?;
    let logs: Vec<Log> = logs.iter().map(record).collect::<Result<_, _>>()?;
    let keys: Vec<String> = logs.iter().map(|log| log.execution.to_string()).collect();
    let [chunked, live, blobs] = filed(reader, &keys, [CHUNKED, LIVE, &BLOBS_OF_LOGS]).await?;
    let chunked = grouped(&chunked, |row| {
        let mut cells = Cells::of(row);
        Ok((cells.next::<ExecId>()?, cells.next::<u64>()?))
    })?;
    let live = grouped(&live, |row| Ok((Cells::of(row).next::<ExecId>()?, ())))?;
    let blobs = grouped(&blobs, |row| record(row).map(|blob: Blob| (blob.id, blob)))?;
    let file = |log: Log| LogFile {
        chunked: chunked.get(&log.execution).into_iter().flatten().sum(),
        live: live.contains_key(&log.execution),
        blob: log.blob.and_then(|id| blobs.get(&id)?.first().cloned()),
        log,
    };
    Ok(logs.into_iter().map(file).collect())
}
