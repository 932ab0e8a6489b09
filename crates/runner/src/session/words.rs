//! What goes into a session and what comes out of it.

use std::sync::Arc;
use std::time::Duration;

use wire::runner::{ArtifactRef, CacheRef, Phase, StaleReason};

use crate::clock::Uptime;
use crate::session::verdict::Verdict;

/// What the lease was granted under.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub lease_ttl: Duration,
    pub heartbeat_interval: Duration,
    pub max_runtime: Duration,
    pub steps: u32,
    pub artifacts: Wanted,
}

/// Which artifacts the job names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    pub any: bool,
    /// Some of a type that is wanted also when the job fails.
    pub reports: bool,
    /// Something for later jobs to find; only a success leaves it.
    pub caches: bool,
}

/// Which of them to bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    All,
    /// What says why a job failed.
    Reports,
}

impl Which {
    pub fn includes(self, kind: &str) -> bool {
        match self {
            Which::All => true,
            Which::Reports => matches!(kind, "junit" | "log"),
        }
    }
}

/// What became of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Collected {
    Done {
        artifacts: Vec<ArtifactRef>,
        caches: Vec<CacheRef>,
    },
    /// The job left more than it may.
    TooMuch {
        problem: String,
    },
    /// Not the job's fault. Some may have arrived.
    Failed {
        problem: String,
        artifacts: Vec<ArtifactRef>,
    },
    /// The orchestrator says that the lease is.
    Stale(StaleReason),
}

/// What to do once the lease is acknowledged.
#[derive(Debug, Clone)]
pub enum Plan {
    Run,
    /// This runner cannot: say so at once.
    Refuse(Verdict),
}

/// The kinds of request, each with at most one in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Ack,
    Heartbeat,
    Log,
    Complete,
    CancelAck,
}

/// What to say to the orchestrator; the agent adds the lease id and the wall clock's time.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Ack,
    Heartbeat(Beat),
    /// The log from this offset on, as much as one chunk takes.
    Log {
        offset: u64,
    },
    Complete {
        verdict: Verdict,
        artifacts: Arc<[ArtifactRef]>,
        /// Of a success only.
        caches: Arc<[CacheRef]>,
        started_at: Uptime,
        finished_at: Uptime,
    },
    CancelAck {
        summary: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// The step that runs, or ran last.
    pub step: Option<u32>,
    pub phase: Phase,
    /// Of the log, and acknowledged.
    pub bytes_sent: u64,
}

impl Request {
    pub fn call(&self) -> Call {
        match self {
            Request::Ack => Call::Ack,
            Request::Heartbeat(_) => Call::Heartbeat,
            Request::Log { .. } => Call::Log,
            Request::Complete { .. } => Call::Complete,
            Request::CancelAck { .. } => Call::CancelAck,
        }
    }
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Acked {
        ttl: Duration,
    },
    Beaten {
        /// `None`: the lease was not extended.
        ttl: Option<Duration>,
        /// How long until the orchestrator stops waiting for the job to stop.
        cancel: Option<Duration>,
    },
    /// The log is known up to this offset.
    Logged {
        offset: u64,
        /// The orchestrator keeps only the beginning and the end.
        truncated: bool,
    },
    /// The chunk began elsewhere; the log is known up to this offset.
    WrongOffset {
        offset: u64,
    },
    Completed {
        accepted: bool,
    },
    CancelAcked,
    Stale(StaleReason),
    NotAcknowledged,
    /// The token is not, or no longer, good for this.
    Unauthorized,
    /// Understood and refused for good, with the problem's code.
    Refused {
        code: String,
    },
    /// It may have arrived or not: no connection, no answer in time, or an error of the server. `jitter` is between
    /// zero and one.
    Unknown {
        jitter: f64,
    },
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Send it, and come back with an [`Answer`] before the timeout.
    Send { request: Request, timeout: Duration },
    /// Start the keeper; once.
    Start { until: Uptime },
    /// Tell the keeper that the lease was renewed.
    Extend { until: Uptime },
    /// Tell the keeper to stop the job.
    Cancel { grace: Duration },
    /// Kill every process of the job now, and come back with `handle_gone`.
    Kill,
    /// Tell the job, in its log, that the orchestrator does not keep all of it; once.
    NoteTruncated,
    /// Bring the artifacts to the server, and come back with `handle_collected`; once.
    Collect(Which),
    /// Stop bringing them.
    Abandon,
    /// Remove what is left; last, and once.
    Over(End),
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The orchestrator has the result.
    Completed(Verdict),
    Canceled,
    /// The lease speaks for the attempt no longer.
    Stale(StaleReason),
    /// No renewal came through in time, or no acknowledgement.
    LeaseLost,
    Unauthorized,
    Refused {
        call: Call,
        code: String,
    },
}
