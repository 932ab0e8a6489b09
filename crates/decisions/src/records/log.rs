//! Log: what a job printed under one lease. The beginning and the end are kept; what lies between may be cut out.
//!
//! Bytes `0..head` and `tail_from..received` are there. Nothing was cut as long as the two meet. Chunks go whole, so some
//! bytes before `tail_from` may still be there for a while; nobody may count on them.
//!
//! Once nothing more can come, the bytes that are there become one blob, head and tail joined, and the chunks go.

use std::sync::Arc;

use wire::{BlobId, ExecId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    pub execution: ExecId,
    /// Bytes that have come, kept or not: the offset at which the next ones belong.
    pub received: u64,
    /// The beginning that is kept for good.
    pub head: u64,
    /// From here on everything is kept. It moves on as more comes.
    pub tail_from: u64,
    /// Where it lies since it is archived. From then on it never changes.
    pub blob: Option<BlobId>,
}

impl Log {
    /// Something was cut out.
    pub fn is_truncated(&self) -> bool {
        self.tail_from > self.head
    }

    /// Bytes that are kept, and where the one at `offset` lies among them once they are joined.
    pub fn kept(&self) -> u64 {
        self.place(self.received)
    }

    pub fn place(&self, offset: u64) -> u64 {
        if offset <= self.head { offset } else { self.head + offset.saturating_sub(self.tail_from) }
    }
}

/// Bytes as they came in. A chunk lies on one side of the head's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogChunk {
    pub execution: ExecId,
    pub offset: u64,
    pub bytes: Arc<[u8]>,
}

impl LogChunk {
    /// The offset after its last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

/// Whole chunks to forget: those that begin at `from` or later and end at `to` or before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogTrim {
    pub execution: ExecId,
    pub from: u64,
    pub to: u64,
}
