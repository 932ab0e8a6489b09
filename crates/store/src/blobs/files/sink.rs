//! Batches into one file: each is written and hashed at the same time, and the disk begins before the last has come.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use tokio::runtime::Handle;
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
    file: Growing,
    hashing: Hashing,
}

/// How a stream that was taken in full or in part stands.
pub enum Taken<E> {
    Durable(Staged),
    Broken(E),
}

impl Sink {
    /// Into an empty file, which is wanted whole or not at all.
    pub fn new(target: Arc<Target>, hashing: Hashing) -> Sink {
        Sink {
            file: Growing { target, end: 0, asked: 0, writing: None, syncing: None, notes: false },
            hashing,
        }
    }

    /// Goes on at `offset`, where the file's cursor stands; `hashing` knows what comes before. What reaches the disk is
    /// noted in the folder, so that a later request can go on from there.
    pub fn resumed(target: Arc<Target>, hashing: Hashing, offset: u64) -> Sink {
        let mut sink = Sink::new(target, hashing);
        (sink.file.end, sink.file.asked, sink.file.notes) = (offset, offset, true);
        sink
    }

    /// Takes a stream of at most `length` bytes. What failed is not kept, what broke off is.
    pub async fn take<St, E>(mut self, length: u64, stream: &mut St) -> Result<Taken<E>, StageError<E>>
    where
        St: Stream<Item = Result<Bytes, E>> + Unpin,
    {
        let taken = self.pour(length, stream).await;
        self.file.notes = false; // it is settled either way
        match taken? {
            None => Ok(Taken::Durable(self.finish().await?)),
            Some(error) => Ok(Taken::Broken(error)),
        }
    }

    /// To the end of the stream, or to what broke it off.
    async fn pour<St, E>(&mut self, length: u64, stream: &mut St) -> Result<Option<E>, StageError<E>>
    where
        St: Stream<Item = Result<Bytes, E>> + Unpin,
    {
        let mut room = length;
        loop {
            let batch = batch::gather(stream, BATCH_BYTES, &mut room).await;
            if let Some(End::TooLong) = batch.end {
                self.file.settle().await?;
                return Err(BlobError::TooLong { expected: length }.into());
            }
            if !batch.chunks.is_empty() {
                self.write(batch.chunks).await?;
            }
            match batch.end {
                None | Some(End::TooLong) => {}
                Some(End::Finished) => return Ok(None),
                Some(End::Broken(error)) => {
                    match self.file.keep() {
                        Some(kept) => blocking::end(kept).await??,
                        None => self.file.settle().await?,
                    }
                    return Ok(Some(error));
                }
            }
        }
    }

    pub async fn write(&mut self, batch: Vec<Bytes>) -> Result<(), BlobError> {
        let settled = self.file.write(batch.clone()).await?;
        self.hashing.feed(batch).await?;
        self.file.step(settled).await
    }

    /// All of it on the disk, and what it is.
    pub async fn finish(mut self) -> Result<Staged, BlobError> {
        self.file.settle().await?;
        let syncing = self.file.sync(None);
        let staged = self.hashing.finish().await?;
        blocking::end(syncing).await??;
        Ok(staged)
    }
}

/// The file while batches are on their way into it.
struct Growing {
    target: Arc<Target>,
    /// Where it ends when the batch on its way is written.
    end: u64,
    /// Where it ended when the disk was last told to begin.
    asked: u64,
    writing: Option<JoinHandle<io::Result<()>>>,
    syncing: Option<JoinHandle<Result<(), BlobError>>>,
    /// What is on the disk is noted in the folder, also of a stream that nobody waits for any more.
    notes: bool,
}

impl Growing {
    /// Begins to write a batch, and says how much was written before it.
    async fn write(&mut self, batch: Vec<Bytes>) -> Result<u64, BlobError> {
        self.settle_writing().await?;
        let settled = self.end;
        self.end += batch.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
        let target = self.target.clone();
        self.writing = Some(blocking::begin(move || write_all(&target.file, &batch)));
        Ok(settled)
    }

    /// Tells the disk to begin, when there is enough for it.
    async fn step(&mut self, settled: u64) -> Result<(), BlobError> {
        let is_idle = self.syncing.as_ref().is_none_or(JoinHandle::is_finished);
        if is_idle && self.end - self.asked >= SYNC_STEP_BYTES {
            self.settle_syncing().await?;
            self.asked = self.end;
            self.syncing = Some(self.sync(self.notes.then_some(settled)));
        }
        Ok(())
    }

    /// Sees to it that a later request finds what was written by now, whether or not anybody waits for it.
    fn keep(&mut self) -> Option<JoinHandle<Result<(), BlobError>>> {
        let notes = std::mem::take(&mut self.notes);
        let runtime = Handle::try_current().ok().filter(|_| notes)?;
        let (target, end, asked) = (self.target.clone(), self.end, self.asked);
        let (writing, syncing) = (self.writing.take(), self.syncing.take());
        let mut rest = Growing { target, end, asked, writing, syncing, notes: false };
        Some(runtime.spawn(async move {
            rest.settle().await?;
            blocking::end(rest.sync(Some(end))).await?
        }))
    }

    /// Then notes how far the file is on the disk.
    fn sync(&self, reached: Option<u64>) -> JoinHandle<Result<(), BlobError>> {
        let target = self.target.clone();
        blocking::begin(move || {
            target.file.sync_data().map_err(unsynced)?;
            reached.map_or(Ok(()), |bytes| target.folder.note_synced(bytes))
        })
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
            Some(syncing) => blocking::end(syncing).await?,
            None => Ok(()),
        }
    }
}

impl Drop for Growing {
    /// Its request went away in the middle. The next one waits for its turn, until this is kept.
    fn drop(&mut self) {
        let _ = self.keep();
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
