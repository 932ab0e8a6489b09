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

/// Arguments: memory in KiB or nothing, `held` when a control group should hold it, the groups, `--`, the command. Entering
/// is the first act of the process that becomes the command, so that nothing of the job runs outside. A group that does not
/// let us in (a user may make one and still not enter) leaves the memory to the shell's own limit.
const ENTER: &str = r#"
deltaci_kib=$1 deltaci_held=$2; shift 2
while [ "$1" != -- ]; do
  { echo 0 > "$1/cgroup.procs"; } 2>/dev/null || deltaci_held=
  shift
done
shift
if [ -n "$deltaci_kib" ] && [ -z "$deltaci_held" ]; then ulimit -d "$deltaci_kib"; fi
exec "$@"
"#;

/// What holds the job within its limits.
#[derive(Default)]
pub struct Cage {
    groups: Vec<PathBuf>,
    memory_kib: Option<u64>,
    memory_held: bool,
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
        let mut cage = Cage::default();
        if let Some(number) = limits.memory_bytes {
            let (file_v1, file_v2) = ("memory.limit_in_bytes", "memory.max");
            cage.memory_kib = Some((number / 1024).max(1));
            cage.memory_held = cage.hold(&Limit { controller: "memory", file_v1, file_v2, number });
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

    /// A command that enters the cage and becomes this one.
    pub fn command(&self, words: Vec<String>) -> Command {
        let mut words = words.into_iter();
        if self.groups.is_empty() && self.memory_kib.is_none() {
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words);
            return command;
        }
        let kib = self.memory_kib.map(|kib| kib.to_string()).unwrap_or_default();
        let held = if self.memory_held { "held" } else { "" };
        let mut command = Command::new(SHELL);
        command.args(["-c", ENTER, "deltaci", &kib, held]).args(&self.groups).arg("--").args(words);
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
        let made = fs::create_dir(&group).is_ok();
        if fs::write(group.join(file), limit.number.to_string()).is_ok() {
            return Some(group);
        }
        if made {
            let _ = fs::remove_dir(&group);
        }
        None
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

#[cfg(test)]
mod tests {
    use super::*;

    fn output(cage: &Cage, script: &str) -> String {
        let words = [SHELL, "-c", script].map(String::from).to_vec();
        String::from_utf8(cage.command(words).output().unwrap().stdout).unwrap()
    }

    #[test]
    fn without_a_control_group_the_shell_limits_memory() {
        let alone = Cage { memory_kib: Some(32_768), ..Cage::default() };
        assert_eq!(output(&alone, "ulimit -d"), "32768\n");
        let closed = Cage { groups: vec!["/nowhere".into()], memory_held: true, ..alone };
        assert_eq!(output(&closed, "ulimit -d"), "32768\n", "a group that lets nobody in");
    }

    #[test]
    fn without_limits_the_command_is_left_alone() {
        assert_eq!(Cage::make(&Limits::default()).command(vec!["true".into()]).get_program(), "true");
    }

    #[test]
    fn groups_are_found_in_both_versions() {
        let own = "4:memory,pids:/\n0::/a/b\n";
        let first = version_1(own, "pids");
        assert!(first.is_none_or(|path| path.starts_with(ROOT)));
        assert_eq!(version_1(own, "cpu"), None);
        assert_eq!(version_2("4:memory:/\n"), None);
    }
}
