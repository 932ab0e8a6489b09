//! Batches into one file: each is written and hashed at the same time, and the disk begins before the last has come.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::folder::Folder;
use super::writer::Writer;
use crate::blobs::batch::{self, BATCH_BYTES, End};
use crate::blobs::hashing::Hashing;
use crate::blobs::{BlobError, StageError, Staged, blocking};

/// After so many bytes the disk is told to begin; the last sync then waits for the last few only.
const SYNC_STEP_BYTES: u64 = 32 << 20;

/// The file that is written, and the folder whose turn it is: a batch on its way holds both, even after its request ended.
pub struct Target {
    pub folder: Folder,
    pub file: File,
    /// From which length on a file does without the page cache.
    pub uncached_from: u64,
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
    /// Into an empty file that is to have `expected` bytes, and is wanted whole or not at all.
    pub fn new(target: Arc<Target>, hashing: Hashing, expected: u64) -> Sink {
        Sink { file: Growing::at(target, 0, expected), hashing }
    }

    /// Goes on at `offset`, where the cursor stands; `hashing` knows what comes before. What reaches the disk is noted in the
    /// folder, so that a later request can go on from there.
    pub fn resumed(target: Arc<Target>, hashing: Hashing, offset: u64, expected: u64) -> Sink {
        let mut sink = Sink { file: Growing::at(target, offset, expected), hashing };
        sink.file.notes = true;
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
    /// Here, or on its way with a batch.
    writer: Option<Writer>,
    writing: Option<JoinHandle<io::Result<Writer>>>,
    syncing: Option<JoinHandle<Result<(), BlobError>>>,
    /// What is on the disk is noted in the folder, also of a stream that nobody waits for any more.
    notes: bool,
}

impl Growing {
    fn at(target: Arc<Target>, end: u64, expected: u64) -> Growing {
        let writer = Some(Writer::new(target.clone(), end, expected));
        Growing { target, end, asked: end, writer, writing: None, syncing: None, notes: false }
    }

    /// Begins to write a batch, and says how much was written before it.
    async fn write(&mut self, batch: Vec<Bytes>) -> Result<u64, BlobError> {
        self.settle_writing().await?;
        self.end += batch.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
        let mut writer = self.writer.take().expect("nothing comes after a batch that failed");
        let settled = writer.written();
        self.writing = Some(blocking::begin(move || writer.append(&batch).map(|()| writer)));
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
        let (writer, writing, syncing) = (self.writer.take(), self.writing.take(), self.syncing.take());
        let mut rest = Growing { target, end, asked, writer, writing, syncing, notes: false };
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

    /// Everything that came is written; nothing is on its way.
    async fn settle(&mut self) -> Result<(), BlobError> {
        self.settle_writing().await?;
        if let Some(mut writer) = self.writer.take() {
            self.writing = Some(blocking::begin(move || writer.flush().map(|()| writer)));
            self.settle_writing().await?;
        }
        self.settle_syncing().await
    }

    async fn settle_writing(&mut self) -> Result<(), BlobError> {
        if let Some(writing) = self.writing.take() {
            self.writer = Some(blocking::end(writing).await??);
        }
        Ok(())
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
