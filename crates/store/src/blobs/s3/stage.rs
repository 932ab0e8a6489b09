//! The proxied path into a bucket: parts on the final key, completed only when the whole has the key's digest.

use bytes::Bytes;
use futures_util::Stream;
use object_store::multipart::{MultipartStore, PartId};
use object_store::{Error, ObjectStore, PutMode, PutOptions, PutPayload};
use tokio::task::JoinSet;

use super::{S3, error};
use crate::blobs::batch::{self, Batch, End};
use crate::blobs::hashing::Hashing;
use crate::blobs::{BlobError, BlobKey, StageError, Staged, blocking};

/// A bucket takes ten thousand parts, of five MiB or more.
const PART_BYTES_MIN: u64 = 8 << 20;
const PARTS_MAX: u64 = 9_000;
/// So many are on their way while the next one gathers.
const PARTS_AT_ONCE: usize = 2;

impl S3 {
    pub async fn stage<St, E>(
        &self,
        key: &BlobKey,
        offset: u64,
        length: u64,
        mut bytes: St,
    ) -> Result<Staged, StageError<E>>
    where
        St: Stream<Item = Result<Bytes, E>> + Send + Unpin,
    {
        if offset > 0 {
            return Err(BlobError::Gap { staged: 0 }.into());
        }
        let part_bytes = PART_BYTES_MIN.max(length.div_ceil(PARTS_MAX)) as usize;
        let mut room = length;
        let mut next = async || batch::gather(&mut bytes, part_bytes, &mut room).await;
        let first = next().await;
        if let Some(End::Finished) = first.end {
            return Ok(self.put_chunks(key, first.chunks).await?);
        }
        let mut sending = Sending::new(self.clone(), key.clone()).await?;
        let mut batch = first;
        loop {
            let Batch { chunks, end } = batch;
            match end {
                Some(End::TooLong) => {
                    sending.abort().await?;
                    return Err(BlobError::TooLong { expected: length }.into());
                }
                Some(End::Broken(error)) => {
                    sending.abort().await?;
                    return Err(StageError::Stream(error));
                }
                Some(End::Finished) => {
                    sending.send(chunks).await?;
                    return Ok(sending.finish().await?);
                }
                None => sending.send(chunks).await?,
            }
            batch = next().await;
        }
    }

    /// The key shows the bytes already, or nothing was whole.
    pub async fn place(&self, key: &BlobKey) -> Result<(), BlobError> {
        self.length(key).await?.map(|_| ()).ok_or(BlobError::NotFound)
    }

    pub async fn put(&self, key: &BlobKey, bytes: Bytes) -> Result<Staged, BlobError> {
        self.put_chunks(key, vec![bytes]).await
    }

    async fn put_chunks(&self, key: &BlobKey, chunks: Vec<Bytes>) -> Result<Staged, BlobError> {
        let mut hashing = Hashing::new();
        hashing.feed(chunks.clone()).await?;
        let staged = hashing.finish().await?;
        if staged.digest == key.digest() {
            let create = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
            match self.bucket.put_opts(&self.path(key), PutPayload::from_iter(chunks), create).await {
                Ok(_) | Err(Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(error::of(error)),
            }
        }
        Ok(staged)
    }
}

type Parts = JoinSet<Result<(usize, PartId), BlobError>>;

/// A multipart upload under way. Dropped before its end, with its request, it is aborted.
struct Sending {
    s3: S3,
    key: BlobKey,
    multipart: Option<String>,
    hashing: Hashing,
    running: Parts,
    sent: Vec<(usize, PartId)>,
    parts: usize,
}

impl Sending {
    async fn new(s3: S3, key: BlobKey) -> Result<Sending, BlobError> {
        let multipart = Some(s3.begin_parts(&key).await?);
        let (running, sent) = (JoinSet::new(), Vec::new());
        Ok(Sending { s3, key, multipart, hashing: Hashing::new(), running, sent, parts: 0 })
    }

    async fn send(&mut self, chunks: Vec<Bytes>) -> Result<(), BlobError> {
        if chunks.is_empty() {
            return Ok(());
        }
        self.hashing.feed(chunks.clone()).await?;
        while self.running.len() >= PARTS_AT_ONCE {
            self.settle_one().await?;
        }
        let (bucket, path, index) = (self.s3.bucket.clone(), self.s3.path(&self.key), self.parts);
        let multipart = self.multipart.clone().unwrap_or_default();
        self.parts += 1;
        self.running.spawn(async move {
            let part = bucket.put_part(&path, &multipart, index, PutPayload::from_iter(chunks)).await;
            part.map(|part| (index, part)).map_err(error::of)
        });
        Ok(())
    }

    async fn settle_one(&mut self) -> Result<(), BlobError> {
        if let Some(part) = self.running.join_next().await {
            self.sent.push(blocking::end(std::future::ready(part)).await??);
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<Staged, BlobError> {
        while !self.running.is_empty() {
            self.settle_one().await?;
        }
        let hashing = std::mem::replace(&mut self.hashing, Hashing::new());
        let staged = hashing.finish().await?;
        if staged.digest != self.key.digest() {
            self.abort().await?;
            return Ok(staged);
        }
        self.sent.sort_by_key(|(index, _)| *index);
        let parts = std::mem::take(&mut self.sent).into_iter().map(|(_, part)| part).collect();
        let multipart = self.multipart.clone().unwrap_or_default();
        let path = self.s3.path(&self.key);
        self.s3.bucket.complete_multipart(&path, &multipart, parts).await.map_err(error::of)?;
        self.multipart = None;
        Ok(staged)
    }

    async fn abort(&mut self) -> Result<(), BlobError> {
        match self.multipart.take() {
            Some(multipart) => {
                let running = std::mem::take(&mut self.running);
                abort(self.s3.clone(), self.key.clone(), multipart, running).await
            }
            None => Ok(()),
        }
    }
}

/// A part that is still on its way when its upload is aborted may stay for ever, so they are waited for.
async fn abort(s3: S3, key: BlobKey, multipart: String, mut running: Parts) -> Result<(), BlobError> {
    while running.join_next().await.is_some() {}
    s3.abort(&key, &multipart).await
}

impl Drop for Sending {
    fn drop(&mut self) {
        let Some(multipart) = self.multipart.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let running = std::mem::take(&mut self.running);
            runtime.spawn(abort(self.s3.clone(), self.key.clone(), multipart, running));
        }
    }
}
