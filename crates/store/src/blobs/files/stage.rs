//! The proxied path: a stream appended to what is staged, hashed as it comes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use sha2::{Digest as _, Sha256};

use super::Files;
use super::folder::{BYTES, Folder, READ_WRITE, whole_name};
use super::sink::{Sink, Taken, Target};
use crate::blobs::batch::BATCH_BYTES;
use crate::blobs::hashing::Hashing;
use crate::blobs::{BlobError, BlobKey, StageError, Staged, Staging, blocking};

impl Files {
    pub async fn stage<St, E>(
        &self,
        at: &Staging,
        key: &BlobKey,
        offset: u64,
        length: u64,
        mut bytes: St,
    ) -> Result<Staged, StageError<E>>
    where
        St: Stream<Item = Result<Bytes, E>> + Send + Unpin,
    {
        let room = length.checked_sub(offset).ok_or(BlobError::TooLong { expected: length })?;
        let (target, hashing) = self.resume(at, offset).await?;
        let taken = match Sink::resumed(target.clone(), hashing, offset, length).take(room, &mut bytes).await
        {
            Ok(taken) => taken,
            Err(StageError::Blob(error)) => {
                self.give_back(target, offset, error.clone()).await?;
                let error = match error {
                    BlobError::TooLong { .. } => BlobError::TooLong { expected: length },
                    other => other,
                };
                return Err(error.into());
            }
            Err(StageError::Stream(error)) => return Err(StageError::Stream(error)),
        };
        match taken {
            Taken::Broken(error) => Err(StageError::Stream(error)),
            Taken::Durable(staged) => {
                self.keep_whole(target, staged.digest == key.digest(), staged).await?;
                Ok(staged)
            }
        }
    }

    pub async fn staged(&self, at: &Staging) -> Result<u64, BlobError> {
        let path = self.path(at.as_str());
        blocking::run(move || {
            let folder = match Folder::open(&path) {
                Err(BlobError::NotFound) => return Ok(0),
                folder => folder?,
            };
            match folder.whole()? {
                Some(whole) => Ok(folder.length(&whole)?.unwrap_or(0)),
                None => folder.synced(),
            }
        })
        .await
    }

    /// The file as it was at `offset`, the cursor at its end, and the hash of what is before.
    async fn resume(&self, at: &Staging, offset: u64) -> Result<(Arc<Target>, Hashing), BlobError> {
        let (path, uncached_from) = (self.path(at.as_str()), self.uncached_from);
        let (target, hasher) = blocking::run(move || {
            let folder = Folder::make(&path)?;
            if let Some(whole) = folder.whole()? {
                // It is written again, so it is not whole until it is hashed again.
                folder.note_synced(folder.length(&whole)?.unwrap_or(0))?;
                folder.rename(&whole, BYTES)?;
            }
            let mut file = folder.file(BYTES, READ_WRITE)?;
            let staged = folder.synced()?;
            if staged < offset {
                return Err(BlobError::Gap { staged });
            }
            folder.cut(&file, offset)?;
            let hasher = hash_all(&mut file)?;
            Ok((Arc::new(Target { folder, file, uncached_from }), hasher))
        })
        .await?;
        Ok((target, Hashing::after(hasher, offset)))
    }

    /// Undoes a transfer that failed. After a failed sync nobody knows what the disk holds: then nothing is kept.
    async fn give_back(&self, target: Arc<Target>, offset: u64, error: BlobError) -> Result<(), BlobError> {
        blocking::run(move || {
            let kept = if let BlobError::TooLong { .. } | BlobError::Full = error { offset } else { 0 };
            target.folder.cut(&target.file, kept)
        })
        .await
    }

    /// What is whole gets the name that may be placed. Whole or not, it is there after a crash too.
    async fn keep_whole(&self, target: Arc<Target>, whole: bool, staged: Staged) -> Result<(), BlobError> {
        let root = self.path("staging");
        blocking::run(move || {
            if whole {
                target.folder.rename(BYTES, &whole_name(staged.digest))?;
            } else {
                target.folder.note_synced(staged.length)?;
            }
            target.folder.sync()?;
            Folder::open(&root)?.sync()
        })
        .await
    }
}

/// Hashes from the cursor to the end.
pub fn hash_all(file: &mut File) -> io::Result<Sha256> {
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BATCH_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
