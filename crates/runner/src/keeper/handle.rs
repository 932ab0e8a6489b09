//! The agent's side of a keeper: start it, talk to it, hear from it, be sure that it is gone.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::frames::{ReportReader, say_frame};
use super::order::{Order, Report, Say};
use super::sweep;
use crate::clock::Uptime;

/// All of the agent's environment that a keeper needs. Tokens are not among it: a job may read its keeper's environment.
const VARIABLES_KEPT: [&str; 5] = ["PATH", "DOCKER_HOST", "TMPDIR", "RUST_BACKTRACE", "XDG_RUNTIME_DIR"];
const SAYS_WAITING_MAX: usize = 16;
/// A keeper that was told to go kills its job and is gone; one that is stuck is killed after this.
const PATIENCE: Duration = Duration::from_secs(15);

static KEEPERS: AtomicU64 = AtomicU64::new(0);

/// A keeper at work. Dropping it ends its job: the keeper sees its input close and kills every process.
pub struct Keeper {
    /// `None` once the keeper was told to go.
    says: Option<mpsc::Sender<Vec<u8>>>,
    writer: JoinHandle<()>,
    reports: ReportReader<ChildStdout>,
    child: Child,
    word: String,
    scratch: PathBuf,
}

/// A keeper that was started and has no order yet. Dropped, it sees its input close and goes.
pub struct Idle {
    input: ChildStdin,
    output: ChildStdout,
    child: Child,
    word: String,
}

impl Idle {
    /// Starts `program keep`. Must be called within a runtime.
    pub fn spawn(program: &Path) -> io::Result<Idle> {
        let word = format!("{}-{}", std::process::id(), KEEPERS.fetch_add(1, Ordering::Relaxed));
        let mut command = Command::new(program);
        command.arg("keep").stdin(Stdio::piped()).stdout(Stdio::piped()).env_clear();
        command.envs(VARIABLES_KEPT.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.env(sweep::VARIABLE, &word);
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or_else(|| io::Error::other("the keeper has no input"))?;
        let output = child.stdout.take().ok_or_else(|| io::Error::other("the keeper has no output"))?;
        Ok(Idle { input, output, child, word })
    }

    /// Somebody may have killed it while it had nothing to do.
    pub fn if_alive(mut self) -> Option<Idle> {
        matches!(self.child.try_wait(), Ok(None)).then_some(self)
    }

    pub fn start(self, order: Order) -> io::Result<Keeper> {
        let Idle { input, output, child, word } = self;
        let scratch = order.scratch.clone();
        let start = say_frame(&Say::Start(Box::new(order)))?;
        let (says, waiting) = mpsc::channel(SAYS_WAITING_MAX);
        let writer = tokio::spawn(write(input, start, waiting));
        Ok(Keeper { says: Some(says), writer, reports: ReportReader::new(output), child, word, scratch })
    }
}

impl Keeper {
    /// Starts `program keep` with this order. Must be called within a runtime.
    pub fn spawn(program: &Path, order: Order) -> io::Result<Keeper> {
        Idle::spawn(program)?.start(order)
    }

    /// The keeper's process; `None` once it is gone.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// The lease was renewed.
    pub async fn extend(&self, until: Uptime) {
        self.say(&Say::Until { until }).await;
    }

    /// SIGTERM to every process of the job, SIGKILL after the grace.
    pub async fn cancel(&self, grace: Duration) {
        self.say(&Say::Cancel { grace }).await;
    }

    /// What the keeper reports next. `None`: it is gone, and so is every process of its job. May be dropped at any moment.
    pub async fn next(&mut self) -> Option<Report> {
        match self.reports.next().await {
            Ok(Some(report)) => Some(report),
            // A keeper that speaks nonsense is as good as gone.
            Ok(None) | Err(_) => {
                self.end().await;
                None
            }
        }
    }

    /// Kills whatever is left of the job and waits until keeper and job are gone. May be called twice.
    pub async fn end(&mut self) {
        self.says = None;
        self.writer.abort();
        let clean = match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(status) => status.is_ok_and(|status| status.success()),
            Err(_) => {
                // It may have gone meanwhile; then there is nothing to kill.
                let _ = self.child.kill().await;
                false
            }
        };
        if !clean {
            sweep::sweep(&self.word).await;
            // The keeper's to do, had it lived.
            let _ = std::fs::remove_dir_all(&self.scratch);
        }
    }

    async fn say(&self, say: &Say) {
        let Some(says) = &self.says else { return };
        let Ok(frame) = say_frame(say) else { return };
        // A keeper that no longer listens is gone, and `next` says so.
        let _ = says.send(frame).await;
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Closes the keeper's input, also when the keeper does not read.
        self.writer.abort();
    }
}

async fn write(mut input: ChildStdin, start: Vec<u8>, mut waiting: mpsc::Receiver<Vec<u8>>) {
    let mut next = Some(start);
    while let Some(frame) = next {
        if input.write_all(&frame).await.is_err() {
            return;
        }
        next = waiting.recv().await;
    }
}
