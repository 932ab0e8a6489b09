//! How much may be asked of a measurement. Nothing at all would measure nothing; what is far too much is a slip of the
//! finger, and would fill a disk before it is noticed.

use clap::builder::RangedU64ValueParser;

pub const ROUNDS_MAX: u64 = 1_000;
/// At once.
pub const CALLERS_MAX: u64 = 100_000;
/// Jobs, files, blobs, samples.
pub const ITEMS_MAX: u64 = 100_000_000;
/// Of a blob, which is held in memory.
pub const MIB_MAX: u64 = 64 * 1024;
pub const KIB_MAX: u64 = 1024 * 1024;
/// Of a round.
const SECONDS_MIN: f64 = 0.01;
const SECONDS_MAX: f64 = 3_600.0;

/// From one on.
pub fn count<T: TryFrom<u64>>(max: u64) -> RangedU64ValueParser<T> {
    RangedU64ValueParser::new().range(1..=max)
}

pub fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (SECONDS_MIN..=SECONDS_MAX).contains(number));
    number.ok_or_else(|| format!("expected a number of seconds from {SECONDS_MIN} to {SECONDS_MAX}"))
}
