//! The actors: runners that remember one lease, a network that forgets nothing it was given, somebody who cancels, and
//! somebody who wants one more attempt.

use std::collections::BTreeSet;
use std::fmt;

use wire::{ExecId, JobId, LeaseId, LeaseKey, RunnerId};

/// What a runner says under a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Saying {
    Ack,
    Heartbeat,
    Commit,
    Succeed,
    /// A failure that another attempt may cure.
    Fail,
    CancelAck,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message {
    Ask { runner: u8, execution: ExecId },
    Say { runner: u8, execution: ExecId, saying: Saying },
    Cancel,
    Retry,
    ExecutionDue(ExecId),
    RunDue,
    Sweep,
    Release(JobId),
}

/// What happens without a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Send(Message),
    /// The runner dies and comes back without its memory.
    CrashRunner(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memory {
    Idle,
    Asked(ExecId),
    Offered(ExecId),
    Working {
        execution: ExecId,
        stop: bool,
    },
    /// It has said its last word, and waits for the answer.
    Finishing(ExecId),
}

impl Memory {
    pub fn execution(self) -> Option<ExecId> {
        match self {
            Memory::Idle => None,
            Memory::Asked(execution)
            | Memory::Offered(execution)
            | Memory::Working { execution, .. }
            | Memory::Finishing(execution) => Some(execution),
        }
    }
}

#[derive(Debug, Clone, Hash)]
pub struct Runner {
    pub asks_left: u8,
    pub memory: Memory,
}

/// How far a cancel has come, for whoever asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cancel {
    Unsaid,
    Said,
    /// It was told that the cancel is durable.
    Taken,
    /// It was told that it came too late.
    TooLate,
}

#[derive(Debug, Clone, Hash)]
pub struct Actors {
    pub runners: Vec<Runner>,
    /// Everything that was ever sent: it may arrive at any time, again, or never.
    pub network: BTreeSet<Message>,
    pub cancel: Cancel,
    /// The executions whose success was accepted, as their runners were told.
    pub accepted: BTreeSet<ExecId>,
}

impl Actors {
    pub fn new(asks: &[u8]) -> Actors {
        let runners = asks.iter().map(|asks_left| Runner { asks_left: *asks_left, memory: Memory::Idle });
        Actors {
            runners: runners.collect(),
            network: BTreeSet::new(),
            cancel: Cancel::Unsaid,
            accepted: BTreeSet::new(),
        }
    }
}

pub fn runner_id(runner: u8) -> RunnerId {
    RunnerId::parse(&format!("runner-{}", runner + 1)).expect("it is printable")
}

/// The execution that a runner's nth ask is about; by role, the same in every world.
pub fn execution_of_ask(runner: u8, left: u8) -> ExecId {
    ExecId::from_u128(u128::from(runner + 1) * 100 + u128::from(left))
}

pub fn lease_id(execution: ExecId) -> LeaseId {
    LeaseId::from(execution.to_string())
}

pub fn lease_key(execution: ExecId) -> LeaseKey {
    LeaseKey { execution, hash: lease_id(execution).hash() }
}

/// `1.2`: the ask of runner 1 that left it two more.
struct Short(ExecId);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0.as_u128() / 100, self.0.as_u128() % 100)
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Ask { runner, execution } => {
                write!(f, "runner {} asks for a lease ({})", runner + 1, Short(*execution))
            }
            Message::Say { runner, execution, saying } => {
                write!(f, "runner {} says {saying:?} under {}", runner + 1, Short(*execution))
            }
            Message::Cancel => write!(f, "somebody asks for a cancel"),
            Message::Retry => write!(f, "a person asks for one more attempt"),
            Message::ExecutionDue(execution) => write!(f, "tick: lease {} is due", Short(*execution)),
            Message::RunDue => write!(f, "tick: the run is due"),
            Message::Sweep => write!(f, "tick: the run's jobs are stopped"),
            Message::Release(_) => write!(f, "tick: dependents are told that a job is over"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Send(message) => write!(f, "sent: {message}"),
            Step::CrashRunner(runner) => write!(f, "runner {} dies and comes back", runner + 1),
        }
    }
}
