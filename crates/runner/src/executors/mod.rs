//! Executors: where the steps of a job run. One contract, three walls around it.
//!
//! | executor | walls |
//! |---|---|
//! | `process` | none: plain processes of the runner's user |
//! | `sandbox` | bubblewrap: own processes, mounts and network, a read-only system |
//! | `docker` | a container of the image the job names |
//!
//! The contract, clause by clause; `tests/it/executors` holds all three to it with the same scripts.
//!
//! 1. *Open.* An executor starts one shell behind its walls (`inside.rs`). Until that shell says that it is ready, nothing
//!    of the job has run, and whatever goes wrong is not the job's fault.
//! 2. *Steps.* A step is a `sh -ec` in the workdir, with an empty standard input. It begins when `go` is called and ended
//!    when its mark appears in the output. Steps share workspace, home, temporary folder and background processes.
//! 3. *Output.* Standard output and error are one stream, in the order they were written. The mark of a step comes after
//!    everything the step wrote before it ended. Nobody reads faster than the agent takes it: a job that writes more waits.
//! 4. *Surroundings.* Home and temporary folder are fresh. The environment holds what `keeper::environment` and the
//!    executor list, and the job's own; nothing of the agent's.
//! 5. *Terminate* sends SIGTERM to every process of the job, in whatever session or group. It may be called at any time
//!    after `open`, also while a step begins or ends, and does not wait.
//! 6. *Kill* may be called at any time, also twice, also before the shell is ready. When it returns without a problem no
//!    process of the job is left, its output has ended, and what the executor made outside the job's folders is removed.
//! 7. *The keeper dies.* If it is killed, the walls fall by themselves (sandbox, docker), or its agent kills what is left
//!    (process).
//!
//! Never: a lease, a token, a decision about how the job ended.

mod choose;
mod docker;
mod engine;
mod inside;
mod limits;
mod local;
mod marks;
mod process;
mod pump;
mod sandbox;
mod talk;

use std::io;
use std::pin::Pin;

use tokio::io::AsyncRead;

pub use choose::choose;
pub use marks::Mark;
pub use pump::Pump;
pub use talk::Talk;

use crate::keeper::{ExecutorKind, Order, Places, Problem, Reaper};

pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
pub type Output = Box<dyn AsyncRead + Send + Unpin>;
pub type Environment = std::collections::BTreeMap<String, String>;

/// What an executor needs to know of the job.
pub struct Job<'a> {
    pub order: &'a Order,
    pub places: &'a Places,
    pub environment: Environment,
    pub reaper: &'a Reaper,
    /// Unlike any other job's: the marks in the output begin with it.
    pub word: &'a str,
}

/// See the contract above.
pub trait Executor: Send {
    /// Called once, when the shell inside is ready and no step has begun.
    fn settle(&mut self);

    /// Lets the next step begin.
    fn go(&mut self) -> Waiting<'_, io::Result<()>>;

    /// Returns when the shell inside ended, which it does not by itself; its exit code, or 128 + n. May be dropped.
    fn ended(&mut self) -> Waiting<'_, i32>;

    fn terminate(&mut self) -> Waiting<'_, ()>;

    /// Whether every process of the job has ended.
    fn is_quiet(&mut self) -> Waiting<'_, bool>;

    fn kill(&mut self) -> Waiting<'_, Result<(), Problem>>;

    /// The last thing the walls themselves had to say.
    fn complaint(&self) -> Option<String>;
}

/// Opens the walls and starts the shell inside.
pub async fn open(kind: ExecutorKind, job: Job<'_>) -> Result<(Box<dyn Executor>, Output), Problem> {
    match kind {
        ExecutorKind::Process => process::open(job),
        ExecutorKind::Sandbox => sandbox::open(job),
        ExecutorKind::Docker => docker::open(job).await,
    }
}

/// Removes what an opening that was broken off may have left outside the keeper's own processes.
pub async fn forget(kind: ExecutorKind) -> Result<(), Problem> {
    match kind {
        ExecutorKind::Process | ExecutorKind::Sandbox => Ok(()),
        ExecutorKind::Docker => docker::forget().await,
    }
}
