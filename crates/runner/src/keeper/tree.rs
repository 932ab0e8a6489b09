//! The processes of the job: all that descend from this one, wherever they hid.
//!
//! The keeper is a subreaper, so a process whose parent ended becomes its child instead of init's: whatever sessions and
//! groups a job makes, walking parents in `/proc` finds it.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{Problem, Reaper};

/// A kill takes microseconds and whole rounds only race with forks. Together the rounds take ten seconds.
const KILL_ROUNDS_MAX: u32 = 1_000;
const ROUND_PAUSE: Duration = Duration::from_millis(10);
/// The first rounds follow quickly, and look where the processes usually are: most jobs are gone after one.
const QUICK_ROUNDS: u32 = 10;
const QUICK_PAUSE: Duration = Duration::from_millis(1);

/// One process as `/proc` showed it. The start time tells it from a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    parent: i32,
    started: u64,
    zombie: bool,
}

/// Everything below one process, usually our own.
#[derive(Debug, Clone, Copy)]
pub struct Tree {
    root: i32,
}

impl Tree {
    pub fn own() -> Tree {
        Tree { root: rustix::process::getpid().as_raw_pid() }
    }

    /// Every living descendant; zombies hold nothing and are left to whoever waits for them.
    pub fn living(self) -> Vec<Process> {
        let all = all();
        let mut found: BTreeSet<i32> = BTreeSet::from([self.root]);
        // A parent may stand after its child in the list: look until nothing new turns up.
        let mut before = 0;
        while before < found.len() {
            before = found.len();
            found.extend(
                all.iter()
                    .filter(|process| found.contains(&process.parent))
                    .map(|it| it.pid)
                    .collect::<Vec<_>>(),
            );
        }
        all.into_iter().filter(|it| it.pid != self.root && !it.zombie && found.contains(&it.pid)).collect()
    }

    /// The same, by the kernel's own lists of children, where it has them: without a look at every process of the machine.
    /// A list that changes while it is read may lack somebody, so this is for when nothing changes, or for a first try.
    pub fn near(self) -> Vec<Process> {
        let mut found: Vec<i32> = vec![self.root];
        let mut next = 0;
        while let Some(parent) = found.get(next).copied() {
            next += 1;
            match children(parent) {
                Some(children) => found.extend(children),
                None if parent == self.root => return self.living(), // a kernel without such lists
                None => {}                                           // it ended meanwhile
            }
        }
        found.into_iter().skip(1).filter_map(look).filter(|process| !process.zombie).collect()
    }

    /// SIGTERM to all but the spared, which are our own helpers.
    pub fn terminate(self, spared: &[i32]) {
        for process in self.living().iter().filter(|process| !spared.contains(&process.pid)) {
            process.signal(Signal::TERM);
        }
    }

    /// Whether nothing but the spared is alive.
    pub fn is_quiet(self, spared: &[i32]) -> bool {
        self.living().iter().all(|process| spared.contains(&process.pid))
    }

    /// SIGKILL, again and again, until the kernel says that we have no child left.
    pub async fn kill(self, reaper: &Reaper) -> Result<(), Problem> {
        for round in 0..KILL_ROUNDS_MAX {
            if reaper.reap().is_childless() {
                return Ok(());
            }
            let quick = round < QUICK_ROUNDS;
            let found = if quick { self.near() } else { self.living() };
            found.iter().for_each(|process| process.signal(Signal::KILL));
            if quick {
                // Over as soon as somebody died; whether that was the last, the next round says.
                let _ = tokio::time::timeout(QUICK_PAUSE, reaper.death()).await;
            } else {
                tokio::time::sleep(ROUND_PAUSE).await;
            }
        }
        let left: Vec<_> = self.living().iter().map(|process| process.pid.to_string()).collect();
        Err(Problem::new(format!("processes of the job could not be killed: {}", left.join(", "))))
    }
}

impl Process {
    /// Only to the process that was seen: its number may have passed on to a stranger since.
    pub fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        if look(self.pid).is_some_and(|now| now.started == self.started) {
            // It may end in this very moment, which is what we want.
            let _ = pidfd_send_signal(handle, signal);
        }
    }
}

/// Whether a process with this number and start time is there.
pub fn is_alive(pid: i32, started: u64) -> bool {
    look(pid).is_some_and(|process| process.started == started && !process.zombie)
}

/// Our own start time, as others see it.
pub fn own_start() -> u64 {
    look(Tree::own().root).map_or(0, |process| process.started)
}

pub fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| look(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Each thread has a list of its own. `None`: the process is gone, or the kernel keeps no lists.
fn children(parent: i32) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{parent}/task")).ok()? {
        let list = fs::read_to_string(thread.ok()?.path().join("children")).ok()?;
        found.extend(list.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Some(found)
}

fn look(pid: i32) -> Option<Process> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `pid (name) state parent …`; the name may hold anything, so the last bracket ends it.
fn parse(stat: &str) -> Option<Process> {
    const FIELDS_TO_START: usize = 17;
    let (pid, _) = stat.split_once(' ')?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(FIELDS_TO_START)?.parse().ok()?;
    Some(Process { pid: pid.parse().ok()?, parent, started, zombie: matches!(state, "Z" | "X") })
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let stat = "42 (a) b) (c) S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9876 1000 200 184";
        assert_eq!(parse(stat), Some(Process { pid: 42, parent: 7, started: 9876, zombie: false }));
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn descendants_are_found_without_a_look_at_everybody() {
        let mut shell = std::process::Command::new("/bin/sh");
        let mut shell = shell.args(["-c", "sleep 60 & wait"]).spawn().expect("a shell");
        let tree = Tree { root: shell.id() as i32 };
        const LOOKS_MAX: usize = 1_000;
        let found = (0..LOOKS_MAX).any(|_| {
            std::thread::sleep(Duration::from_millis(10)); // until the shell has started its child
            tree.near().len() == 1
        });
        let (near, all) = (tree.near(), tree.living());
        all.iter().for_each(|process| process.signal(Signal::KILL));
        shell.kill().and_then(|()| shell.wait()).expect("it was ours");
        assert!(found, "the shell has a child");
        assert_eq!(near, all);
    }

    #[test]
    fn we_find_ourselves_alive_and_not_somebody_else_of_our_number() {
        let own = Tree::own().root;
        assert!(is_alive(own, own_start()));
        assert!(!is_alive(own, own_start() + 1));
    }
}
