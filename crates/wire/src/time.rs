//! Time: microseconds since 1970, UTC, written as RFC 3339.
//!
//! One resolution everywhere, the coarsest of our stores, so that what was written is what is read.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment. Given to whoever needs it; read from a clock in one place only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    pub const fn from_micros(micros: i64) -> Time {
        Time(micros)
    }

    /// Seconds beyond what can be written are the first or the last moment there is.
    pub const fn from_seconds(seconds: i64) -> Time {
        Time(seconds.saturating_mul(1_000_000))
    }

    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Later by `by`; a bound too far to be written is the last moment there is.
    pub fn plus(self, by: Duration) -> Time {
        Time(self.0.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }

    pub fn minus(self, by: Duration) -> Time {
        Time(self.0.saturating_sub(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }

    /// How long from `earlier` until here; nothing if `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(moment) => write!(f, "{moment}"),
            Err(_) => write!(f, "{}us", self.0), // beyond the calendar: only a saturated bound gets there
        }
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        let moment: jiff::Timestamp =
            text.parse().map_err(|_| serde::de::Error::custom(format!("`{text}` is no RFC 3339 time")))?;
        Ok(Time(moment.as_microsecond()))
    }
}
