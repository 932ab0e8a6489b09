//! What the agent does when a keeper died before its job: finds the orphans by a word in their environment.
//!
//! A keeper killed with SIGKILL cannot clean up. Sandboxes die with it; plain processes do not, and their parents no longer
//! lead anywhere. The word is all that is left of the bond. A process that hides it escapes, which is one more reason for
//! the sandbox.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use super::tree;

/// The variable that every process of a job carries; its value names the keeper.
pub const VARIABLE: &str = "DELTACI_KEEPER";

const ROUNDS_MAX: u32 = 100;
const ROUND_PAUSE: Duration = Duration::from_millis(10);

/// Kills every process that carries the keeper's word, until a look finds none.
pub async fn sweep(word: &str) {
    let entry = format!("{VARIABLE}={word}");
    for _ in 0..ROUNDS_MAX {
        let mut found = tree::all();
        found.retain(|process| carries(process.pid, entry.as_bytes()));
        if found.is_empty() {
            return;
        }
        found.iter().for_each(|process| process.signal(Signal::KILL));
        tokio::time::sleep(ROUND_PAUSE).await;
    }
}

fn carries(pid: i32, entry: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == entry)
}
