//! Waiting for something to be so, with a bound that only a broken program reaches.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Far beyond what anything here takes, also on a machine that does ten other things.
pub const PATIENCE: Duration = Duration::from_secs(90);

const PAUSE: Duration = Duration::from_millis(25);

/// What the question gives, once it gives something.
#[track_caller]
pub fn until<T>(what: &str, mut question: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = question() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        sleep(PAUSE);
    }
}

#[track_caller]
pub fn until_so(what: &str, mut question: impl FnMut() -> bool) {
    until(what, || question().then_some(()));
}
