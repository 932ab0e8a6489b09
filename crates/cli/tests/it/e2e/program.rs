//! A `deltaci` process: started with a log file, signalled by its id, dead when the value is gone.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::e2e::patience::until;

pub struct Program {
    child: Child,
    log: PathBuf,
}

impl Program {
    /// What it says is appended to `log`. Of our environment it gets nothing that could change its mind, or that a
    /// curious job should see.
    pub fn start(words: &[String], variables: &[(&str, &str)], log: &Path) -> Program {
        let file = File::options().create(true).append(true).open(log).expect("a log can be written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_deltaci"));
        let kept = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.args(words).env_clear().envs(kept).envs(variables.iter().copied()).env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        Program { child: command.spawn().expect("the binary starts"), log: log.into() }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a child has an id");
        kill_process(pid, signal).expect("a child that was not collected can be signalled");
    }

    /// SIGKILL, and its end.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.ended();
    }

    /// How it ended, once it has.
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        until("the process ends", || self.child.try_wait().expect("a child can be waited for"))
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_some()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill(); // gone already is as good
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- {}\n{}", self.log.display(), self.log());
        }
    }
}
