//! The agent inherits what a keeper that was killed left behind. The processes themselves are killed by whoever ends that
//! keeper; here their last trace is removed, or it would fill the process table over the weeks.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, waitpid};

const ROUND: Duration = Duration::from_secs(10);

/// Collects dead children that nobody waits for: those that were dead a round ago and still are. A keeper's end is
/// collected at once by whoever holds it.
pub async fn reap_forever() {
    let mut dead_before = BTreeSet::new();
    loop {
        tokio::time::sleep(ROUND).await;
        let dead = dead_children();
        for pid in dead.intersection(&dead_before).filter_map(|pid| Pid::from_raw(*pid)) {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG); // gone already is as good
        }
        dead_before = dead;
    }
}

fn dead_children() -> BTreeSet<i32> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| is_dead_child(*pid, own)).collect()
}

/// `PID (NAME) STATE PARENT …`, where the name may hold anything.
fn is_dead_child(pid: i32, parent: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let mut fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace()).into_iter().flatten();
    fields.next() == Some("Z") && fields.next().and_then(|field| field.parse().ok()) == Some(parent)
}
