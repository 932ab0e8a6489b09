//! A process of ours: started with a log file, signalled by its id, dead when the value is gone.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

pub struct Process {
    child: Child,
    log: PathBuf,
    /// Where in the log its own words begin.
    from: usize,
}

/// How a process is started.
pub struct Start<'a> {
    /// The program and what stands before it, such as the walls it is put behind.
    pub program: &'a [String],
    pub words: &'a [String],
    pub variables: &'a [(String, String)],
    pub log: &'a Path,
    /// The process group that the guard ends.
    pub group: i32,
}

impl Process {
    /// Of our environment it gets nothing that could change its mind.
    pub fn start(start: &Start<'_>) -> Result<Process> {
        let from = fs::metadata(start.log).map_or(0, |found| found.len() as usize);
        let file =
            File::options().create(true).append(true).open(start.log).context("a log cannot be written")?;
        let (program, before) = start.program.split_first().context("no program")?;
        let mut command = Command::new(program);
        let kept = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.args(before).args(start.words).env_clear().envs(kept).env("NO_COLOR", "1");
        command.envs(start.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).process_group(start.group);
        let child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        Ok(Process { child, log: start.log.into(), from })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        // It was not collected, so the id is still its own.
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        Ok(kill_process(pid.ok_or(ErrorKind::NotFound)?, signal)?)
    }

    /// SIGKILL, and its end.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// What to say of a process that nobody ended.
    pub fn ended_by_itself(&mut self, name: &str) -> Option<String> {
        self.has_ended().then(|| format!("{name} ended by itself: {}", self.said().trim()))
    }

    /// What it has said so far.
    pub fn said(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(bytes.get(self.from..).unwrap_or_default()).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill(); // gone already is as good
        let _ = self.child.wait();
    }
}
