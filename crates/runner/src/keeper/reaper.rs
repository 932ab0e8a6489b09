//! Waits for every child of the keeper, its own and the orphans it inherits.
//!
//! Nothing else in the keeper may wait for a child: a status can be collected once.

use std::collections::HashMap;
use std::io;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, oneshot};

/// A shell's way to say that a signal ended a program.
const SIGNAL_BASE: i32 = 128;
/// One call reaps so many; the next signal or round goes on.
const REAPED_AT_ONCE_MAX: usize = 100_000;

#[derive(Clone)]
pub struct Reaper {
    awaited: Arc<Mutex<HashMap<i32, oneshot::Sender<i32>>>>,
    died: Arc<Notify>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Children {
    None,
    Some,
}

impl Children {
    pub fn is_childless(self) -> bool {
        self == Children::None
    }
}

impl Reaper {
    /// Reaps from now on. Needs a runtime of one thread: a child must not be reaped between its start and the note of it.
    pub fn start() -> io::Result<Reaper> {
        let reaper = Reaper { awaited: Arc::default(), died: Arc::default() };
        let mut deaths = signal(SignalKind::child())?;
        let ours = reaper.clone();
        tokio::spawn(async move {
            while deaths.recv().await.is_some() {
                ours.reap();
                ours.died.notify_waiters();
            }
        });
        Ok(reaper)
    }

    /// Starts a program; whoever holds the answer learns its exit code, or 128 + n.
    pub fn spawn(&self, command: &mut Command) -> io::Result<oneshot::Receiver<i32>> {
        let child = command.spawn()?;
        let pid = child.id() as i32;
        let (sender, exit) = oneshot::channel();
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner).insert(pid, sender);
        Ok(exit)
    }

    /// Returns when a child has died since the call. On the keeper's one thread nothing is missed in between.
    pub async fn death(&self) {
        self.died.notified().await;
    }

    /// Collects every child that ended.
    pub fn reap(&self) -> Children {
        for _ in 0..REAPED_AT_ONCE_MAX {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    let mut awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(sender) = awaited.remove(&pid.as_raw_pid()) {
                        // Nobody may care any more how it ended.
                        let _ = sender.send(exit_code(status));
                    }
                }
                Ok(None) => return Children::Some,
                Err(Errno::INTR) => {}
                Err(_) => return Children::None,
            }
        }
        Children::Some
    }
}

fn exit_code(status: WaitStatus) -> i32 {
    let signal = || status.terminating_signal().map(|signal| SIGNAL_BASE + signal);
    status.exit_status().or_else(signal).unwrap_or(SIGNAL_BASE)
}
