//! SHA-256 of a stream, a batch at a time on a blocking thread, beside whatever else happens to the batch.

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::task::JoinHandle;
use wire::Digest;

use super::{BlobError, Staged, blocking};

pub struct Hashing {
    /// The last batch on its way; there is always one.
    running: JoinHandle<Sha256>,
    length: u64,
}

impl Hashing {
    pub fn new() -> Hashing {
        Hashing::after(Sha256::new(), 0)
    }

    /// Goes on after bytes that were hashed already.
    pub fn after(hasher: Sha256, length: u64) -> Hashing {
        Hashing { running: blocking::begin(|| hasher), length }
    }

    /// Waits for the batch before, then lets this one run.
    pub async fn feed(&mut self, batch: Vec<Bytes>) -> Result<(), BlobError> {
        let mut hasher = blocking::end(&mut self.running).await?;
        self.length += batch.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
        self.running = blocking::begin(move || {
            batch.iter().for_each(|bytes| hasher.update(bytes));
            hasher
        });
        Ok(())
    }

    pub async fn finish(self) -> Result<Staged, BlobError> {
        let hasher = blocking::end(self.running).await?;
        Ok(Staged { digest: digest_of(hasher), length: self.length })
    }
}

pub fn digest_of(hasher: Sha256) -> Digest {
    Digest::from_bytes(hasher.finalize().into())
}
