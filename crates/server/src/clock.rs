//! The one place that reads the clock: the wall's time at the start of the process, carried on by a monotonic one.
//!
//! A wall clock that is set back or forward while we run moves no deadline.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use wire::Time;

#[derive(Debug, Clone, Copy)]
pub struct Clock {
    anchor: Time,
    started: Instant,
}

impl Clock {
    pub fn start() -> Clock {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { anchor: Time::from_micros(0).plus(since_epoch), started: Instant::now() }
    }

    pub fn now(&self) -> Time {
        self.anchor.plus(self.started.elapsed())
    }
}
