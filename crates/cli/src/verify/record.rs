//! What was seen from outside, in the order of the world: what clients asked and were told, what jobs did, what went over
//! the wire, what a subscriber got, what was done to whom. It can be kept in a file and judged again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use serde::{Deserialize, Serialize};
use server::Clock;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub seed: u64,
    pub settings: Settings,
    pub moments: Vec<Moment>,
    /// What the API showed when everything had come to rest.
    pub settled: Settled,
}

/// What the bounds depend on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub store: String,
    pub servers: usize,
    pub runners: usize,
    pub slots: usize,
    pub lease_ttl_ms: u64,
    pub heartbeat_ms: u64,
    pub ack_timeout_ms: u64,
    pub cancel_deadline_ms: u64,
    pub delivery_claim_ttl_ms: u64,
    /// Wall clocks could be moved.
    #[serde(default)]
    pub wall_clocks: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Microseconds of Unix time.
    pub at: i64,
    #[serde(flatten)]
    pub what: Happened,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Happened {
    /// Its place in the list is its number.
    Asked {
        client: String,
        ask: Ask,
    },
    Answered {
        of: usize,
        outcome: Outcome,
    },
    /// A cancelled job is over, as its client sees it.
    Stopped {
        of: usize,
    },
    /// A line that a job's step wrote to a file that outlives it.
    Effect {
        word: Word,
        payload: String,
        job: String,
        execution: String,
    },
    /// A runner asks for work.
    Wanted {
        runner: String,
    },
    /// The answer that hands out a lease has come from the server.
    Granted {
        of: usize,
        runner: String,
        job: String,
        execution: String,
    },
    /// The answer to a runner's last word has come from the server.
    Completed {
        runner: String,
        execution: String,
        succeeded: bool,
        accepted: bool,
    },
    /// A subscriber got a message.
    Told {
        lane: String,
        message: String,
        job: String,
    },
    /// Something was done to the site, or to a part of it.
    Fault {
        what: Fault,
        whom: String,
    },
    /// A server was started, and answered that it is ready.
    Started {
        whom: String,
    },
    Ready {
        whom: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Ask {
    Submit { payload: String },
    Trigger { key: String, payloads: Vec<String> },
    Cancel { job: String },
    Rerun { run: String },
    Retry { job: String },
}

/// A timeout is unknown, never a failure: it may have happened, then or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ok,
    Fail,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    Begin,
    End,
    /// Another process of the same job is alive.
    Overlap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    KillServer,
    KillRunner,
    StopServer,
    FreezeServer,
    FreezeRunner,
    Cut,
    FillDisk,
    SetClock,
    SetClockBetween,
    Delayed,
    Doubled,
    LostRequest,
    LostAnswer,
}

impl Fault {
    pub fn words(self) -> &'static str {
        match self {
            Fault::KillServer => "servers killed (SIGKILL)",
            Fault::KillRunner => "runners killed (SIGKILL)",
            Fault::StopServer => "servers stopped and started",
            Fault::FreezeServer => "servers frozen (SIGSTOP)",
            Fault::FreezeRunner => "runners frozen longer than the lease",
            Fault::Cut => "runners cut off from the server",
            Fault::FillDisk => "disk of the server full",
            Fault::SetClock => "wall clocks set, the server at work",
            Fault::SetClockBetween => "wall clocks set between two starts of a server",
            Fault::Delayed => "requests delayed",
            Fault::Doubled => "requests sent twice",
            Fault::LostRequest => "requests lost",
            Fault::LostAnswer => "answers lost",
        }
    }

    pub fn is_kill(self) -> bool {
        matches!(self, Fault::KillServer | Fault::KillRunner)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    pub jobs: Vec<JobSeen>,
    pub runs: Vec<RunSeen>,
    pub messages: Vec<MessageSeen>,
    /// What did not come to rest in time.
    pub unrest: Vec<String>,
    /// What `deltaci doctor` found.
    pub doctor: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobSeen {
    pub payload: String,
    /// As runners name it.
    pub id: String,
    pub uid: String,
    pub run: Option<String>,
    pub state: String,
    pub attempts: u32,
    /// A lost execution is not followed by another, unless a person says so.
    pub once: bool,
    pub executions: Vec<ExecutionSeen>,
    /// What its steps print in one execution.
    pub lines: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecutionSeen {
    pub id: String,
    pub token: u64,
    pub committed: bool,
    /// The text, and where holes are in it.
    pub log: String,
    pub gaps: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSeen {
    pub id: String,
    pub key: Option<String>,
    pub rerun_of: Option<String>,
    pub state: String,
}

/// A delivery, in the order of the commits that wrote them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageSeen {
    pub id: String,
    pub lane: String,
    pub subject: String,
    pub state: String,
    pub created_at: i64,
}

/// Whoever sees something writes it down here; the lock makes one order of it.
pub struct Scribe {
    clock: Clock,
    moments: Mutex<Vec<Moment>>,
}

impl Scribe {
    pub fn new() -> Scribe {
        Scribe { clock: Clock::start(), moments: Mutex::default() }
    }

    pub fn now(&self) -> i64 {
        self.clock.now().as_micros()
    }

    /// Returns the number of what was written.
    pub fn saw(&self, what: Happened) -> usize {
        let mut moments = self.lock();
        moments.push(Moment { at: self.now(), what });
        moments.len() - 1
    }

    /// Of the last so many moments.
    pub fn recent<T>(&self, count: usize, of: impl FnMut(&Moment) -> Option<T>) -> Vec<T> {
        let moments = self.lock();
        moments[moments.len().saturating_sub(count)..].iter().filter_map(of).collect()
    }

    pub fn moments(&self) -> Vec<Moment> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Moment>> {
        self.moments.lock().expect("nobody panics while writing")
    }
}

pub fn faults(moments: &[Moment]) -> BTreeMap<Fault, u64> {
    let mut counts = BTreeMap::new();
    for moment in moments {
        if let Happened::Fault { what, .. } = moment.what {
            *counts.entry(what).or_default() += 1;
        }
    }
    counts
}
