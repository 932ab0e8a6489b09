//! The archive: logs that are whole move from the database to where all bytes are. Killed anywhere, the bytes are what an
//! upload left, which upkeep takes away, and the log is found again as it was.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use decisions::logs::{ArchiveLog, Whole};
use decisions::records::{Log, Upload};
use decisions::{Answer, Command};
use futures_util::stream::{self, StreamExt};
use store::blobs::Blobs;
use store::{Store, StoreError};
use wire::{ExecId, TenantId};

use crate::artifacts::uploads::{abort, key};
use crate::artifacts::{Trouble, small};
use crate::engine::Engine;
use crate::mint::Mint;

/// Logs that one round takes, and those that are in memory at a time.
const ROUND_MAX: usize = 64;
const ARCHIVING_MAX: usize = 4;

/// How many bytes are asked of the store at a time.
const PAGE_BYTES: usize = 1024 * 1024;

/// How often to look at most, and how seldom after one failure upon another.
const LOOK_EVERY: Duration = Duration::from_secs(15);
const PAUSE_MAX: Duration = Duration::from_secs(300);

pub struct Archive<S> {
    pub engine: Engine<S>,
    pub blobs: Blobs,
    /// How often to look at least.
    pub interval: Duration,
    /// How long a log stays in the database after its lease has ended.
    pub after: Duration,
}

/// What came of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// From where the next one goes on; `None`: from the beginning, when there is more.
    pub next: Option<ExecId>,
    pub failed: bool,
}

impl<S: Store> Archive<S> {
    pub async fn run(self) {
        let step = (self.after / 4).clamp(self.interval, LOOK_EVERY.max(self.interval));
        let (mut next, mut pause) = (None, step);
        loop {
            // Past whatever fails, so that one log does not keep the others.
            match self.round(next).await {
                Ok(round) => {
                    next = round.next;
                    pause = if round.failed { (pause * 2).min(PAUSE_MAX) } else { step };
                    if !round.failed && next.is_some() {
                        continue;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "the store does not say which logs are whole; the next round asks again");
                    self.engine.metrics().failed("archive_failed");
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Takes the logs that come next in turn. After a failure none is begun: each leaves an upload behind.
    pub async fn round(&self, after: Option<ExecId>) -> Result<Round, StoreError> {
        let now = self.engine.clock().now();
        let due = self.engine.store().logs_due(now, self.after, after, ROUND_MAX).await?;
        let next = due.last().filter(|_| due.len() == ROUND_MAX).map(|(log, _)| log.execution);
        let failed = AtomicBool::new(false);
        let archived = stream::iter(due).for_each_concurrent(ARCHIVING_MAX, |(log, tenant)| {
            let failed = &failed;
            async move {
                if failed.load(Ordering::Relaxed) {
                    return;
                }
                if let Err(error) = self.archive(&log, tenant).await {
                    failed.store(true, Ordering::Relaxed);
                    tracing::warn!(%error, execution = %log.execution, "a log stays in the database; tried again");
                    self.engine.metrics().failed("archive_failed");
                }
            }
        });
        archived.await;
        Ok(Round { next, failed: failed.into_inner() })
    }

    async fn archive(&self, log: &Log, tenant: TenantId) -> Result<(), Trouble> {
        let Some((bytes, tail_from)) = self.read(log).await? else { return Ok(()) };
        let (digest, length) = (small::hash(bytes.clone()).await?, bytes.len() as u64);
        let now = self.engine.clock().now();
        let command = ArchiveLog {
            execution: log.execution,
            tenant,
            whole: Whole { digest, length, tail_from },
            upload: Mint.upload(now),
            blob: Mint.blob(now),
            placed: false,
        };
        let Some(upload) = self.perform(command.clone()).await? else { return Ok(()) };
        if let Err(error) = self.blobs.put(&key(&upload), bytes).await {
            // Its time would end it too; this is sooner.
            let _ = abort(&self.engine, tenant, upload.id).await;
            return Err(error.into());
        }
        match self.perform(ArchiveLog { placed: true, ..command }).await? {
            None => Ok(()),
            Some(_) => Err(Trouble::Mistake),
        }
    }

    /// All that is there, and where its tail begins. `None`: another server was faster.
    async fn read(&self, log: &Log) -> Result<Option<(Bytes, u64)>, Trouble> {
        let mut bytes = BytesMut::with_capacity(log.kept() as usize);
        let (mut at, mut tail_from) = (0, log.head);
        while at < log.received {
            let page = self.engine.store().log_chunks(log.execution, at, PAGE_BYTES).await?;
            if page.is_empty() && at == log.head && log.tail_from == log.received {
                tail_from = log.received; // nothing is kept after the head
                break;
            }
            if page.is_empty() {
                let archived =
                    self.engine.store().log(log.execution).await?.is_some_and(|it| it.blob.is_some());
                return if archived { Ok(None) } else { Err(Trouble::Mistake) };
            }
            for chunk in page {
                if chunk.offset > at && at == log.head {
                    tail_from = chunk.offset;
                } else if chunk.offset != at {
                    return Err(Trouble::Mistake);
                }
                bytes.extend_from_slice(&chunk.bytes);
                at = chunk.end();
            }
        }
        Ok(Some((bytes.freeze(), tail_from)))
    }

    /// The upload whose bytes are to be placed; `None` when the log is archived.
    async fn perform(&self, command: impl Into<Command>) -> Result<Option<Upload>, Trouble> {
        match self.engine.perform(command).await? {
            Answer::UploadIs(upload) => Ok(Some(*upload)),
            Answer::Settled { .. } => Ok(None),
            _ => Err(Trouble::Mistake),
        }
    }
}
