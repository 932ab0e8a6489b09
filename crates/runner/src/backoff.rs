//! How long to wait before the next try: doubling, bounded, and spread by a jitter that is passed in.

use std::time::Duration;

/// Tries that failed in a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backoff {
    failures: u32,
}

/// Doubling stops here; any bound in use is far below.
const DOUBLINGS_MAX: u32 = 16;

impl Backoff {
    /// The first wait, before the jitter takes up to half of it away.
    pub const FIRST: Duration = Duration::from_millis(200);

    /// The wait after one more failure: between half and the whole of the doubled time, at most `most`.
    pub fn next(&mut self, most: Duration, jitter: f64) -> Duration {
        let doubled = Self::FIRST * 2u32.pow(self.failures.min(DOUBLINGS_MAX));
        self.failures = self.failures.saturating_add(1);
        doubled.min(most).mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
    }

    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// How many tries have failed since the last that did not.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_bound_and_start_again_after_a_success() {
        let mut backoff = Backoff::default();
        let most = Duration::from_secs(1);
        let waits: Vec<u128> = (0..5).map(|_| backoff.next(most, 1.0).as_millis()).collect();
        assert_eq!(waits, [200, 400, 800, 1000, 1000]);
        backoff.reset();
        assert_eq!(backoff.next(most, 0.0).as_millis(), 100);
    }
}
