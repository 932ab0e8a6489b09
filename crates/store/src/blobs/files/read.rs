//! Reading: a large piece at a time, the next one fetched while the reader works on this one.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use rustix::fs::{Advice, Mode, OFlags};
use tokio::task::JoinHandle;

use super::Files;
use crate::blobs::batch::BATCH_BYTES;
use crate::blobs::{BlobError, BlobKey, ByteStream, blocking};

/// What is left to be read of a file.
struct Reading {
    file: Arc<File>,
    left: Range<u64>,
    ahead: Option<JoinHandle<Result<Bytes, BlobError>>>,
}

impl Files {
    pub async fn read(&self, key: &BlobKey, range: Range<u64>) -> Result<ByteStream, BlobError> {
        let path = self.path(key.as_str());
        // The first piece comes with the hop that opens: a small blob costs one.
        let (first, reading) = blocking::run(move || {
            let file = File::from(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
            let found = file.metadata()?.len();
            if found < range.end {
                return Err(BlobError::Torn { expected: range.end, found });
            }
            let mut reading = Reading { file: Arc::new(file), left: range, ahead: None };
            if reading.left.end.saturating_sub(reading.left.start) > BATCH_BYTES as u64 {
                let _ = rustix::fs::fadvise(&*reading.file, 0, None, Advice::Sequential); // only a hint
            }
            let first = read_piece(&reading.file, &reading.piece())?;
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
            self.ahead = Some(blocking::begin(move || read_piece(&file, &piece)));
        }
        self
    }

    async fn next(mut self) -> Option<(Result<Bytes, BlobError>, Reading)> {
        let piece = blocking::end(self.ahead.take()?).await.and_then(|piece| piece);
        let going_on = if piece.is_ok() { self.fetch() } else { self };
        Some((piece, going_on))
    }
}

/// All bytes of the range, or an error: a file never shrinks unless it is damaged.
pub fn read_piece(file: &File, range: &Range<u64>) -> Result<Bytes, BlobError> {
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
