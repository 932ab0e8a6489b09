//! The second part of a save: what is new except blobs, one statement per table.

use std::sync::LazyLock;

use decisions::Book;
use decisions::book::{Appended, Shelf};
use decisions::records::{Job, Queue, ReadyKey};

use crate::postgres::cache::Cache;
use crate::postgres::queue::QueueMoves;
use crate::postgres::round::{Param, Round};
use crate::postgres::rows::{Id, count, id, moment};
use crate::postgres::tables::{Forms, Sql, Table};
use crate::postgres::{entries, logs};

const ENTER_QUEUE: &str = "
    INSERT INTO ready (queue_id, rank, since, job_id, attempt)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::text[], $5::integer[])";

/// Every submission names its queue; whoever was first has made it.
static INSERT_QUEUES: LazyLock<String> =
    LazyLock::new(|| format!("{} ON CONFLICT DO NOTHING", Queue::sql().insert.for_rows(1)));

const INSERT_PLANS: &str =
    "INSERT INTO run_plans (run_id, plan) SELECT * FROM unnest($1::text[], $2::text[])";

/// A job's specification is written with it and never changes; it is not a part of the record.
static INSERT_JOBS: LazyLock<Forms> = LazyLock::new(|| Sql::insert_with::<Job>("spec", "text"));

const INSERT_NEEDS: &str =
    "INSERT INTO job_needs (needed_id, dependent_id) SELECT * FROM unnest($1::text[], $2::text[])";

const INSERT_EFFECTS: &str = "
    INSERT INTO effects (job_id, position, exec_id, kind, body)
    SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::text[])";

const INSERT_BYTES: &str =
    "INSERT INTO blob_bytes (blob_id, bytes) SELECT * FROM unnest($1::text[], $2::bytea[])";
const DROP_BYTES: &str = "DELETE FROM blob_bytes WHERE blob_id = ANY ($1::text[])";

/// From what is referred to towards what refers.
pub fn push<'a>(round: &mut Round<'a>, book: &'a Book, cache: &Cache) {
    insert_sorted(round, &book.tenants, |tenant| tenant.name.as_str());
    insert(round, &book.webhooks);
    insert(round, &book.tokens);
    insert_queues(round, &book.queues, cache);
    insert(round, &book.runners);
    insert(round, &book.groups);
    insert_sorted(round, &book.runs, |run| (run.tenant, run.trigger_key.as_deref()));
    insert_plans(round, &book.appended);
    insert_jobs(round, book);
    insert_needs(round, &book.appended);
    insert(round, &book.attempts);
    insert(round, &book.executions);
    insert_effects(round, &book.appended);
    insert(round, &book.logs);
    logs::insert_chunks(round, &book.appended.log_chunks);
    logs::trim(round, &book.appended.log_trims);
    insert_bytes(round, &book.appended);
    drop_bytes(round, &book.appended);
    insert(round, &book.possessions);
    insert(round, &book.usages);
    insert(round, &book.uploads);
    entries::insert_versions(round, &book.versions);
    insert(round, &book.bundles);
    entries::insert_artifacts(round, &book.bundles);
    insert(round, &book.caches);
    insert(round, &book.collections);
    insert(round, &book.collector);
    insert(round, &book.deliveries);
    enter_queue(round, book);
}

fn insert<'a, R: Table>(round: &mut Round<'a>, shelf: &'a Shelf<R>) {
    let new = new(shelf);
    if !new.is_empty() {
        round.push(R::sql().insert.for_rows(new.len()), R::arrays(&new, |_| true));
    }
}

/// For a table with another key that a client chooses. Who inserts a key that somebody else is about to commit waits for that
/// one; in the order of their ids, two who bring the same keys could wait for each other.
fn insert_sorted<'a, R: Table, K: Ord>(round: &mut Round<'a>, shelf: &'a Shelf<R>, key: fn(&'a R) -> K) {
    let new = new_sorted(shelf, key);
    if !new.is_empty() {
        round.push(R::sql().insert.for_rows(new.len()), R::arrays(&new, |_| true));
    }
}

/// Those with the same key, or without one, stay in the order of their ids.
pub fn new_sorted<'a, R: Table, K: Ord>(shelf: &'a Shelf<R>, key: fn(&'a R) -> K) -> Vec<&'a R> {
    let mut new = new(shelf);
    new.sort_by_key(|record| key(record));
    new
}

fn insert_queues<'a>(round: &mut Round<'a>, shelf: &'a Shelf<Queue>, cache: &Cache) {
    let new: Vec<&Queue> = new(shelf).into_iter().filter(|queue| !cache.has_queue(queue.id)).collect();
    if !new.is_empty() {
        round.push(&INSERT_QUEUES, Queue::arrays(&new, |_| true));
    }
}

pub fn new<R: Table>(shelf: &Shelf<R>) -> Vec<&R> {
    shelf.writes().filter(|(before, _)| before.is_none()).map(|(_, now)| now).collect()
}

fn insert_plans<'a>(round: &mut Round<'a>, Appended { plans, .. }: &'a Appended) {
    let runs: Vec<String> = plans.iter().map(|(run, _)| run.to_string()).collect();
    let texts: Vec<&str> = plans.iter().map(|(_, plan)| plan.as_ref()).collect();
    if !plans.is_empty() {
        round.push(INSERT_PLANS, vec![Box::new(runs), Box::new(texts)]);
    }
}

fn insert_jobs<'a>(round: &mut Round<'a>, book: &'a Book) {
    let new = new_sorted(&book.jobs, |job| (job.tenant, job.key.as_deref()));
    if !new.is_empty() {
        let specs: Vec<Option<&str>> =
            new.iter().map(|job| book.specs.get(&job.id).map(AsRef::as_ref)).collect();
        let mut arrays = Job::arrays(&new, |_| true);
        arrays.push(Box::new(specs));
        round.push(INSERT_JOBS.for_rows(new.len()), arrays);
    }
}

fn insert_needs<'a>(round: &mut Round<'a>, Appended { needs, .. }: &'a Appended) {
    let needed: Vec<String> = needs.iter().map(|(needed, _)| needed.to_string()).collect();
    let dependents: Vec<String> = needs.iter().map(|(_, dependent)| dependent.to_string()).collect();
    if !needs.is_empty() {
        round.push(INSERT_NEEDS, vec![Box::new(needed), Box::new(dependents)]);
    }
}

fn insert_effects<'a>(round: &mut Round<'a>, Appended { effects, .. }: &'a Appended) {
    if effects.is_empty() {
        return;
    }
    let jobs: Vec<String> = effects.iter().map(|effect| effect.job.to_string()).collect();
    let positions: Vec<i32> = effects.iter().map(|effect| count(effect.position)).collect();
    let executions: Vec<String> = effects.iter().map(|effect| effect.execution.to_string()).collect();
    let kinds: Vec<&str> = effects.iter().map(|effect| effect.kind).collect();
    let bodies: Vec<&str> = effects.iter().map(|effect| effect.body.as_str()).collect();
    let params: Vec<Param<'a>> =
        vec![Box::new(jobs), Box::new(positions), Box::new(executions), Box::new(kinds), Box::new(bodies)];
    round.push(INSERT_EFFECTS, params);
}

fn insert_bytes<'a>(round: &mut Round<'a>, Appended { blob_bytes, .. }: &'a Appended) {
    if !blob_bytes.is_empty() {
        let blobs: Vec<String> = blob_bytes.iter().map(|it| it.blob.to_string()).collect();
        let bytes: Vec<&[u8]> = blob_bytes.iter().map(|it| &*it.bytes).collect();
        round.push(INSERT_BYTES, vec![Box::new(blobs), Box::new(bytes)]);
    }
}

fn drop_bytes(round: &mut Round<'_>, Appended { bytes_gone, .. }: &Appended) {
    if !bytes_gone.is_empty() {
        let blobs: Vec<String> = bytes_gone.iter().map(|blob| blob.to_string()).collect();
        round.push(DROP_BYTES, vec![Box::new(blobs)]);
    }
}

fn enter_queue(round: &mut Round<'_>, book: &Book) {
    let entered = QueueMoves::of(book).entered;
    if !entered.is_empty() {
        round.push(ENTER_QUEUE, queue_arrays(&entered));
    }
}

pub fn queue_arrays(keys: &[ReadyKey]) -> Vec<Param<'static>> {
    let queues: Vec<i64> = keys.iter().map(|key| key.queue.0).collect();
    let ranks: Vec<i64> = keys.iter().map(|key| key.rank).collect();
    let since: Vec<_> = keys.iter().map(|key| moment(key.since)).collect();
    let jobs: Vec<Id> = keys.iter().map(|key| id(key.attempt.job)).collect();
    let attempts: Vec<i32> = keys.iter().map(|key| count(key.attempt.index)).collect();
    vec![Box::new(queues), Box::new(ranks), Box::new(since), Box::new(jobs), Box::new(attempts)]
}
