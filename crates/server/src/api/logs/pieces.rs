//! A page of one execution's log, with the holes in it.

use std::sync::Arc;

use ::bytes::Bytes;
use decisions::records::{Log, LogChunk};
use futures_util::TryStreamExt;
use store::Store;
use store::blobs::BlobKey;
use wire::ExecId;

use crate::api::state::Api;
use crate::artifacts::Trouble;
use crate::artifacts::bytes::{self, Whole};

/// About how many bytes one page has. A chunk has four times as many at most, and so has a page of a blob: to ask for one
/// costs more.
const PAGE_BYTES: usize = 64 * 1024;
const BLOB_PAGE_BYTES: u64 = 256 * 1024;

/// The longest in UTF-8.
const CHARACTER_BYTES_MAX: u64 = 4;

/// What comes next in a log.
pub enum Piece {
    Bytes(Slice),
    /// Received once, no longer kept.
    Gap {
        offset: u64,
        bytes: u64,
    },
}

impl Piece {
    fn end(&self) -> u64 {
        match self {
            Piece::Bytes(slice) => slice.end(),
            Piece::Gap { offset, bytes } => offset + bytes,
        }
    }
}

/// Part of a chunk, shared with whoever read it.
pub struct Slice {
    /// In the log, of the first byte.
    pub offset: u64,
    chunk: Arc<[u8]>,
    skipped: usize,
}

impl Slice {
    pub fn bytes(&self) -> &[u8] {
        &self.chunk[self.skipped..]
    }

    pub fn end(&self) -> u64 {
        self.offset + self.bytes().len() as u64
    }
}

/// An execution's log, wherever its bytes are. They move once, from chunks to a blob, and a reader may come at any moment.
pub struct Source {
    execution: ExecId,
    /// Where it lies once it is archived: for good.
    archived: Option<(Log, Whole)>,
}

impl Source {
    pub fn of(execution: ExecId) -> Source {
        Source { execution, archived: None }
    }

    /// The next page from `from` on; nothing when no more has come. Always enough to read on: what is left of a character
    /// at the end of one page comes with the next page.
    pub async fn pieces<S: Store>(&mut self, api: &Api<S>, from: u64) -> Result<Vec<Piece>, Trouble> {
        let mut found = self.page(api, from).await?;
        if let Some(end) = found.last().map(Piece::end)
            && end - from < CHARACTER_BYTES_MAX
        {
            found.extend(self.page(api, end).await?);
        }
        Ok(found)
    }

    async fn page<S: Store>(&mut self, api: &Api<S>, from: u64) -> Result<Vec<Piece>, Trouble> {
        let store = api.engine.store();
        if self.archived.is_none() {
            // Chunks go in the commit that names the blob: whoever finds none looks for it afterwards.
            let chunks = store.log_chunks(self.execution, from, PAGE_BYTES).await?;
            if !chunks.is_empty() {
                return Ok(joined(chunks, from));
            }
            self.archived = archived(store, self.execution).await?;
        }
        match &self.archived {
            Some((log, whole)) => read(api, whole, log, from).await,
            None => Ok(Vec::new()),
        }
    }
}

async fn archived<S: Store>(store: &S, execution: ExecId) -> Result<Option<(Log, Whole)>, Trouble> {
    let Some(log) = store.log(execution).await? else { return Ok(None) };
    let Some(id) = log.blob else { return Ok(None) };
    let blob = store.blob(id).await?.ok_or(Trouble::Mistake)?;
    Ok(Some((log, Whole { key: BlobKey::new(&blob.digest, id), length: blob.length })))
}

async fn read<S: Store>(api: &Api<S>, whole: &Whole, log: &Log, from: u64) -> Result<Vec<Piece>, Trouble> {
    let (mut at, mut pieces) = (from, Vec::new());
    if at >= log.head && at < log.tail_from && log.tail_from < log.received {
        pieces.push(Piece::Gap { offset: at, bytes: log.tail_from - at });
        at = log.tail_from;
    }
    let end = if at < log.head { log.head } else { log.received }.min(at.saturating_add(BLOB_PAGE_BYTES));
    let range = log.place(at)..log.place(end);
    if range.is_empty() {
        return Ok(pieces);
    }
    let stream = bytes::read(api.engine.store(), &api.artifacts.blobs, whole, range).await?;
    let parts: Vec<Bytes> = stream.try_collect().await?;
    pieces.push(Piece::Bytes(Slice { offset: at, chunk: parts.concat().into(), skipped: 0 }));
    Ok(pieces)
}

fn joined(chunks: Vec<LogChunk>, from: u64) -> Vec<Piece> {
    let mut at = from;
    let mut pieces = Vec::new();
    for chunk in chunks {
        if chunk.end() <= at {
            continue;
        }
        if chunk.offset > at {
            pieces.push(Piece::Gap { offset: at, bytes: chunk.offset - at });
            at = chunk.offset;
        }
        let skipped = (at - chunk.offset) as usize;
        let end = chunk.end();
        pieces.push(Piece::Bytes(Slice { offset: at, chunk: chunk.bytes, skipped }));
        at = end;
    }
    pieces
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
