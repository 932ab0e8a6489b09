//! One kind of request: in flight, due, or neither.

use std::time::Duration;

use crate::backoff::Backoff;
use crate::clock::Uptime;

#[derive(Debug, Clone, Copy, Default)]
pub struct Line {
    sent_at: Option<Uptime>,
    due: Option<Uptime>,
    backoff: Backoff,
}

impl Line {
    pub fn due_at(at: Uptime) -> Line {
        Line { due: Some(at), ..Line::default() }
    }

    /// Sends when it is due and nothing is in flight.
    pub fn try_send(&mut self, now: Uptime) -> bool {
        let ready = self.sent_at.is_none() && self.due.is_some_and(|due| due <= now);
        if ready {
            self.due = None;
            self.sent_at = Some(now);
        }
        ready
    }

    /// An answer came; gives the moment its request was sent.
    pub fn answered(&mut self) -> Option<Uptime> {
        self.sent_at.take()
    }

    pub fn succeeded(&mut self) {
        self.backoff.reset();
    }

    pub fn schedule(&mut self, at: Uptime) {
        self.due = Some(at);
    }

    /// At `at`, or when it was due anyway, if that is sooner.
    pub fn hasten(&mut self, at: Uptime) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    pub fn retry(&mut self, now: Uptime, most: Duration, jitter: f64) {
        self.due = Some(now.plus(self.backoff.next(most, jitter)));
    }

    pub fn pause(&mut self) {
        self.due = None;
    }

    pub fn is_idle(&self) -> bool {
        self.sent_at.is_none() && self.due.is_none()
    }

    pub fn is_in_flight(&self) -> bool {
        self.sent_at.is_some()
    }

    pub fn failures(&self) -> u32 {
        self.backoff.failures()
    }

    /// When to come back; nothing while an answer is awaited, since that wakes whoever drives us.
    pub fn wakes_at(&self) -> Option<Uptime> {
        if self.sent_at.is_some() { None } else { self.due }
    }
}
