//! A file that is to be sent: opened once, hashed, and watched for changes until it has arrived.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use hyper::body::Bytes;
use sha2::{Digest as _, Sha256};
use wire::Digest;

use crate::client::Body;

const READ_BYTES: usize = 256 * 1024;
/// A file of at most this size is read once: what was hashed is what is sent.
const HELD_BYTES_MAX: u64 = READ_BYTES as u64;

#[derive(Debug, Clone)]
pub struct Source {
    file: Arc<File>,
    digest: Digest,
    length: u64,
    held: Option<Bytes>,
    stamp: Stamp,
}

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("it changed while it was read")]
    Changed,
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// Whoever wanted it no longer does.
    #[error("stopped")]
    Stopped,
}

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(file: &File) -> io::Result<Stamp> {
        let metadata = file.metadata()?;
        Ok(Stamp {
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

impl Source {
    /// Reads all of it, so not on a thread that others wait for. `go_on` hears of each piece and may stop it.
    pub fn read(file: File, mut go_on: impl FnMut(u64) -> bool) -> Result<Source, SourceError> {
        let stamp = Stamp::of(&file)?;
        let length = stamp.length;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; READ_BYTES.min(length as usize)];
        let mut offset = 0;
        while offset < length {
            let piece = (length - offset).min(READ_BYTES as u64) as usize;
            file.read_exact_at(&mut buffer[..piece], offset).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => SourceError::Changed,
                _ => SourceError::Unreadable(error),
            })?;
            hash.update(&buffer[..piece]);
            offset += piece as u64;
            if !go_on(piece as u64) {
                return Err(SourceError::Stopped);
            }
        }
        if Stamp::of(&file)? != stamp {
            return Err(SourceError::Changed);
        }
        let held = (length <= HELD_BYTES_MAX).then(|| Bytes::from(buffer));
        let digest = Digest::from_bytes(hash.finalize().into());
        Ok(Source { file: Arc::new(file), digest, length, held, stamp })
    }

    pub fn digest(&self) -> Digest {
        self.digest
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether the file is no longer what was hashed. What is held in memory cannot change.
    pub fn has_changed(&self) -> bool {
        self.held.is_none() && Stamp::of(&self.file).ok() != Some(self.stamp)
    }

    /// From `offset` to its end.
    pub fn body(&self, offset: u64) -> Body {
        match &self.held {
            Some(bytes) => Body::whole(bytes.slice(offset as usize..)),
            None => Body::file(self.file.clone(), offset, self.length),
        }
    }
}
