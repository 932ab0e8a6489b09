//! AppendLog: the next bytes of what a job prints. Offsets count per lease, so nothing is kept twice and nothing is missed.
//!
//! It speaks for the lease as a heartbeat does, but does not renew it: a job that prints is not a runner that lives.

use std::sync::Arc;

use wire::runner::StaleReason;
use wire::{ExecId, LeaseKey};

use crate::draft::Hint;
use crate::leases::{granted_under, require_active, stale};
use crate::policy::Policy;
use crate::records::{Log, LogChunk, LogTrim, Run};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct AppendLog {
    pub lease: LeaseKey,
    /// Where the bytes belong, counted from the lease's first.
    pub offset: u64,
    pub bytes: Arc<[u8]>,
}

impl Decide for AppendLog {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Execution(self.lease.execution), Ask::Log(self.lease.execution)]);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let execution = granted_under(draft, self.lease)?;
        require_active(&execution, draft.now)?;
        if execution.run.and_then(|run| draft.get::<Run>(&run)).is_some_and(Run::is_over) {
            return Err(stale(StaleReason::LeaseRevoked)); // the run has taken the lease with it, swept or not
        }
        let log = draft.get::<Log>(&execution.id).copied().unwrap_or(empty(execution.id));
        if self.bytes.is_empty() {
            return Ok(appended(&log)); // a way to ask where to go on
        }
        if self.bytes.len() > draft.policy.log_chunk_bytes_max {
            let problem = format!("more than {} bytes; send it in parts", draft.policy.log_chunk_bytes_max);
            return Err(Refusal::InvalidInput { field: "body", problem });
        }
        if self.offset != log.received {
            return Err(Refusal::LogOffset { expected: log.received });
        }
        let grown = grown(log, self.bytes.len() as u64, draft.policy);
        self.keep(draft, log, grown);
        draft.hint(Hint::Logged(execution.job()));
        Ok(appended(&grown))
    }
}

impl AppendLog {
    fn keep(&self, draft: &mut Draft<'_>, before: Log, grown: Log) {
        let in_head = (grown.head - before.head) as usize;
        let (head, tail) = self.bytes.split_at(in_head);
        for (offset, bytes) in [(self.offset, head), (self.offset + in_head as u64, tail)] {
            if bytes.is_empty() {
                continue;
            }
            // Mostly the bytes lie on one side and are shared with the command.
            let bytes =
                if bytes.len() == self.bytes.len() { Arc::clone(&self.bytes) } else { Arc::from(bytes) };
            let chunk = LogChunk { execution: grown.execution, offset, bytes };
            draft.changes.appended.log_chunks.push(chunk);
        }
        if grown.is_truncated() {
            let trim = LogTrim { execution: grown.execution, from: grown.head, to: grown.tail_from };
            draft.changes.appended.log_trims.push(trim);
        }
        draft.put(grown);
    }
}

fn empty(execution: ExecId) -> Log {
    Log { execution, received: 0, head: 0, tail_from: 0, blob: None }
}

/// The head grows until it is full, or until a smaller bound has closed it, and never again; the tail slides.
fn grown(log: Log, bytes: u64, policy: &Policy) -> Log {
    let received = log.received + bytes;
    let is_open = log.head == log.received;
    let room = if is_open { policy.log_head_bytes_max.saturating_sub(log.head) } else { 0 };
    let head = log.head + bytes.min(room);
    let tail_from = log.tail_from.max(head).max(received.saturating_sub(policy.log_tail_bytes_max));
    Log { received, head, tail_from, ..log }
}

fn appended(log: &Log) -> Answer {
    Answer::LogAppended { offset: log.received, truncated: log.is_truncated() }
}
