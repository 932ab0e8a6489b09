//! Save: two rounds. The first locks and compares, the second writes and commits.
//!
//! Whoever waits here waits for somebody who is further along the same order of tables and keys, so there is no
//! deadlock. Queue entries are outside that order, and are never waited for.

use decisions::Book;
use decisions::book::Shelf;
use decisions::records::{Attempt, Delivery, Execution, Job, Run, Runner, Tenant, Webhook};
use tokio_postgres::Row;

use crate::StoreError;
use crate::postgres::fault;
use crate::postgres::load::Session;
use crate::postgres::pool::{Lent, Pool};
use crate::postgres::queue::QueueMoves;
use crate::postgres::round::{BEGIN, ROLLBACK, Round};
use crate::postgres::rows::{Cells, Version};
use crate::postgres::tables::{Kind, Versioned, Versions};
use crate::postgres::writes;

pub async fn save(writers: &Pool, session: Session, book: Book) -> Result<(), StoreError> {
    let Session { writer, versions } = session;
    if book.is_unchanged() {
        return match writer {
            Some(lent) => roll_back(lent).await,
            None => Ok(()),
        };
    }
    let is_begun = writer.is_some();
    let lent = match writer {
        Some(lent) => lent,
        None => writers.take().await?,
    };
    // Both rounds are made up before anything is awaited: the book cannot be looked at from two threads.
    let (locks, checks) = locks(&book, &versions, is_begun);
    let writes = writes::round(&book);
    match write(&lent, locks, checks, writes).await {
        Ok(()) => {
            lent.give_back();
            Ok(())
        }
        Err(error) => {
            // How it failed is known; whether the connection can be used again is not our caller's concern.
            let _ = roll_back(lent).await;
            Err(error)
        }
    }
}

async fn write(lent: &Lent, locks: Round<'_>, checks: Vec<Check>, writes: Round<'_>) -> Result<(), StoreError> {
    let answers = lent.connection.run(locks).await.map_err(|failed| fault::not_written(&failed.error))?;
    for (check, rows) in checks.iter().zip(&answers) {
        check.hold(rows)?;
    }
    let commit = writes.len() - 1;
    match lent.connection.run(writes).await {
        Ok(_) => Ok(()),
        // The server said no to a statement before the commit, or the commit was not even sent.
        Err(failed) if failed.at.is_none_or(|at| at < commit && failed.error.as_db_error().is_some()) => {
            Err(fault::not_written(&failed.error))
        }
        Err(failed) => Err(fault::perhaps_written(&failed.error)),
    }
}

async fn roll_back(lent: Lent) -> Result<(), StoreError> {
    let mut round = Round::default();
    round.push(ROLLBACK, vec![]);
    lent.connection.run(round).await.map_err(|failed| fault::not_written(&failed.error))?;
    lent.give_back();
    Ok(())
}

/// What the answer to a statement of the first round must be.
enum Check {
    Nothing,
    /// That many queue entries were there, and nobody else was about to lease them.
    Entries(i64),
    /// The rows have these versions, in this order.
    Versions { table: &'static str, expected: Vec<Option<Version>> },
}

impl Check {
    fn hold(&self, rows: &[Row]) -> Result<(), StoreError> {
        match self {
            Check::Nothing => Ok(()),
            Check::Entries(expected) => {
                let found: i64 = rows.first().map_or(Ok(0), |row| Cells::of(row).next())?;
                if found == *expected { Ok(()) } else { Err(StoreError::Conflict("ready: an entry is taken".into())) }
            }
            Check::Versions { table, expected } => {
                if rows.len() != expected.len() {
                    return Err(StoreError::Conflict(format!("{table}: a row is gone")));
                }
                let found = rows.iter().zip(expected);
                found.into_iter().try_for_each(|(row, expected)| same_version(table, row, *expected))
            }
        }
    }
}

fn same_version(table: &str, row: &Row, expected: Option<Version>) -> Result<(), StoreError> {
    let mut cells = Cells::of(row);
    let key: &str = cells.raw()?;
    cells.skip(row.len() - 2); // the version is the last cell, after the key's
    if Some(cells.next()?) == expected {
        return Ok(());
    }
    Err(StoreError::Conflict(format!("{table} {key}")))
}

/// The order of the tables is the same in every save, and so is that of the rows within a table.
fn locks<'a>(book: &'a Book, versions: &Versions, is_begun: bool) -> (Round<'a>, Vec<Check>) {
    let mut round = Round::default();
    let mut checks = Vec::new();
    if !is_begun {
        round.push(BEGIN, vec![]);
        checks.push(Check::Nothing);
    }
    let left = QueueMoves::of(book).left;
    if !left.is_empty() {
        checks.push(Check::Entries(left.len() as i64));
        round.push(writes::TAKE_FROM_QUEUE, writes::queue_arrays(&left));
    }
    lock::<Tenant>(&book.tenants, versions, &mut round, &mut checks);
    lock::<Run>(&book.runs, versions, &mut round, &mut checks);
    lock::<Job>(&book.jobs, versions, &mut round, &mut checks);
    lock::<Attempt>(&book.attempts, versions, &mut round, &mut checks);
    lock::<Execution>(&book.executions, versions, &mut round, &mut checks);
    lock::<Runner>(&book.runners, versions, &mut round, &mut checks);
    lock::<Delivery>(&book.deliveries, versions, &mut round, &mut checks);
    lock::<Webhook>(&book.webhooks, versions, &mut round, &mut checks);
    (round, checks)
}

/// Locks what is written and what was only read in one statement, so that the keys' order holds over both; with the
/// stronger lock, if there is anything to write.
fn lock<'a, R: Versioned>(
    shelf: &'a Shelf<R>,
    versions: &Versions,
    round: &mut Round<'a>,
    checks: &mut Vec<Check>,
) {
    let written = shelf.writes().filter(|(before, _)| before.is_some()).map(|(_, now)| now);
    let mut touched: Vec<&R> = written.collect();
    let sql = if touched.is_empty() { &R::sql().lock_for_reading } else { &R::sql().lock_for_writing };
    touched.extend(shelf.reads());
    if touched.is_empty() {
        return;
    }
    touched.sort_by_key(|record| record.key());
    let known = R::versions(versions);
    let expected = touched.iter().map(|record| known.get(&record.key()).copied()).collect();
    checks.push(Check::Versions { table: R::NAME, expected });
    round.push(sql, R::arrays(&touched, |kind| kind == Kind::Key));
}
