//! A book that tells a decision something else than what is on record.

use decisions::Book;
use decisions::draft::Stated;
use decisions::records::{Attempt, Execution, Job};
use machines::attempt;

pub struct Alter {
    pub job: fn(&mut Job),
    pub attempt: fn(&mut Attempt),
    pub execution: fn(&mut Execution),
}

pub const NOTHING: Alter = Alter { job: |_| {}, attempt: |_| {}, execution: |_| {} };

/// As if nobody had asked for an end.
pub const NOT_BEING_CANCELLED: Alter = Alter {
    attempt: |it| {
        if it.state.get() == attempt::State::CancelRequested {
            it.state = Stated::stored(attempt::State::Running);
        }
    },
    ..NOTHING
};

pub fn altered(book: &Book, alter: &Alter) -> Book {
    let mut other = Book::default();
    for record in book.jobs.peek_all() {
        let mut record = record.clone();
        (alter.job)(&mut record);
        other.jobs.bring(record);
    }
    for record in book.attempts.peek_all() {
        let mut record = record.clone();
        (alter.attempt)(&mut record);
        other.attempts.bring(record);
    }
    for record in book.executions.peek_all() {
        let mut record = record.clone();
        (alter.execution)(&mut record);
        other.executions.bring(record);
    }
    book.runs.peek_all().for_each(|it| other.runs.bring(it.clone()));
    book.runners.peek_all().for_each(|it| other.runners.bring(it.clone()));
    book.webhooks.peek_all().for_each(|it| other.webhooks.bring(it.clone()));
    (other.ready, other.specs) = (book.ready.clone(), book.specs.clone());
    (other.sweeps, other.dependents) = (book.sweeps.clone(), book.dependents.clone());
    other
}
