//! Where the bytes of artifacts live: a folder ([`Files`]) or a bucket ([`S3`]) behind one contract, [`Blobs`].
//!
//! An upload gathers at its [`Staging`] and is then placed under its [`BlobKey`]: proxied (`stage`, `place`), in signed
//! parts (`begin_parts`, `part_url` or `write_part`, `join`, `place`), or in one go when it is small (`put`). Under a
//! key lie only bytes with the key's digest, whole and durable; a key is never written over. Every verb may be repeated
//! after a failure. Repeated while the first is still at work, it waits a second for its turn, then it is `Busy`.
//!
//! | verb | answers |
//! |---|---|
//! | `stage(at, key, offset, length, stream)` | what is staged now. The whole, ready to be placed, if the digest is the key's; else it can be gone on from its length (files), or was dropped (a bucket) |
//! | `staged(at)` | how many bytes an upload can go on from |
//! | `begin_parts(at, key)` | the bucket's id of the upload, to be kept; `None` for files |
//! | `part_url(key, multipart, number, ttl)` | where a client sends a part; `None` for files: sign a URL of our own, and `write_part` |
//! | `join(at, key, multipart, parts)` | what the parts, numbered from 1 without gaps, really are; if that is not the key's digest, nothing is left to place |
//! | `place(at, key)` | nothing; after it the key can be read |
//! | `put(key, bytes)` | what the bytes are; placed only if that is the key's digest |
//! | `write(digest, bytes)`, `name(key, written)` | the same in two halves: the first leaves no trace, so it needs no key that somebody has noted |
//! | `read(key, range)` | a stream of exactly the range, or an error in it |
//! | `discard(at, key, multipart)` | nothing; staging, an open multipart upload and the key are gone |
//! | `discard_staging(at)` | nothing; what lay beside the key is gone |
//!
//! Never: decides what may be read or deleted, nor when. No clock but the one that signs URLs.
//! Start at `files/stage.rs`.

mod batch;
mod blocking;
mod error;
mod files;
mod hashing;
mod key;
mod s3;

use std::ffi::OsString;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::BoxStream;
use wire::Digest;

pub use error::{BlobError, BlobsOpenError, StageError};
pub use files::Files;
pub use key::{BlobKey, Staging};
pub use s3::S3;

/// What the staged bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staged {
    pub digest: Digest,
    pub length: u64,
}

/// A small body without a key. Dropped, it was never there.
#[derive(Debug)]
pub struct Written {
    digest: Digest,
    bytes: Bytes,
    file: Option<File>,
}

/// A part as the client names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub number: u32,
    pub etag: String,
}

/// A part that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartHere {
    pub number: u32,
    pub length: u64,
    pub etag: String,
}

pub type ByteStream = BoxStream<'static, Result<Bytes, BlobError>>;

/// One of the two. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Blobs {
    Files(Files),
    S3(S3),
}

impl Blobs {
    /// A folder's path, or `s3://bucket/prefix`; a bucket's keys and region come from the usual `AWS_` variables.
    pub async fn open(address: &str) -> Result<Blobs, BlobsOpenError> {
        let texts =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Blobs::open_with(address, std::env::vars_os().filter_map(texts)).await
    }

    /// The same, told the variables.
    pub async fn open_with(
        address: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Blobs, BlobsOpenError> {
        match address.split_once("://") {
            Some(("s3", bucket)) => Ok(Blobs::S3(S3::open(bucket, variables).await?)),
            Some(_) => Err(BlobsOpenError::Address(address.to_owned())),
            None if address.is_empty() => Err(BlobsOpenError::Address("it is empty".to_owned())),
            None => Ok(Blobs::Files(Files::open(Path::new(address)).await?)),
        }
    }

    /// Appends the stream to the first `offset` staged bytes (a bucket: always 0), up to `length` in all, hashes
    /// everything, and makes it durable. A broken stream leaves what came, so that it can go on from there (files).
    pub async fn stage<St, E>(
        &self,
        at: &Staging,
        key: &BlobKey,
        offset: u64,
        length: u64,
        bytes: St,
    ) -> Result<Staged, StageError<E>>
    where
        St: Stream<Item = Result<Bytes, E>> + Send + Unpin,
    {
        match self {
            Blobs::Files(files) => files.stage(at, key, offset, length, bytes).await,
            Blobs::S3(s3) => s3.stage(key, offset, length, bytes).await,
        }
    }

    /// How many bytes an upload can go on from: those that are here, or 0.
    pub async fn staged(&self, at: &Staging) -> Result<u64, BlobError> {
        match self {
            Blobs::Files(files) => files.staged(at).await,
            Blobs::S3(_) => Ok(0),
        }
    }

    /// Begins an upload in parts. The id, if there is one, belongs into the upload's row.
    pub async fn begin_parts(&self, _at: &Staging, key: &BlobKey) -> Result<Option<String>, BlobError> {
        match self {
            Blobs::Files(_) => Ok(None),
            Blobs::S3(s3) => s3.begin_parts(key).await.map(Some),
        }
    }

    /// Where whoever holds the URL may PUT this part for a while; `None` when the part comes through us.
    pub async fn part_url(
        &self,
        key: &BlobKey,
        multipart: &str,
        number: u32,
        ttl: Duration,
    ) -> Result<Option<String>, BlobError> {
        match self {
            Blobs::Files(_) => Ok(None),
            Blobs::S3(s3) => s3.part_url(key, multipart, number, ttl).await.map(Some),
        }
    }

    /// A part of exactly `length` bytes, durable; returns its etag. Only files: into a bucket it goes by its URL.
    pub async fn write_part<St, E>(
        &self,
        at: &Staging,
        number: u32,
        length: u64,
        bytes: St,
    ) -> Result<String, StageError<E>>
    where
        St: Stream<Item = Result<Bytes, E>> + Send + Unpin,
    {
        match self {
            Blobs::Files(files) => files.write_part(at, number, length, bytes).await,
            Blobs::S3(_) => Err(BlobError::Unavailable("parts go straight to the bucket".to_owned()).into()),
        }
    }

    /// The parts that have arrived, by number. Empty for a bucket: there the client keeps the etags.
    pub async fn parts(&self, at: &Staging) -> Result<Vec<PartHere>, BlobError> {
        match self {
            Blobs::Files(files) => files.parts(at).await,
            Blobs::S3(_) => Ok(Vec::new()),
        }
    }

    /// Joins the parts, 1 to the last in order, and reads back what they really are.
    pub async fn join(
        &self,
        at: &Staging,
        key: &BlobKey,
        multipart: Option<&str>,
        parts: &[Part],
    ) -> Result<Staged, BlobError> {
        match self {
            Blobs::Files(files) => files.join(at, key, parts).await,
            Blobs::S3(s3) => s3.join(key, multipart, parts).await,
        }
    }

    /// From staging to the key, durable. Done before is done; what lies there is never replaced.
    pub async fn place(&self, at: &Staging, key: &BlobKey) -> Result<(), BlobError> {
        match self {
            Blobs::Files(files) => files.place(at, key).await,
            Blobs::S3(s3) => s3.place(key).await,
        }
    }

    /// A small body in one go, durable under its key when it returns, if its digest is the key's; else nothing is kept.
    pub async fn put(&self, key: &BlobKey, bytes: Bytes) -> Result<Staged, BlobError> {
        match self {
            Blobs::Files(files) => files.put(key, bytes).await,
            Blobs::S3(s3) => s3.put(key, bytes).await,
        }
    }

    /// Brings a small body to the disk as far as that leaves no trace. The digest must be that of the bytes.
    pub async fn write(&self, digest: Digest, bytes: Bytes) -> Result<Written, BlobError> {
        let file = match self {
            Blobs::Files(files) => files.write(digest, bytes.clone()).await?,
            Blobs::S3(_) => None,
        };
        Ok(Written { digest, bytes, file })
    }

    /// What was written is durable under its key when it returns.
    pub async fn name(&self, key: &BlobKey, written: Written) -> Result<(), BlobError> {
        let Written { digest, bytes, file } = written;
        assert_eq!(digest, key.digest(), "a key names the bytes that lie there");
        match self {
            Blobs::Files(files) => files.name(key, bytes, file).await,
            Blobs::S3(s3) => s3.put(key, bytes).await.map(drop),
        }
    }

    /// Exactly the bytes of the range, which must lie within the blob.
    pub async fn read(&self, key: &BlobKey, range: Range<u64>) -> Result<ByteStream, BlobError> {
        match self {
            Blobs::Files(files) => files.read(key, range).await,
            Blobs::S3(s3) => s3.read(key, range).await,
        }
    }

    pub async fn length(&self, key: &BlobKey) -> Result<Option<u64>, BlobError> {
        match self {
            Blobs::Files(files) => files.length(key).await,
            Blobs::S3(s3) => s3.length(key).await,
        }
    }

    /// Not there is success.
    pub async fn delete(&self, key: &BlobKey) -> Result<(), BlobError> {
        match self {
            Blobs::Files(files) => files.delete(key).await,
            Blobs::S3(s3) => s3.delete(key).await,
        }
    }

    /// Everything that an upload may have left: staging, an open multipart upload, and the key.
    pub async fn discard(
        &self,
        at: &Staging,
        key: &BlobKey,
        multipart: Option<&str>,
    ) -> Result<(), BlobError> {
        match self {
            Blobs::Files(files) => files.discard(at, key).await,
            Blobs::S3(s3) => s3.discard(key, multipart).await,
        }
    }

    /// As [`Blobs::discard`], of an upload whose bytes became a blob: what it needed on its way is gone.
    pub async fn discard_staging(&self, at: &Staging) -> Result<(), BlobError> {
        match self {
            Blobs::Files(files) => files.discard_staging(at).await,
            Blobs::S3(_) => Ok(()), // parts became the object; there is nothing beside it
        }
    }

    /// What is there, in order of the names: `blobs/…`, and `staging/…` for uploads on their way (files).
    pub async fn keys(&self, after: Option<&str>, limit: usize) -> Result<Vec<String>, BlobError> {
        match self {
            Blobs::Files(files) => files.keys(after, limit).await,
            Blobs::S3(s3) => s3.keys(after, limit).await,
        }
    }
}
