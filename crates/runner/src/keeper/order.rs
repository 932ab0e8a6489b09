//! What agent and keeper say to each other. The agent writes [`Say`]s to the keeper's standard input, the keeper writes
//! [`Report`]s to its standard output. The end of either stream means that the other side is gone.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
pub use wire::runner::Checkout;

use crate::clock::Uptime;

/// A job as the keeper gets it: everything it needs, and no secret of ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// For labels and messages only.
    pub job: String,
    /// Told to the job: what it does outside can be known, and fenced, by it.
    pub execution: String,
    /// Where the steps run. An empty folder that belongs to this execution, which the keeper fills and the agent removes;
    /// or a person's own, of which nothing is removed.
    pub workspace: PathBuf,
    /// Made for the job's home and temporary folder, and removed with the job. Outside the workspace.
    pub scratch: PathBuf,
    pub checkout: Option<Checkout>,
    pub copy: Option<CopyOf>,
    pub steps: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// Relative to the workspace, and inside it.
    pub workdir: String,
    pub image: Option<String>,
    pub executor: Choice,
    pub network: bool,
    pub limits: Limits,
    /// Unpacked after the checkout, packed when the job has succeeded.
    pub caches: Vec<CacheOrder>,
    /// The most that one of them may have.
    pub cache_bytes_max: u64,
    /// From the first step on.
    pub max_runtime: Duration,
    /// Between SIGTERM and SIGKILL when the job runs out of time.
    pub grace: Duration,
    /// When the lease ends, less the time it takes to kill; later word moves it on.
    pub until: Uptime,
}

/// Files of this machine that the workspace is filled with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyOf {
    pub folder: PathBuf,
    /// A file that names what is copied: for each a letter (`f` a file, `x` an executable one, `l` a link, `m` a submodule,
    /// whose place stays empty), its path below the folder, and a zero byte; in the order of the paths.
    pub list: PathBuf,
}

/// One cache of the job, without the key: that is between the agent and the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheOrder {
    /// For the log.
    pub name: String,
    /// Relative to the workspace, or to the job's home when they begin with `~/`.
    pub paths: Vec<String>,
    /// What was found for it.
    pub archive: Option<PathBuf>,
    /// Where to put what the job leaves; `None` when that is known already.
    pub save_to: Option<PathBuf>,
}

/// What the runner's operator wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// Docker when the job names an image and an engine answers, else sandbox, else process.
    Auto,
    Process,
    Sandbox,
    Docker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutorKind {
    Process,
    Sandbox,
    Docker,
}

/// `None`: whatever the machine has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub memory_bytes: Option<u64>,
    pub processes: Option<u64>,
}

/// Agent to keeper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum Say {
    /// First, and once.
    Start(Box<Order>),
    /// The lease was renewed.
    Until { until: Uptime },
    /// SIGTERM to every process of the job, and SIGKILL after the grace.
    Cancel { grace: Duration },
}

/// Keeper to agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// Which executor runs the job, and why that one.
    Chosen {
        executor: ExecutorKind,
        why: String,
    },
    StepStarted {
        index: u32,
    },
    StepEnded {
        index: u32,
        exit_code: i32,
    },
    /// What the job wrote, standard output and error as they came.
    Output(Vec<u8>),
    /// A line for the job's log.
    Note {
        line: String,
    },
    /// Last, and once: no process of the job is left.
    Finished(Finish),
}

/// How the job ended, as far as the keeper can tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "finish", rename_all = "snake_case")]
pub enum Finish {
    Succeeded,
    /// A step ended with another code than zero; 128 + n when signal n ended it.
    StepFailed {
        index: u32,
        exit_code: i32,
    },
    /// `max_runtime` passed.
    TimedOut,
    /// As asked; `forced` when SIGTERM did not do.
    Canceled {
        forced: bool,
    },
    /// `until` passed, or the agent is gone.
    OutOfLease,
    /// Not the job's fault: the checkout, the image, the executor itself.
    Infra {
        problem: String,
    },
}
