//! The one way to run git: nothing in the repository, nor in anybody's settings, decides what is run.

mod batch;
mod process;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

pub use batch::{Batch, Content};
pub use process::Output;

use crate::Error;

/// Whatever reads only this machine's disk.
const TIME_MAX: Duration = Duration::from_secs(120);
/// Of an answer that is kept as a whole.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
const PATH_DEFAULT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The last word on each, whatever the repository's own configuration says.
const SETTINGS: [&str; 20] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.quotePath=false",
    "core.logAllRefUpdates=false",
    "credential.helper=",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "transfer.bundleURI=false",
    // Whoever says nothing for a minute is gone; holds also when we are no longer there to look at the clock.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
    // A pack is there as a whole or not at all. Loose objects of a fetch that was cut short could be a commit without
    // its files.
    "transfer.unpackLimit=1",
    "fetch.unpackLimit=1",
    "init.defaultBranch=main",
    "gc.auto=0",
    "gc.autoDetach=false",
    "maintenance.auto=false",
];

const SSH: &str = "ssh -o BatchMode=yes -o ControlMaster=no -o ControlPath=none -o ConnectTimeout=30 \
                   -o ServerAliveInterval=15 -o ServerAliveCountMax=4";

/// Through which doors git may speak to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doors {
    /// None, not even to complete a partial clone.
    Closed,
    Network,
    NetworkAndDisk,
}

#[derive(Debug)]
pub struct Git {
    git_dir: PathBuf,
    /// The top of the working tree, and the folder in it that paths are relative to.
    work: Option<(PathBuf, PathBuf)>,
    settings: Vec<OsString>,
    doors: Doors,
    time_max: Duration,
    /// Held until the process has ended, even if ours ends before it.
    lock: Option<File>,
}

impl Git {
    /// A repository with files: `root` is `top` or a folder below.
    pub fn with_files(git_dir: PathBuf, top: PathBuf, root: PathBuf) -> Git {
        let mut safe = OsString::from("safe.directory=");
        safe.push(&top);
        let work = Some((top, root));
        Git { git_dir, work, settings: vec![safe], doors: Doors::Closed, time_max: TIME_MAX, lock: None }
    }

    pub fn bare(git_dir: PathBuf) -> Git {
        let mut safe = OsString::from("safe.directory=");
        safe.push(&git_dir);
        let settings = vec![safe];
        Git { git_dir, work: None, settings, doors: Doors::Closed, time_max: TIME_MAX, lock: None }
    }

    /// The same repository, with doors open.
    pub fn open(&self, doors: Doors, time_max: Duration, lock: Option<File>) -> Git {
        let Git { git_dir, work, settings, .. } = self;
        Git {
            git_dir: git_dir.clone(),
            work: work.clone(),
            settings: settings.clone(),
            doors,
            time_max,
            lock,
        }
    }

    pub fn set(&mut self, name: &str, value: &OsStr) {
        let mut setting = OsString::from(name);
        setting.push("=");
        setting.push(value);
        self.settings.push(setting);
    }

    /// Runs git and keeps what it says, also when it fails.
    pub fn ask<W: AsRef<OsStr>>(&self, words: &[W]) -> Result<Output<Vec<u8>>, Error> {
        self.stream(words, |answer| {
            let mut kept = Vec::new();
            answer.take(ANSWER_BYTES_MAX as u64 + 1).read_to_end(&mut kept).map_err(broken(words))?;
            match kept.len() {
                ..=ANSWER_BYTES_MAX => Ok(kept),
                _ => Err(Error::TooMuch { what: line(words), bytes_max: ANSWER_BYTES_MAX }),
            }
        })
    }

    /// What git says, without the end of its last line. `what` says what failed if it fails.
    pub fn must<W: AsRef<OsStr>>(&self, what: &str, words: &[W]) -> Result<Vec<u8>, Error> {
        let mut output = self.ask(words)?.or_fail(what)?;
        if output.last() == Some(&b'\n') {
            output.pop();
        }
        Ok(output)
    }

    /// Runs git, and hands over its answer as it comes.
    pub fn stream<T, W: AsRef<OsStr>>(
        &self,
        words: &[W],
        read: impl FnOnce(&mut dyn BufRead) -> Result<T, Error>,
    ) -> Result<Output<T>, Error> {
        let mut command = self.command(words);
        command.stdin(match &self.lock {
            Some(lock) => Stdio::from(lock.try_clone().map_err(broken(words))?),
            None => Stdio::null(),
        });
        process::run(command, self.time_max, &line(words), read)
    }

    /// Contents one after the other, from one process.
    pub fn batch(&self) -> Result<Batch, Error> {
        Batch::start(self.command(&["cat-file", "--batch"]))
    }

    fn command<W: AsRef<OsStr>>(&self, words: &[W]) -> Command {
        let mut command = bare_command();
        command.args(["--no-optional-locks", "--no-pager"]);
        // Paths are paths, never patterns. This one command does not take the option, and is given no name from outside.
        if words.first().is_none_or(|word| word.as_ref() != "check-ignore") {
            command.arg("--literal-pathspecs");
        }
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        for setting in &self.settings {
            command.arg("-c").arg(setting);
        }
        command.args(words);
        command.env("GIT_DIR", &self.git_dir).env("GIT_CONFIG_GLOBAL", "/dev/null");
        match &self.work {
            Some((top, root)) => {
                command.env("GIT_WORK_TREE", top).current_dir(root);
                // Where a person keeps the patterns of what they never commit.
                keep(&mut command, &["HOME", "XDG_CONFIG_HOME"]);
            }
            None => {
                command.current_dir(&self.git_dir).env("HOME", "/dev/null");
            }
        }
        let doors = match self.doors {
            Doors::Closed => "none",
            Doors::Network => "git:http:https:ssh",
            Doors::NetworkAndDisk => "file:git:http:https:ssh",
        };
        command.env("GIT_ALLOW_PROTOCOL", doors);
        if self.doors != Doors::Closed {
            keep(&mut command, &PROXIES);
        }
        command
    }
}

/// How the machine reaches the network.
const PROXIES: [&str; 10] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
];

/// What holds for every git that we start.
fn bare_command() -> Command {
    let mut command = Command::new("git");
    command.env_clear().env("LC_ALL", "C.UTF-8");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| PATH_DEFAULT.into()));
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_ATTR_NOSYSTEM", "1");
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "true");
    command
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", "/dev/null");
    command.env("GIT_SSH_COMMAND", SSH);
    command
}

fn keep(command: &mut Command, names: &[&str]) {
    for name in names {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}

/// Patterns of files that the person at this machine never commits, where their own configuration names some.
pub fn persons_excludes() -> Option<PathBuf> {
    let words = ["config", "--global", "--includes", "--type=path", "--null", "--get", "core.excludesFile"];
    let mut command = bare_command();
    command.args(words).stdin(Stdio::null()).current_dir("/");
    keep(&mut command, &["HOME", "XDG_CONFIG_HOME"]);
    let read = |answer: &mut dyn BufRead| {
        let mut path = Vec::new();
        answer.take(ANSWER_BYTES_MAX as u64).read_until(0, &mut path).map_err(broken(&words))?;
        Ok(path)
    };
    let mut path = process::run(command, TIME_MAX, "git config", read).ok()?.or_fail("").ok()?;
    path.pop();
    (!path.is_empty()).then(|| Path::new(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(&path)).into())
}

/// Who is told that an answer broke off.
fn broken<W: AsRef<OsStr>>(words: &[W]) -> impl FnOnce(std::io::Error) -> Error {
    let path = line(words);
    move |source| Error::Io { what: "read the answer of", path, source }
}

/// `git fetch`, for messages: what follows may be long, or a secret.
fn line<W: AsRef<OsStr>>(words: &[W]) -> String {
    let name = words.first().map(|word| word.as_ref().to_string_lossy()).unwrap_or_default();
    format!("git {name}")
}
