//! Everything that happens, as one running hash: the same seed, the same number. In words too, when somebody wants to read
//! them.

use wire::Time;

use super::dice::mixed;

#[derive(Debug, Clone, Default)]
pub struct Trace {
    pub hash: u64,
    pub events: u64,
    /// Kept only when asked for.
    pub story: Option<Vec<String>>,
}

/// A story that nobody could read to its end is cut at its beginning.
const LINES_MAX: usize = 20_000;

impl Trace {
    pub fn note(&mut self, now: Time, what: u64) {
        self.hash = mixed(self.hash ^ mixed(what ^ now.as_micros() as u64));
        self.events += 1;
    }

    pub fn tell(&mut self, since: std::time::Duration, line: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            if story.len() == LINES_MAX {
                story.remove(0);
            }
            story.push(format!("{:>9.3} s  {}", since.as_secs_f64(), line()));
        }
    }
}

/// A text as a number.
pub fn of_text(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
