//! Reading: a large piece at a time, the next one fetched while the reader works on this one.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use rustix::fs::{Advice, Mode, OFlags};
use tokio::task::JoinHandle;

use super::{Files, uncached};
use crate::blobs::batch::BATCH_BYTES;
use crate::blobs::{BlobError, BlobKey, ByteStream, blocking};

/// What is left to be read of a file.
struct Reading {
    file: Arc<Source>,
    left: Range<u64>,
    ahead: Option<JoinHandle<Result<Bytes, BlobError>>>,
}

impl Files {
    pub async fn read(&self, key: &BlobKey, range: Range<u64>) -> Result<ByteStream, BlobError> {
        let (path, uncached_from) = (self.path(key.as_str()), self.uncached_from);
        // The first piece comes with the hop that opens: a small blob costs one.
        let (first, reading) = blocking::run(move || {
            let file = File::from(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
            let source = Source::new(file, &range, uncached_from)?;
            if source.length < range.end {
                return Err(BlobError::Torn { expected: range.end, found: source.length });
            }
            let mut reading = Reading { file: Arc::new(source), left: range, ahead: None };
            let first = reading.file.piece(&reading.piece())?;
            reading.left.start += first.len() as u64;
            Ok((first, reading))
        })
        .await?;
        let first = stream::iter((!first.is_empty()).then_some(Ok(first)));
        Ok(first.chain(stream::unfold(reading.fetch(), Reading::next)).fuse().boxed())
    }
}

impl Reading {
    fn piece(&self) -> Range<u64> {
        self.left.start..self.left.end.min(self.left.start + BATCH_BYTES as u64)
    }

    /// Begins with the next piece, if there is one.
    fn fetch(mut self) -> Reading {
        let piece = self.piece();
        if !piece.is_empty() {
            self.left.start = piece.end;
            let file = self.file.clone();
            self.ahead = Some(blocking::begin(move || file.piece(&piece)));
        }
        self
    }

    async fn next(mut self) -> Option<(Result<Bytes, BlobError>, Reading)> {
        let piece = blocking::end(self.ahead.take()?).await.and_then(|piece| piece);
        let going_on = if piece.is_ok() { self.fetch() } else { self };
        Some((piece, going_on))
    }
}

/// A file that is read, through the page cache or past it.
pub struct Source {
    file: File,
    pub length: u64,
    uncached: bool,
}

impl Source {
    /// Of which this range will be read, from its beginning to its end.
    pub fn new(file: File, range: &Range<u64>, uncached_from: u64) -> Result<Source, BlobError> {
        let length = file.metadata()?.len();
        let count = range.end.saturating_sub(range.start);
        let uncached = count >= uncached_from && passes_by(&file)?;
        if !uncached && count > BATCH_BYTES as u64 {
            let _ = rustix::fs::fadvise(&file, 0, None, Advice::Sequential); // only a hint
        }
        Ok(Source { file, length, uncached })
    }

    /// All bytes of the range, or an error: a file never shrinks unless it is damaged.
    pub fn piece(&self, range: &Range<u64>) -> Result<Bytes, BlobError> {
        if self.uncached { uncached::read(&self.file, range) } else { read_piece(&self.file, range) }
    }
}

/// Whether the file can be read past the cache; from then on it is.
fn passes_by(file: &File) -> Result<bool, BlobError> {
    if uncached::pass_by(file, true).is_err() {
        return Ok(false);
    }
    match uncached::read(file, &(0..1)) {
        Ok(_) => Ok(true),
        Err(_) => Ok(uncached::pass_by(file, false).map(|()| false).map_err(io::Error::from)?),
    }
}

fn read_piece(file: &File, range: &Range<u64>) -> Result<Bytes, BlobError> {
    let length = range.end.saturating_sub(range.start) as usize;
    let mut piece: Vec<u8> = Vec::with_capacity(length);
    while piece.len() < length {
        let at = range.start + piece.len() as u64;
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut piece), at) {
            Ok(0) => return Err(BlobError::Torn { expected: range.end, found: at }),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
    piece.truncate(length);
    Ok(piece.into())
}
