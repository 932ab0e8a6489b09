//! A fresh place for bytes of each kind for a test, gone afterwards; samples, and streams of them.

use std::convert::Infallible;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream, TryStreamExt};
use sha2::{Digest as _, Sha256};
use store::{BlobError, BlobKey, Blobs, Staging};
use tempfile::TempDir;
use wire::{BlobId, Digest, UploadId};

use crate::blobs::bucket::Bucket;
use crate::stores::block_on;

pub const MIB: usize = 1 << 20;

/// Runs async tests `fn(Place)` of the module around it, each on each kind of place: `test::kind`.
macro_rules! on_places {
    ($($test:ident),+ $(,)?) => { $(
        mod $test {
            #[test] fn files() { $crate::blobs::places::files(super::$test); }
            #[test] fn bucket() { $crate::blobs::places::bucket(super::$test); }
        }
    )+ };
}
pub(crate) use on_places;

pub struct Place {
    pub blobs: Blobs,
    folder: TempDir,
    _bucket: Option<Bucket>,
}

pub fn files<F: Future<Output = ()>>(test: impl FnOnce(Place) -> F) {
    block_on(async { test(Place::files().await).await });
}

pub fn bucket<F: Future<Output = ()>>(test: impl FnOnce(Place) -> F) {
    block_on(async { test(Place::bucket().await).await });
}

impl Place {
    pub async fn files() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(folder.path().to_str().unwrap()).await.unwrap();
        Place { blobs, folder, _bucket: None }
    }

    pub async fn bucket() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let bucket = Bucket::serve(folder.path()).await;
        let blobs = Blobs::open_with("s3://artifacts/ours/", bucket.variables()).await.unwrap();
        Place { blobs, folder, _bucket: Some(bucket) }
    }

    pub fn is_bucket(&self) -> bool {
        matches!(self.blobs, Blobs::S3(_))
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Every file that lies there, whoever knows of it; without the bucket server's notes on its objects.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let mut left = files_below(self.folder.path());
        left.retain(|path| !path.file_name().unwrap().to_string_lossy().starts_with(".bucket-"));
        left
    }

    /// Waits until so many bytes of an upload are in its file, on the disk or not.
    pub async fn has_come(&self, at: &Staging, bytes: u64) {
        let file = self.path().join(at.as_str()).join("bytes");
        while std::fs::metadata(&file).map_or(0, |found| found.len()) < bytes {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// All bytes under a key.
    pub async fn contents(&self, key: &BlobKey) -> Result<Vec<u8>, BlobError> {
        let length = self.blobs.length(key).await?.ok_or(BlobError::NotFound)?;
        read(&self.blobs, key, 0..length).await
    }

    pub async fn stage_and_place(&self, number: u128, bytes: &Bytes) -> BlobKey {
        let (at, key) = (staging(number), key_of(bytes, number));
        let length = bytes.len() as u64;
        let staged = self.blobs.stage(&at, &key, 0, length, whole(bytes)).await.unwrap();
        assert_eq!((staged.digest, staged.length), (digest_of(bytes), length));
        self.blobs.place(&at, &key).await.unwrap();
        key
    }
}

pub async fn read(blobs: &Blobs, key: &BlobKey, range: std::ops::Range<u64>) -> Result<Vec<u8>, BlobError> {
    let pieces: Vec<Bytes> = blobs.read(key, range).await?.try_collect().await?;
    Ok(pieces.concat())
}

pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Bytes that look like nothing else: another seed, other bytes.
pub fn sample(seed: u64, length: usize) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes.into()
}

pub fn digest_of(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::digest(bytes).into())
}

pub fn key_of(bytes: &[u8], generation: u128) -> BlobKey {
    BlobKey::new(&digest_of(bytes), BlobId::from_u128(generation))
}

pub fn staging(number: u128) -> Staging {
    Staging::new(UploadId::from_u128(number))
}

/// The sender's connection broke.
#[derive(Debug, PartialEq, Eq)]
pub struct Broke;

/// In pieces of a size that fits nothing.
fn pieces(bytes: &Bytes) -> Vec<Bytes> {
    const PIECE: usize = 60_001;
    (0..bytes.len()).step_by(PIECE).map(|at| bytes.slice(at..bytes.len().min(at + PIECE))).collect()
}

pub fn whole(bytes: &Bytes) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + Unpin + use<> {
    stream::iter(pieces(bytes).into_iter().map(Ok))
}

/// Breaks off after these bytes.
pub fn broken(bytes: &Bytes) -> impl Stream<Item = Result<Bytes, Broke>> + Send + Unpin + use<> {
    stream::iter(pieces(bytes).into_iter().map(Ok).chain([Err(Broke)]))
}
