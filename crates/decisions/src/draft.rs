//! A decision in the making, and the one function in the program that changes a state: [`Draft::advance`].
//!
//! A draft reads through its own changes into the book. Dropped on a refusal, it leaves no trace; finished, it becomes
//! the changes, audit rows and hints that are written in one commit.

use std::borrow::Cow;

use machines::{Machine, blob, delivery, execution, lease, run, tenant, upload, version};
use wire::{JobId, RunId, Time};

use crate::book::{Book, Changes, Kept};
use crate::policy::Policy;
use crate::records::event::CREATE;
use crate::records::{
    Attempt, Blob, Delivery, Entity, Execution, QueueId, Run, Tenant, Transition, Upload, Version,
};

/// A state that all may read and only [`Draft::advance`] may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stated<M>(M);

impl<M: Machine> Stated<M> {
    pub fn initial() -> Stated<M> {
        Stated(M::INITIAL)
    }

    /// As a store read it back.
    pub fn stored(state: M) -> Stated<M> {
        Stated(state)
    }

    pub fn get(self) -> M {
        self.0
    }
}

/// A record with a state of machine `M`.
pub trait Moves<M> {
    fn entity(&self) -> Entity;
    fn stated(&self) -> &Stated<M>;
    fn stated_mut(&mut self) -> &mut Stated<M>;
}

/// What may be done at once because of this decision. May be lost: a tick finds the same work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hint {
    /// An attempt became ready.
    Ready(QueueId),
    /// A run waits for its plan.
    Plan(RunId),
    Sweep(RunId),
    Release(JobId),
    /// A message waits to be delivered.
    Deliver,
    /// More of the job's log can be read, or an execution of the job ended, so that no more of it comes.
    Logged(JobId),
    /// An upload ended and left bytes behind.
    Reap,
}

pub struct Draft<'a> {
    book: &'a Book,
    pub now: Time,
    pub policy: &'a Policy,
    pub changes: Changes,
    pub hints: Vec<Hint>,
}

impl<'a> Draft<'a> {
    pub fn new(book: &'a Book, now: Time, policy: &'a Policy) -> Draft<'a> {
        Draft { book, now, policy, changes: Changes::default(), hints: Vec::new() }
    }

    /// Indexes and lists of the book; records are read through [`Draft::get`].
    pub fn book(&self) -> &'a Book {
        self.book
    }

    /// The record as this decision has left it so far.
    pub fn get<R: Kept>(&self, key: &R::Key) -> Option<&R> {
        R::changed(&self.changes).get(key).or_else(|| R::shelf(self.book).get(key))
    }

    /// Without the note that it was read: for where being late does no harm.
    pub fn peek<R: Kept>(&self, key: &R::Key) -> Option<&R> {
        R::changed(&self.changes).get(key).or_else(|| R::shelf(self.book).peek(key))
    }

    /// A copy to work on, of a record that must be there: whoever asked for one part of a family loaded the others.
    pub fn copy<R: Kept>(&self, key: &R::Key) -> R {
        self.get(key).cloned().expect("a family is loaded whole")
    }

    pub fn put<R: Kept>(&mut self, record: R) {
        R::changed_mut(&mut self.changes).insert(record.key(), record);
    }

    /// Moves a state along its table and records who, what, when, and why.
    ///
    /// A pair the table does not list is our own mistake here: what a caller may get wrong was refused before.
    pub fn advance<E, R>(&mut self, record: &mut R, event: E, cause: impl Into<Cow<'static, str>>)
    where
        E: machines::Event,
        R: Moves<E::State>,
    {
        let from = record.stated().0;
        let to = match from.next(event) {
            Ok(to) => to,
            Err(illegal) => panic!("{}: {illegal}", record.entity()),
        };
        record.stated_mut().0 = to;
        let description = E::State::DESCRIPTION;
        let event = E::State::event_str(event);
        let row = description.row(from.as_str(), event).expect("next() and the rows come from one table");
        self.changes.appended.transitions.push(Transition {
            at: self.now,
            machine: description.name,
            entity: record.entity(),
            from: Some(from.as_str()),
            event,
            to: to.as_str(),
            owner: row.owner,
            cause: cause.into(),
        });
    }

    /// Records that an entity began to exist, in its machine's initial state.
    pub fn born<M: Machine>(&mut self, record: &impl Moves<M>, cause: impl Into<Cow<'static, str>>) {
        debug_assert_eq!(record.stated().0, M::INITIAL);
        self.changes.appended.transitions.push(Transition {
            at: self.now,
            machine: M::DESCRIPTION.name,
            entity: record.entity(),
            from: None,
            event: CREATE,
            to: M::INITIAL.as_str(),
            owner: machines::Owner::Orchestrator,
            cause: cause.into(),
        });
    }

    pub fn hint(&mut self, hint: Hint) {
        if !self.hints.contains(&hint) {
            self.hints.push(hint);
        }
    }
}

macro_rules! moves {
    ($($record:ty, $machine:ty, $field:ident, |$it:ident| $entity:expr;)+) => {$(
        impl Moves<$machine> for $record {
            fn entity(&self) -> Entity { let $it = self; $entity }
            fn stated(&self) -> &Stated<$machine> { &self.$field }
            fn stated_mut(&mut self) -> &mut Stated<$machine> { &mut self.$field }
        }
    )+};
}

moves! {
    Tenant, tenant::State, state, |it| Entity::Tenant(it.id);
    Run, run::State, state, |it| Entity::Run(it.id);
    Attempt, machines::attempt::State, state, |it| Entity::Attempt(it.key);
    Execution, lease::State, lease, |it| Entity::Execution(it.id, it.job());
    Execution, execution::State, status, |it| Entity::Execution(it.id, it.job());
    Delivery, delivery::State, state, |it| Entity::Delivery(it.id);
    Upload, upload::State, state, |it| Entity::Upload(it.id);
    Version, version::State, state, |it| Entity::Version(it.id);
    Blob, blob::State, state, |it| Entity::Blob(it.id);
}
