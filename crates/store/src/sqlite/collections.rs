//! The collector and its runs.

use decisions::book::Shelf;
use decisions::records::{Collection, Collector, Progress};
use rusqlite::{Connection, params};
use wire::CollectionId;

use crate::sqlite::rows::{self, stored};

pub fn collection(connection: &Connection, id: CollectionId) -> rusqlite::Result<Option<Collection>> {
    let sql = "SELECT id, state, epoch, holder, held_until, marked, kept, deleted, bytes, message, started_at, \
               mark_completed_at, finished_at FROM collections WHERE id = ?1";
    rows::one(connection, sql, [id.text().as_str()], |row| {
        Ok(Collection {
            id: rows::id(row, 0)?,
            state: rows::text(row, 1, Progress::parse)?,
            epoch: row.get(2)?,
            holder: row.get::<_, i64>(3)?.cast_unsigned(),
            held_until: rows::time(row, 4)?,
            marked: rows::count(row, 5)?,
            kept: rows::count(row, 6)?,
            deleted: rows::count(row, 7)?,
            bytes: rows::count(row, 8)?,
            message: row.get(9)?,
            started_at: rows::time(row, 10)?,
            mark_completed_at: rows::maybe_time(row, 11)?,
            finished_at: rows::maybe_time(row, 12)?,
        })
    })
}

pub fn collector(connection: &Connection) -> rusqlite::Result<Option<Collector>> {
    let sql = "SELECT epoch, running FROM collector WHERE one = 1";
    rows::one(connection, sql, [], |row| {
        Ok(Collector { epoch: row.get(0)?, running: rows::maybe_id(row, 1)? })
    })
}

const INSERT: &str = "INSERT INTO collections (id, state, held_until, holder, marked, kept, deleted, bytes, message, \
     mark_completed_at, finished_at, epoch, started_at) VALUES \
     (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
const UPDATE: &str = "UPDATE collections SET state = ?2, held_until = ?3, holder = ?4, marked = ?5, kept = ?6, \
     deleted = ?7, bytes = ?8, message = ?9, mark_completed_at = ?10, finished_at = ?11 \
     WHERE id = ?1 AND epoch = ?12 AND started_at = ?13";

/// First those that are there: one that ends makes room for the next in the same batch.
pub fn write(connection: &Connection, collections: &Shelf<Collection>) -> rusqlite::Result<()> {
    let (changed, new): (Vec<_>, Vec<_>) = collections.writes().partition(|(before, _)| before.is_some());
    changed.iter().try_for_each(|(_, it)| write_one(connection, UPDATE, it))?;
    new.iter().try_for_each(|(_, it)| write_one(connection, INSERT, it))
}

fn write_one(connection: &Connection, sql: &str, it: &Collection) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute(params![
        it.id.text().as_str(),
        it.state.as_str(),
        it.held_until.as_micros(),
        it.holder.cast_signed(),
        stored(it.marked),
        stored(it.kept),
        stored(it.deleted),
        stored(it.bytes),
        it.message,
        it.mark_completed_at.map(|at| at.as_micros()),
        it.finished_at.map(|at| at.as_micros()),
        it.epoch,
        it.started_at.as_micros(),
    ])?;
    Ok(())
}

pub fn write_collector(connection: &Connection, collector: &Shelf<Collector>) -> rusqlite::Result<()> {
    let insert = "INSERT INTO collector (one, epoch, running) VALUES (1, ?1, ?2)";
    let update = "UPDATE collector SET epoch = ?1, running = ?2 WHERE one = 1";
    for (before, it) in collector.writes() {
        let sql = if before.is_none() { insert } else { update };
        connection.prepare_cached(sql)?.execute(params![it.epoch, it.running.map(|id| id.to_string())])?;
    }
    Ok(())
}
