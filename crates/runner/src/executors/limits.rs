//! Limits on memory and number of processes: by a control group where one can be made, else what the shell can do.
//!
//! A control group counts the whole job. Without one, memory is limited per process and the number of processes is not:
//! the kernel counts those per user, and a user may run other things.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::inside::SHELL;
use crate::keeper::{Limits, is_alive, own_start};

const ROOT: &str = "/sys/fs/cgroup";
const NAME: &str = "deltaci-";

/// What holds the job within its limits.
pub struct Cage {
    groups: Vec<PathBuf>,
    memory_kib_per_process: Option<u64>,
}

/// One limit: the controller, its file in either version of control groups, and the number.
struct Limit {
    controller: &'static str,
    file_v1: &'static str,
    file_v2: &'static str,
    number: u64,
}

impl Cage {
    /// Never fails: a limit that this machine cannot hold is left out.
    pub fn make(limits: &Limits) -> Cage {
        let mut cage = Cage { groups: Vec::new(), memory_kib_per_process: None };
        if let Some(number) = limits.memory_bytes {
            let limit = Limit {
                controller: "memory",
                file_v1: "memory.limit_in_bytes",
                file_v2: "memory.max",
                number,
            };
            if !cage.hold(&limit) {
                cage.memory_kib_per_process = Some((number / 1024).max(1));
            }
        }
        if let Some(number) = limits.processes {
            // Without a control group there is no fair way to count.
            cage.hold(&Limit { controller: "pids", file_v1: "pids.max", file_v2: "pids.max", number });
        }
        cage
    }

    fn hold(&mut self, limit: &Limit) -> bool {
        let Some(group) = group_for(limit) else { return false };
        if !self.groups.contains(&group) {
            self.groups.push(group);
        }
        true
    }

    /// A command that enters the cage and becomes this one. Entering is the program's own first act, so that nothing of
    /// the job runs outside.
    pub fn command(&self, words: Vec<String>) -> Command {
        let mut script = String::new();
        for group in &self.groups {
            script += &format!("echo 0 > '{}/cgroup.procs' && ", group.display());
        }
        if let Some(kib) = self.memory_kib_per_process {
            script += &format!("ulimit -d {kib} && ");
        }
        let mut words = words.into_iter();
        if script.is_empty() {
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words);
            return command;
        }
        let mut command = Command::new(SHELL);
        command.args(["-c", &format!("{script} exec \"$@\""), "deltaci"]).args(words);
        command
    }

    /// After the last process in it ended.
    pub fn remove(self) {
        for group in self.groups {
            // The next keeper on this machine tries again.
            let _ = fs::remove_dir(group);
        }
    }
}

/// The group of this keeper's job, with the limit set. `None`: not on this machine, or not for this user.
fn group_for(limit: &Limit) -> Option<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let (parents, file) = match version_1(&own, limit.controller) {
        Some(parent) => (vec![parent], limit.file_v1),
        None => (version_2(&own)?, limit.file_v2),
    };
    parents.into_iter().find_map(|parent| {
        remove_abandoned(&parent);
        let group = parent.join(format!("{NAME}{}-{}", std::process::id(), own_start()));
        // Version 2 hands a controller to a group only when told to; version 1 has no such file.
        let _ = fs::write(parent.join("cgroup.subtree_control"), format!("+{}", limit.controller));
        fs::create_dir(&group).or_else(|error| if group.is_dir() { Ok(()) } else { Err(error) }).ok()?;
        match fs::write(group.join(file), limit.number.to_string()) {
            Ok(()) => Some(group),
            Err(_) => {
                let _ = fs::remove_dir(&group);
                None
            }
        }
    })
}

/// `4:memory:/some/group` → where that group is mounted.
fn version_1(own: &str, controller: &str) -> Option<PathBuf> {
    let group = own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then_some(group)
    })?;
    Some(Path::new(ROOT).join(controller).join(group.trim_start_matches('/'))).filter(|path| path.is_dir())
}

/// `0::/some/group` → our own group and the one above: a group that holds processes cannot hand on its controllers.
fn version_2(own: &str) -> Option<Vec<PathBuf>> {
    let group = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let own = Path::new(ROOT).join(group.trim_start_matches('/'));
    let above = own.parent().filter(|above| above.starts_with(ROOT)).map(Path::to_owned);
    let found: Vec<_> =
        std::iter::once(own).chain(above).filter(|path| path.join("cgroup.controllers").exists()).collect();
    (!found.is_empty()).then_some(found)
}

/// Groups of keepers that were killed. One with a process in it cannot be removed, so nothing alive is lost.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let keeper = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split_once('-'));
        let keeper = keeper.and_then(|(pid, started)| Some((pid.parse().ok()?, started.parse().ok()?)));
        if keeper.is_some_and(|(pid, started)| !is_alive(pid, started)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}
