//! The first part of a save: what was loaded is changed, or held still. If any of it is not as it was loaded, the statement
//! fails, and with it the save.
//!
//! Changes come before what is new: a lease that ends makes room for the attempt's next one in the same batch.

use std::sync::LazyLock;

use decisions::Book;
use decisions::book::Shelf;
use decisions::records::{
    self, Attempt, Blob, Bundle, Cache, Collection, Collector, Delivery, Execution, Group, Job, Log,
    Possession, Run, Runner, Tenant, Token, Upload, Usage, Webhook,
};

use crate::postgres::entries::Listed;
use crate::postgres::inserts::{new, queue_arrays};
use crate::postgres::queue::QueueMoves;
use crate::postgres::round::Round;
use crate::postgres::tables::{Kind, Table, Versioned, Versions, or_moved};

/// Takes entries away. One that another server holds is passed over, not waited for: that server may wait for us.
static TAKE_FROM_QUEUE: LazyLock<String> = LazyLock::new(|| {
    let taken = "
        DELETE FROM ready WHERE ctid = ANY (ARRAY (
            SELECT x.ctid
            FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::text[], $5::integer[])
                AS u (queue_id, rank, since, job_id, attempt)
            CROSS JOIN LATERAL (
                SELECT t.ctid FROM ready t
                WHERE t.queue_id = u.queue_id AND t.rank = u.rank AND t.since = u.since
                    AND t.job_id = u.job_id AND t.attempt = u.attempt
                FOR UPDATE SKIP LOCKED) x))
        RETURNING 1";
    or_moved("ready", "bigint", taken)
});

/// The order of the tables is the same in every save, and so is that of the rows within a table.
pub fn push<'a>(round: &mut Round<'a>, book: &'a Book, versions: &Versions) {
    let mut changes = Changes { round, versions };
    changes.take_from_queue(book);
    changes.table::<Tenant>(&book.tenants);
    changes.table::<Group>(&book.groups);
    changes.table::<Run>(&book.runs);
    changes.table::<Job>(&book.jobs);
    changes.table::<Attempt>(&book.attempts);
    changes.table::<Execution>(&book.executions);
    changes.table::<Runner>(&book.runners);
    changes.table::<Delivery>(&book.deliveries);
    changes.table::<Webhook>(&book.webhooks);
    changes.table::<Token>(&book.tokens);
    changes.table::<Upload>(&book.uploads);
    changes.table::<Blob>(&book.blobs);
    changes.insert_blobs(&book.blobs);
    changes.table::<Log>(&book.logs);
    changes.table::<Possession>(&book.possessions);
    changes.table::<Usage>(&book.usages);
    changes.listed::<records::Version>(&book.versions);
    changes.listed::<Bundle>(&book.bundles);
    changes.table::<Cache>(&book.caches);
    changes.table::<Collection>(&book.collections);
    changes.table::<Collector>(&book.collector);
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

struct Changes<'a, 'r> {
    round: &'r mut Round<'a>,
    versions: &'r Versions,
}

impl<'a> Changes<'a, '_> {
    fn take_from_queue(&mut self, book: &Book) {
        let left = QueueMoves::of(book).left;
        if !left.is_empty() {
            self.round.push(&TAKE_FROM_QUEUE, queue_arrays(&left));
        }
    }

    fn table<R: Versioned>(&mut self, shelf: &'a Shelf<R>) {
        let changed = changed(shelf);
        self.hold(shelf.reads().collect(), &changed);
        self.update(&changed);
    }

    /// Blobs refer to nothing, and what is changed further on may refer to new ones. In the order of their digests: whoever
    /// brings the same bytes waits here.
    fn insert_blobs(&mut self, blobs: &'a Shelf<Blob>) {
        let mut new = new(blobs);
        new.sort_by_key(|blob| blob.digest);
        if !new.is_empty() {
            self.round.push(Blob::sql().insert.for_rows(new.len()), Blob::arrays(&new, |_| true));
        }
    }

    /// A record with a list in a table of its own, which is replaced if it differs; before the record is changed, because
    /// the database lets only a draft's entries go. The record is locked first, as it was loaded.
    fn listed<R: Listed>(&mut self, shelf: &'a Shelf<R>) {
        let replaced = shelf.writes().filter(|(before, now)| before.is_some_and(|it| !now.lists_same(it)));
        let replaced: Vec<&R> = replaced.map(|(_, now)| now).collect();
        if replaced.is_empty() {
            return self.table(shelf);
        }
        let changed = changed(shelf);
        self.lock(&R::sql().lock_for_writing, shelf.reads().collect(), &changed);
        for (sql, arrays) in R::replace(&replaced) {
            self.round.push(sql, arrays);
        }
        self.update(&changed);
    }

    /// What was only read must stay as it is until the commit. If there is something to change beside it, that is locked
    /// in the same statement: the order of the keys holds over both.
    fn hold<R: Versioned>(&mut self, held: Vec<&'a R>, changed: &[&'a R]) {
        if held.is_empty() {
            return;
        }
        let sql = if changed.is_empty() { &R::sql().lock_for_reading } else { &R::sql().lock_for_writing };
        self.lock(sql, held, changed);
    }

    fn lock<R: Versioned>(&mut self, sql: &'static str, mut held: Vec<&'a R>, changed: &[&'a R]) {
        held.extend(changed);
        held.sort_by_key(|record| record.key());
        let mut arrays = R::arrays(&held, |kind| kind == Kind::Key);
        arrays.push(Box::new(self.expected(&held)));
        self.round.push(sql, arrays);
    }

    /// Goes through the rows in the order of their keys, which is the book's.
    fn update<R: Versioned>(&mut self, changed: &[&'a R]) {
        if changed.is_empty() {
            return;
        }
        let mut arrays = R::arrays(changed, |kind| kind != Kind::Fixed);
        arrays.push(Box::new(self.expected(changed)));
        self.round.push(R::sql().update.for_rows(changed.len()), arrays);
    }

    /// A record that was not loaded through us has no version. None is never equal, so it counts as moved.
    fn expected<R: Versioned>(&self, records: &[&R]) -> Vec<Option<i32>> {
        let known = R::versions(self.versions);
        records.iter().map(|record| known.get(&record.key()).map(|version| version.bits())).collect()
    }
}
