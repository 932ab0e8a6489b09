//! One process of git: its answer read as it comes, its complaints kept, its time limited.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::Error;

const PIPE_BYTES: usize = 64 * 1024;
const COMPLAINT_BYTES_MAX: u64 = 64 * 1024;

pub struct Output<T> {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub answer: T,
    pub complaint: String,
}

impl<T> Output<T> {
    pub fn or_fail(self, what: &str) -> Result<T, Error> {
        match self.code {
            Some(0) => Ok(self.answer),
            Some(_) | None => Err(Error::Git { what: what.into(), said: self.reason() }),
        }
    }

    /// The line that gives the reason; advice and consequences may stand around it.
    pub fn reason(&self) -> String {
        let lines = || self.complaint.lines().map(str::trim).filter(|line| !line.is_empty());
        let is_reason = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
        let line = lines().find(is_reason).or_else(|| lines().next()).unwrap_or("git did not say why");
        line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
    }
}

/// The process is the leader of a group of its own, so that what it starts ends with it.
pub fn run<T>(
    mut command: Command,
    time_max: Duration,
    what: &str,
    read: impl FnOnce(&mut dyn BufRead) -> Result<T, Error>,
) -> Result<Output<T>, Error> {
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(not_started)?;
    let group = Pid::from_child(&child);
    let answer = child.stdout.take().expect("it was asked for");
    let complaint = child.stderr.take().expect("it was asked for");
    let too_slow = AtomicBool::new(false);

    let (answer, complaint) = thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        let too_slow = &too_slow;
        scope.spawn(move || {
            if ended.recv_timeout(time_max) == Err(RecvTimeoutError::Timeout) {
                too_slow.store(true, Ordering::Relaxed);
                end(group);
            }
        });
        let complaint = scope.spawn(|| hear(complaint));
        let answer = {
            let mut answer = BufReader::with_capacity(PIPE_BYTES, answer);
            read(&mut answer)
        };
        if answer.is_err() {
            end(group);
        }
        // It is not reaped before the watch has ended, so that its number cannot be another's by then.
        let _ = waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        end(group);
        drop(done);
        (answer, complaint.join().unwrap_or_default())
    });
    let status = child.wait().map_err(not_started)?;
    if too_slow.into_inner() {
        return Err(Error::TooSlow { what: what.into(), seconds: time_max.as_secs() });
    }
    Ok(Output { code: status.code(), answer: answer?, complaint })
}

/// What is left of the group, if anything.
fn end(group: Pid) {
    let _ = kill_process_group(group, Signal::KILL);
}

fn hear(mut complaint: ChildStderr) -> String {
    let mut kept = Vec::new();
    let _ = complaint.by_ref().take(COMPLAINT_BYTES_MAX).read_to_end(&mut kept);
    let _ = io::copy(&mut complaint, &mut io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}

pub fn not_started(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::NoGit,
        _ => Error::Io { what: "run", path: "git".into(), source: error },
    }
}
