//! What is still to come, by time; at the same moment, in the order in which it was put down.

use std::collections::BTreeMap;

use wire::Time;

#[derive(Debug)]
pub struct Agenda<E> {
    entries: BTreeMap<(Time, u64), E>,
    written: u64,
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Agenda { entries: BTreeMap::new(), written: 0 }
    }
}

impl<E> Agenda<E> {
    pub fn add(&mut self, at: Time, event: E) {
        self.written += 1;
        self.entries.insert((at, self.written), event);
    }

    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.entries.pop_first().map(|((at, _), event)| (at, event))
    }

    pub fn next_at(&self) -> Option<Time> {
        self.entries.first_key_value().map(|((at, _), _)| *at)
    }
}
