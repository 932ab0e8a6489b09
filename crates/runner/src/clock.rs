//! The one place where the runner reads the clock.
//!
//! Deadlines of a lease are moments of the machine's own uptime, suspend included: they mean the same in the agent and
//! in its keepers, and no change of the wall clock moves them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use wire::Time;

/// A moment of the machine's uptime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Uptime(Duration);

impl Uptime {
    pub fn now() -> Uptime {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Uptime(Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32))
    }

    pub fn from_start(since_start: Duration) -> Uptime {
        Uptime(since_start)
    }

    pub fn plus(self, duration: Duration) -> Uptime {
        Uptime(self.0 + duration)
    }

    /// Zero when it has passed.
    pub fn until(self, later: Uptime) -> Duration {
        later.0.saturating_sub(self.0)
    }
}

/// The wall clock's time, for what people read; no deadline depends on it.
pub fn wall_time() -> Time {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    Time::from_seconds(time.tv_sec).plus(Duration::from_nanos(time.tv_nsec.unsigned_abs()))
}
