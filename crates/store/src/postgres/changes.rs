//! The first round of a save: what was loaded is changed, or held still, if it is as it was loaded.
//!
//! Changes come before what is new: a lease that ends makes room for the attempt's next one in the same batch.

use decisions::Book;
use decisions::book::Shelf;
use decisions::records::{
    self, Attempt, Blob, Bundle, Cache, Collection, Collector, Delivery, Execution, Group, Job, Log,
    Possession, Run, Runner, Tenant, Token, Upload, Usage, Webhook,
};
use tokio_postgres::Row;

use crate::StoreError;
use crate::postgres::entries::Listed;
use crate::postgres::inserts::{new, queue_arrays};
use crate::postgres::queue::QueueMoves;
use crate::postgres::round::{Answer, BEGIN, Round};
use crate::postgres::rows::{Cells, Version};
use crate::postgres::tables::{Kind, Table, Versioned, Versions};

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
    cells.skip(row.len() - 1); // the version is the last cell, after the key's
    if Some(cells.next()?) == expected {
        return Ok(());
    }
    let key: &str = row.try_get(0).unwrap_or_default(); // the only one there is has no text
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
    changes.table::<Group>(&book.groups, versions);
    changes.table::<Run>(&book.runs, versions);
    changes.table::<Job>(&book.jobs, versions);
    changes.table::<Attempt>(&book.attempts, versions);
    changes.table::<Execution>(&book.executions, versions);
    changes.table::<Runner>(&book.runners, versions);
    changes.table::<Delivery>(&book.deliveries, versions);
    changes.table::<Webhook>(&book.webhooks, versions);
    changes.table::<Token>(&book.tokens, versions);
    changes.table::<Upload>(&book.uploads, versions);
    changes.table::<Blob>(&book.blobs, versions);
    changes.insert_blobs(&book.blobs);
    changes.table::<Log>(&book.logs, versions);
    changes.table::<Possession>(&book.possessions, versions);
    changes.table::<Usage>(&book.usages, versions);
    changes.listed::<records::Version>(&book.versions, versions);
    changes.listed::<Bundle>(&book.bundles, versions);
    changes.table::<Cache>(&book.caches, versions);
    changes.table::<Collection>(&book.collections, versions);
    changes.table::<Collector>(&book.collector, versions);
    (changes.round, changes.checks)
}

/// What is written over something.
fn changed<R: Versioned>(shelf: &Shelf<R>) -> Vec<&R> {
    let changed = shelf.writes().filter_map(|(before, now)| before.map(|before| (before, now)));
    let now = |(before, now): (&R, _)| {
        let now: &R = now;
        debug_assert!(now.differs_in_moving_only(before), "{}: a fixed column changed", R::NAME);
        now
    };
    changed.map(now).collect()
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
        let changed = changed(shelf);
        self.hold(shelf.reads().collect(), &changed, versions);
        self.update(&changed, versions);
    }

    /// Blobs refer to nothing, and what is changed further on may refer to new ones. In the order of their digests: whoever
    /// brings the same bytes waits here.
    fn insert_blobs(&mut self, blobs: &'a Shelf<Blob>) {
        let mut new = new(blobs);
        new.sort_by_key(|blob| blob.digest);
        if !new.is_empty() {
            self.checks.push(Check::Written { table: Blob::NAME, rows: new.len() });
            self.round.push(Blob::sql().insert.for_rows(new.len()), Blob::arrays(&new, |_| true));
        }
    }

    /// A record with a list in a table of its own, which is replaced if it differs; before the record is changed, because
    /// the database lets only a draft's entries go. The record is locked first, and its version looked at: if it moved,
    /// nothing is replaced, and the update below finds out.
    fn listed<R: Listed>(&mut self, shelf: &'a Shelf<R>, versions: &Versions) {
        let replaced = shelf.writes().filter(|(before, now)| before.is_some_and(|it| !now.lists_same(it)));
        let replaced: Vec<&R> = replaced.map(|(_, now)| now).collect();
        if replaced.is_empty() {
            return self.table(shelf, versions);
        }
        let changed = changed(shelf);
        self.lock(&R::sql().lock_for_writing, shelf.reads().collect(), &changed, versions);
        let known = R::versions(versions);
        let expected: Vec<Option<i32>> =
            replaced.iter().map(|record| known.get(&record.key()).map(|version| version.bits())).collect();
        for (sql, arrays) in R::replace(&replaced, &expected) {
            self.checks.push(Check::Nothing);
            self.round.push(sql, arrays);
        }
        self.update(&changed, versions);
    }

    /// What was only read must stay as it is until the commit. If there is something to change beside it, that is locked
    /// in the same statement: the order of the keys holds over both.
    fn hold<R: Versioned>(&mut self, held: Vec<&'a R>, changed: &[&'a R], versions: &Versions) {
        if held.is_empty() {
            return;
        }
        let sql = if changed.is_empty() { &R::sql().lock_for_reading } else { &R::sql().lock_for_writing };
        self.lock(sql, held, changed, versions);
    }

    fn lock<R: Versioned>(
        &mut self,
        sql: &'static str,
        mut held: Vec<&'a R>,
        changed: &[&'a R],
        versions: &Versions,
    ) {
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
        self.round.push(R::sql().update.for_rows(changed.len()), arrays);
    }
}
