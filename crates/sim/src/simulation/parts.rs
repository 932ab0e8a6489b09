//! What a simulation is made of besides its actors. A planted mistake is a wrapper around one of these.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use decisions::{Ask, Book};
use server::perform::Decide;
use store::{Fault, Memory, Store, StoreError};
use wire::Time;

/// What a load saw, by version.
pub type Seen = <Memory as Store>::Session;

/// A save on its way: what it rests on, what was asked, and what it changes.
pub struct Saving {
    pub seen: Seen,
    pub asks: Vec<Ask>,
    pub book: Book,
    pub decided_at: Time,
}

#[derive(Clone, Copy)]
pub struct Parts {
    pub decide: Decide,
    /// Writes, with what goes wrong about it.
    pub save: fn(&Memory, Saving, Option<Fault>) -> Result<(), StoreError>,
    /// What a runner's agent measures its leases with, from the time since the machine's start and what its wall clock is
    /// wrong by, in seconds.
    pub uptime: fn(Duration, i64) -> Duration,
    /// Until when a keeper lets its job run, when the agent says this.
    pub until: fn(Duration) -> Duration,
    /// Whether a worker has to ask the subscriber before it says that a message was delivered.
    pub sends: fn(try_number: u32) -> bool,
    /// Whether a claim must be known to be durable before bytes are deleted.
    pub awaits_claim: bool,
}

impl Parts {
    pub const REAL: Parts = Parts {
        decide: decisions::decide,
        save,
        uptime: |uptime, _| uptime,
        until: |until| until,
        sends: |_| true,
        awaits_claim: true,
    };
}

pub fn save(store: &Memory, saving: Saving, fault: Option<Fault>) -> Result<(), StoreError> {
    store.inject(fault);
    now(store.save(saving.seen, saving.book))
}

/// The store in memory never waits.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the store in memory waits for nothing"),
    }
}
