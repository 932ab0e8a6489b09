//! How long the lease lasts for certain, seen from here.
//!
//! The orchestrator counts from the moment it handles a message, which is not before the message was sent. So the send
//! time of the last renewal that was accepted, plus the TTL, is never later than the orchestrator's own deadline.

use std::time::Duration;

use crate::clock::Uptime;

#[derive(Debug, Clone, Copy)]
pub struct Lease {
    renewed_at: Uptime,
    ttl: Duration,
}

/// What it takes to kill a job, at most.
const KILL_GRACE_MAX: Duration = Duration::from_secs(5);

impl Lease {
    pub fn new(renewed_at: Uptime, ttl: Duration) -> Lease {
        Lease { renewed_at, ttl }
    }

    /// One renewal is in flight at a time, so the last answer is the orchestrator's last word, even if it is shorter.
    pub fn renew(&mut self, sent_at: Uptime, ttl: Duration) {
        *self = Lease::new(sent_at, ttl);
    }

    /// Until then the job may run; what is left after it is for killing.
    pub fn until(&self) -> Uptime {
        self.renewed_at.plus(self.ttl - self.kill_grace())
    }

    /// Until then the runner may speak.
    pub fn ends_at(&self) -> Uptime {
        self.renewed_at.plus(self.ttl)
    }

    pub fn kill_grace(&self) -> Duration {
        (self.ttl / 4).min(KILL_GRACE_MAX)
    }
}
