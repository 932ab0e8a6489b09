//! What tells two worlds apart. Time counts from now to a deadline, and what has passed has passed; versions, stamps, texts
//! for people and the audit log are left out, and so is everything about an ended lease that nothing asks for again.

use std::hash::{DefaultHasher, Hash, Hasher};

use decisions::Changes;
use decisions::book::Kept;
use decisions::records::{Attempt, Delivery, Execution, Job, Run, Runner};
use machines::Machine;
use wire::Time;
use wire::runner::CompleteStatus;

use super::records::{Records, Table};

/// A record as far as decisions can tell.
pub trait Canonical {
    fn canonical(&self, now: Time, into: &mut impl Hasher);
}

/// How long until then; nothing once it has passed.
fn ahead(now: Time, moment: Option<Time>, into: &mut impl Hasher) {
    moment.map(|moment| moment.since(now).as_micros() as u64).hash(into);
}

impl Canonical for Job {
    fn canonical(&self, now: Time, into: &mut impl Hasher) {
        self.id.hash(into);
        self.state.as_str().hash(into);
        (self.attempts, self.tokens, self.needs_open).hash(into);
        (self.counted_failed, self.releasing, self.released_to).hash(into);
        ahead(now, self.free_at.filter(|at| *at > now), into);
    }
}

impl Canonical for Attempt {
    fn canonical(&self, _: Time, into: &mut impl Hasher) {
        self.key.hash(into);
        self.state.get().as_str().hash(into);
        (self.lost_leases, self.execution).hash(into);
        self.failure_class.map(|class| class.as_str()).hash(into);
    }
}

impl Canonical for Execution {
    fn canonical(&self, now: Time, into: &mut impl Hasher) {
        (self.id, self.attempt, self.token, self.runner.as_str()).hash(into);
        self.lease.get().as_str().hash(into);
        self.status.get().as_str().hash(into);
        (self.commit_said, self.outcome.map(|it| it.status == CompleteStatus::Succeeded)).hash(into);
        if self.lease.get().is_live() {
            for moment in [Some(self.expires_at), self.timeout_at, self.cancel_by, self.due_at] {
                ahead(now, moment, into);
            }
        } else {
            ahead(now, self.due_at, into);
        }
    }
}

impl Canonical for Run {
    fn canonical(&self, now: Time, into: &mut impl Hasher) {
        self.state.get().as_str().hash(into);
        self.outcome.map(|outcome| outcome.as_str()).hash(into);
        (self.jobs_total, self.jobs_open, self.required_failed, self.reports_open).hash(into);
        self.sweep.map(|sweep| sweep.as_str()).hash(into);
        self.swept_to.hash(into);
        ahead(now, self.due_at, into);
    }
}

impl Canonical for Runner {
    fn canonical(&self, now: Time, into: &mut impl Hasher) {
        self.key.hash(into);
        self.acks_missed.hash(into);
        ahead(now, self.barred_until.filter(|until| *until > now), into);
    }
}

impl Canonical for Delivery {
    fn canonical(&self, now: Time, into: &mut impl Hasher) {
        (&self.event, &self.subject, &self.lane, self.turn).hash(into);
        self.state.get().as_str().hash(into);
        (self.tries, self.claims, self.reports.is_some()).hash(into);
        ahead(now, self.due_at, into);
    }
}

fn table<R: Kept + Canonical>(table: &Table<R>, now: Time, into: &mut impl Hasher) {
    table.all().count().hash(into);
    table.all().for_each(|record| record.canonical(now, into));
}

fn changed<R: Kept + Canonical>(changes: &Changes, now: Time, into: &mut impl Hasher) {
    let changed = R::changed(changes);
    changed.len().hash(into);
    changed.values().for_each(|record| record.canonical(now, into));
}

/// Their ids tell when they were written; which of two came first is not what tells worlds apart.
fn deliveries<'r>(all: impl Iterator<Item = &'r Delivery>, now: Time, into: &mut impl Hasher) {
    let mut each: Vec<u64> = all
        .map(|it| {
            let mut hasher = DefaultHasher::new();
            it.canonical(now, &mut hasher);
            hasher.finish()
        })
        .collect();
    each.sort_unstable();
    each.hash(into);
}

/// Tenants, queues and webhooks are made before a model begins and stay as they are.
pub fn hash_records(records: &Records, now: Time, into: &mut impl Hasher) {
    table(&records.runs, now, into);
    table(&records.jobs, now, into);
    table(&records.attempts, now, into);
    table(&records.executions, now, into);
    table(&records.runners, now, into);
    deliveries(records.deliveries.all(), now, into);
}

pub fn hash_changes(changes: &Changes, now: Time, into: &mut impl Hasher) {
    changed::<Run>(changes, now, into);
    changed::<Job>(changes, now, into);
    changed::<Attempt>(changes, now, into);
    changed::<Execution>(changes, now, into);
    changed::<Runner>(changes, now, into);
    deliveries(changes.deliveries.values(), now, into);
}
