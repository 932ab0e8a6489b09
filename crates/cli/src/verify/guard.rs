//! Whatever becomes of us, nothing is left: a small shell knows the process group of all that is started, the folder and the
//! walls, waits on a pipe that only we hold, and cleans up when the pipe closes: at the end, after Ctrl-C and `kill -9` alike.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// Of a server in the middle of its start, what libfaketime leaves behind is found by its process group. Jobs end with their
/// runners, and may write a moment longer.
const SCRIPT: &str = r#"
trap '' INT TERM HUP PIPE
read -r _
for name in /dev/shm/faketime_shm_*; do
    id=${name##*_}
    [ "$(cut -d ' ' -f 5 "/proc/$id/stat" 2>/dev/null)" != "$2" ] || rm -f "$name" "/dev/shm/sem.faketime_sem_$id"
done
kill -s KILL -- "-$2" 2>/dev/null
for name in /run/netns/deltaci-"$3"-*; do
    [ ! -e "$name" ] || ip netns del "${name##*/}" 2>/dev/null
done
for _ in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf -- "$1" 2>/dev/null
    [ -e "$1" ] || break
    sleep 0.2
done
"#;

/// The group needs somebody in it from the start.
const LEADER: [&str; 2] = ["sleep", "2147483"];

pub struct Guard {
    leader: Child,
    shell: Child,
}

impl Guard {
    /// Over this folder, which goes with it.
    pub fn over(folder: &Path) -> Result<Guard> {
        let quiet = |command: &mut Command| {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        };
        let mut leader = Command::new(LEADER[0]);
        quiet(leader.arg(LEADER[1]));
        let leader = leader.spawn().context("cannot start `sleep`")?;
        let mut shell = Command::new("sh");
        let ids = [leader.id(), std::process::id()].map(|id| id.to_string());
        quiet(shell.args(["-c", SCRIPT, "guard"]).arg(folder).args(ids));
        let shell = shell.stdin(Stdio::piped()).spawn().context("cannot start `sh`")?;
        Ok(Guard { leader, shell })
    }

    /// What every process is started in.
    pub fn group(&self) -> i32 {
        i32::try_from(self.leader.id()).unwrap_or_default()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.shell.stdin.take()); // it reads the end, and cleans up
        let _ = self.shell.wait();
        let _ = self.leader.kill(); // it is gone already
        let _ = self.leader.wait();
    }
}
