//! A world: what is on the disk, what servers have decided and not yet saved, what actors remember, and the time.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use decisions::{Answer, Changes};
use wire::Time;

use super::canonical::{hash_changes, hash_records};
use super::play::Play;
use super::records::{Records, Seen};

/// How far the clock moves at a time. Deadlines of a model are multiples of it.
pub const TICK: Duration = Duration::from_secs(1);

pub const BEGIN: Time = Time::from_seconds(1_767_513_600);

/// A decision that a server has made on what it loaded and not yet saved. A crash forgets it.
#[derive(Debug)]
pub struct Flight<P: Play> {
    pub message: P::Message,
    pub answer: Answer,
    pub changes: Arc<Changes>,
    pub seen: Arc<Seen>,
}

impl<P: Play> Clone for Flight<P> {
    fn clone(&self) -> Self {
        Flight {
            message: self.message.clone(),
            answer: self.answer.clone(),
            changes: self.changes.clone(),
            seen: self.seen.clone(),
        }
    }
}

#[derive(Debug)]
pub struct World<P: Play> {
    pub now: Time,
    /// Shared with the worlds in which the disk holds the same.
    pub records: Arc<Records>,
    /// One per server that is at work. Servers are alike, so it does not matter which.
    pub flights: Vec<Flight<P>>,
    pub actors: P::Actors,
    /// The rule that the last step broke.
    pub broken: Option<&'static str>,
}

impl<P: Play> Clone for World<P> {
    fn clone(&self) -> Self {
        World {
            now: self.now,
            records: self.records.clone(),
            flights: self.flights.clone(),
            actors: self.actors.clone(),
            broken: self.broken,
        }
    }
}

impl<P: Play> World<P> {
    pub fn new(records: Records, actors: P::Actors) -> World<P> {
        World { now: BEGIN, records: Arc::new(records), flights: Vec::new(), actors, broken: None }
    }

    pub fn break_rule(&mut self, rule: Option<&'static str>) {
        self.broken = self.broken.or(rule);
    }
}

impl<P: Play> Hash for World<P> {
    fn hash<H: Hasher>(&self, into: &mut H) {
        hash_records(&self.records, self.now, into);
        let mut flights: Vec<u64> = self.flights.iter().map(|flight| flight.fingerprint(self.now)).collect();
        flights.sort_unstable();
        flights.hash(into);
        self.actors.hash(into);
        self.broken.hash(into);
    }
}

/// Worlds that cannot be told apart are one.
impl<P: Play> PartialEq for World<P> {
    fn eq(&self, other: &World<P>) -> bool {
        fingerprint(self) == fingerprint(other)
    }
}

impl<P: Play> Flight<P> {
    fn fingerprint(&self, now: Time) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.message.hash(&mut hasher);
        hash_changes(&self.changes, now, &mut hasher);
        hasher.finish()
    }
}

pub fn fingerprint(it: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    it.hash(&mut hasher);
    hasher.finish()
}
