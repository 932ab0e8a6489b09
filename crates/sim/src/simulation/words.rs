//! What clients ask of a server and what they are told, as the HTTP API has it: ids that a server mints are not in a
//! request, so a request that arrives twice is minted for twice.

use std::sync::Arc;

use decisions::records::VersionName;
use decisions::{Answer, Refusal};
use runner::session;
use wire::runner::Effect;
use wire::{Digest, ExecId, JobId, LeaseId, MessageId, RunId, TenantId, UploadId};

/// Who waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    Runner(usize),
    /// Hands in, cancels, retries; has all the time in the world.
    Person,
    Publisher(usize),
}

/// Under a lease.
#[derive(Debug, Clone)]
pub struct Word {
    pub lease: LeaseId,
    pub execution: ExecId,
    pub tenant: TenantId,
    pub said: Said,
}

#[derive(Debug, Clone)]
pub enum Said {
    Ack,
    Heartbeat(session::Beat),
    Log { offset: u64, bytes: Arc<[u8]> },
    Commit { effects: Vec<Effect> },
    Complete { verdict: session::Verdict, stored: Vec<Digest> },
    CancelAck { summary: String },
}

#[derive(Debug, Clone)]
pub enum Request {
    Lease,
    Word(Box<Word>),
    Submit { key: String, effect_once: bool, priority: i32 },
    CreateRun { trigger: String },
    CancelJob { job: JobId },
    CancelRun { run: RunId },
    RetryJob { job: JobId },
    Rerun { run: RunId, failed_only: bool },
    Redrive { delivery: MessageId },
    StartUpload { tenant: TenantId, content: u8, execution: Option<ExecId> },
    SendContent { upload: UploadId, content: u8 },
    CommitUpload { upload: UploadId },
    AbortUpload { tenant: TenantId, upload: UploadId },
    CreateVersion { name: VersionName, content: u8 },
    Publish { name: VersionName },
    Tombstone { name: VersionName },
    Restore { name: VersionName },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Done(Answer),
    Refused(Refusal),
    /// No answer in time, no connection, or an error of the server: perhaps it was done.
    Unknown,
}
