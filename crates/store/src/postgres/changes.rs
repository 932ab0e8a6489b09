//! The first round of a save: what was loaded is changed, or held still, if it is as it was loaded.
//!
//! Changes come before what is new: a lease that ends makes room for the attempt's next one in the same batch.

use decisions::Book;
use decisions::book::Shelf;
use decisions::records::{Attempt, Delivery, Execution, Job, Log, Run, Runner, Tenant, Token, Webhook};
use tokio_postgres::Row;

use crate::StoreError;
use crate::postgres::inserts::queue_arrays;
use crate::postgres::queue::QueueMoves;
use crate::postgres::round::{Answer, BEGIN, Round};
use crate::postgres::rows::{Cells, Version};
use crate::postgres::tables::{Kind, Versioned, Versions};

/// Takes entries away. One that another server holds is passed over, not waited for: that server may wait for us.
const TAKE_FROM_QUEUE: &str = "
    DELETE FROM ready WHERE ctid = ANY (ARRAY (
        SELECT x.ctid
        FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::text[], $5::integer[])
            AS u (queue_id, rank, since, job_id, attempt)
        CROSS JOIN LATERAL (
            SELECT t.ctid FROM ready t
            WHERE t.queue_id = u.queue_id AND t.rank = u.rank AND t.since = u.since
                AND t.job_id = u.job_id AND t.attempt = u.attempt
            FOR UPDATE SKIP LOCKED) x))";

/// What the answer to a statement must be.
pub enum Check {
    Nothing,
    /// All rows were there, with the right version, and were written.
    Written {
        table: &'static str,
        rows: usize,
    },
    /// The rows have these versions, in this order.
    Held {
        table: &'static str,
        expected: Vec<Option<Version>>,
    },
}

impl Check {
    pub fn hold(&self, answer: &Answer) -> Result<(), StoreError> {
        match self {
            Check::Nothing => Ok(()),
            Check::Written { rows, .. } if answer.affected == *rows as u64 => Ok(()),
            Check::Written { table, .. } => Err(StoreError::Conflict((*table).into())),
            Check::Held { table, expected } if answer.rows.len() != expected.len() => {
                Err(StoreError::Conflict(format!("{table}: a row is gone")))
            }
            Check::Held { table, expected } => {
                let found = answer.rows.iter().zip(expected);
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
pub fn round<'a>(book: &'a Book, versions: &Versions, is_begun: bool) -> (Round<'a>, Vec<Check>) {
    let mut changes = Changes { round: Round::default(), checks: Vec::new() };
    if !is_begun {
        changes.round.push(BEGIN, vec![]);
        changes.checks.push(Check::Nothing);
    }
    changes.take_from_queue(book);
    changes.table::<Tenant>(&book.tenants, versions);
    changes.table::<Run>(&book.runs, versions);
    changes.table::<Job>(&book.jobs, versions);
    changes.table::<Attempt>(&book.attempts, versions);
    changes.table::<Execution>(&book.executions, versions);
    changes.table::<Runner>(&book.runners, versions);
    changes.table::<Delivery>(&book.deliveries, versions);
    changes.table::<Webhook>(&book.webhooks, versions);
    changes.table::<Token>(&book.tokens, versions);
    changes.table::<Log>(&book.logs, versions);
    (changes.round, changes.checks)
}

struct Changes<'a> {
    round: Round<'a>,
    checks: Vec<Check>,
}

impl<'a> Changes<'a> {
    fn take_from_queue(&mut self, book: &Book) {
        let left = QueueMoves::of(book).left;
        if !left.is_empty() {
            self.checks.push(Check::Written { table: "ready", rows: left.len() });
            self.round.push(TAKE_FROM_QUEUE, queue_arrays(&left));
        }
    }

    fn table<R: Versioned>(&mut self, shelf: &'a Shelf<R>, versions: &Versions) {
        let changed = shelf.writes().filter_map(|(before, now)| before.map(|before| (before, now)));
        let changed: Vec<&R> = changed
            .map(|(before, now)| {
                debug_assert!(now.differs_in_moving_only(before), "{}: a fixed column changed", R::NAME);
                now
            })
            .collect();
        self.hold(shelf.reads().collect(), &changed, versions);
        self.update(&changed, versions);
    }

    /// What was only read must stay as it is until the commit. If there is something to change beside it, that is locked
    /// in the same statement: the order of the keys holds over both.
    fn hold<R: Versioned>(&mut self, mut held: Vec<&'a R>, changed: &[&'a R], versions: &Versions) {
        if held.is_empty() {
            return;
        }
        let sql = if changed.is_empty() { &R::sql().lock_for_reading } else { &R::sql().lock_for_writing };
        held.extend(changed);
        held.sort_by_key(|record| record.key());
        let known = R::versions(versions);
        let expected = held.iter().map(|record| known.get(&record.key()).copied()).collect();
        self.checks.push(Check::Held { table: R::NAME, expected });
        self.round.push(sql, R::arrays(&held, |kind| kind == Kind::Key));
    }

    /// Goes through the rows in the order of their keys, which is the book's.
    fn update<R: Versioned>(&mut self, changed: &[&'a R], versions: &Versions) {
        if changed.is_empty() {
            return;
        }
        let known = R::versions(versions);
        // A record that was not loaded through us has no version. None is never equal, so it counts as moved.
        let expected: Vec<Option<i32>> =
            changed.iter().map(|record| known.get(&record.key()).map(|version| version.bits())).collect();
        let mut arrays = R::arrays(changed, |kind| kind != Kind::Fixed);
        arrays.push(Box::new(expected));
        self.checks.push(Check::Written { table: R::NAME, rows: changed.len() });
        self.round.push(&R::sql().update, arrays);
    }
}
