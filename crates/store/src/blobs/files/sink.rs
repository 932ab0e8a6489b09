//! Batches into one file: each is written and hashed at the same time, and the disk begins before the last has come.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use tokio::task::JoinHandle;

use super::folder::Folder;
use crate::blobs::batch::{self, BATCH_BYTES, End};
use crate::blobs::hashing::Hashing;
use crate::blobs::{BlobError, StageError, Staged, blocking};

/// After so many bytes the disk is told to begin; the last sync then waits for the last few only.
const SYNC_STEP_BYTES: u64 = 32 << 20;

/// The file that is written, and the folder whose turn it is: a batch on its way holds both, even after its request ended.
pub struct Target {
    pub folder: Folder,
    pub file: File,
}

pub struct Sink {
    target: Arc<Target>,
    hashing: Hashing,
    writing: Option<JoinHandle<io::Result<()>>>,
    syncing: Option<JoinHandle<io::Result<()>>>,
    unsynced: u64,
}

/// How a stream that was taken in full or in part stands.
pub enum Taken<E> {
    Durable(Staged),
    Broken(E),
}

impl Sink {
    /// Goes on where the file's cursor stands; `hashing` knows what comes before.
    pub fn new(target: Arc<Target>, hashing: Hashing) -> Sink {
        Sink { target, hashing, writing: None, syncing: None, unsynced: 0 }
    }

    /// Takes a stream of at most `length` bytes. What failed is not kept, what broke off is.
    pub async fn take<St, E>(mut self, length: u64, stream: &mut St) -> Result<Taken<E>, StageError<E>>
    where
        St: Stream<Item = Result<Bytes, E>> + Unpin,
    {
        let mut room = length;
        loop {
            let batch = batch::gather(stream, BATCH_BYTES, &mut room).await;
            if let Some(End::TooLong) = batch.end {
                self.settle().await?;
                return Err(BlobError::TooLong { expected: length }.into());
            }
            if !batch.chunks.is_empty() {
                self.write(batch.chunks).await?;
            }
            match batch.end {
                None | Some(End::TooLong) => {}
                Some(End::Finished) => return Ok(Taken::Durable(self.finish().await?)),
                Some(End::Broken(error)) => {
                    self.settle().await?;
                    return Ok(Taken::Broken(error));
                }
            }
        }
    }

    pub async fn write(&mut self, batch: Vec<Bytes>) -> Result<(), BlobError> {
        self.settle_writing().await?;
        self.unsynced += batch.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
        let (target, chunks) = (self.target.clone(), batch.clone());
        self.writing = Some(blocking::begin(move || write_all(&target.file, &chunks)));
        self.hashing.feed(batch).await?;
        if self.unsynced >= SYNC_STEP_BYTES && self.syncing.as_ref().is_none_or(JoinHandle::is_finished) {
            self.settle_syncing().await?;
            self.unsynced = 0;
            self.syncing = Some(self.sync());
        }
        Ok(())
    }

    /// All of it on the disk, and what it is.
    pub async fn finish(mut self) -> Result<Staged, BlobError> {
        self.settle().await?;
        let syncing = self.sync();
        let staged = self.hashing.finish().await?;
        blocking::end(syncing).await?.map_err(unsynced)?;
        Ok(staged)
    }

    fn sync(&self) -> JoinHandle<io::Result<()>> {
        let target = self.target.clone();
        blocking::begin(move || target.file.sync_data())
    }

    async fn settle(&mut self) -> Result<(), BlobError> {
        self.settle_writing().await?;
        self.settle_syncing().await
    }

    async fn settle_writing(&mut self) -> Result<(), BlobError> {
        match self.writing.take() {
            Some(writing) => Ok(blocking::end(writing).await??),
            None => Ok(()),
        }
    }

    async fn settle_syncing(&mut self) -> Result<(), BlobError> {
        match self.syncing.take() {
            Some(syncing) => blocking::end(syncing).await?.map_err(unsynced),
            None => Ok(()),
        }
    }
}

/// Whatever it was, it is not a matter of room any more: nobody knows which bytes the disk has.
fn unsynced(error: io::Error) -> BlobError {
    BlobError::Unavailable(format!("the disk did not keep what was written: {error}"))
}

fn write_all(mut file: &File, chunks: &[Bytes]) -> io::Result<()> {
    let mut slices: Vec<_> = chunks.iter().map(|chunk| IoSlice::new(chunk)).collect();
    let mut left = &mut slices[..];
    while !left.is_empty() {
        match file.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
