//! What can go wrong with bytes, split by what the caller may do next.

use std::io;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    #[error("there are no such bytes")]
    NotFound,
    /// The stream held more than was promised; nothing of it was kept.
    #[error("more than the promised {expected} bytes came")]
    TooLong { expected: u64 },
    /// The part ended early; nothing of it was kept.
    #[error("only {found} of the promised {expected} bytes came")]
    TooShort { expected: u64, found: u64 },
    /// The upload is to go on after bytes that are not here. Ask how far it came.
    #[error("only {staged} bytes are here to go on from")]
    Gap { staged: u64 },
    /// A part that is to be joined is not here, or not with this etag.
    #[error("part {number} is not here")]
    PartMissing { number: u32 },
    /// The bucket refused the parts: one is too small, missing, or another than was named.
    #[error("the parts cannot be joined ({0})")]
    PartsRefused(String),
    /// Another request is writing to the same upload. Retry later.
    #[error("somebody else is writing to this upload")]
    Busy,
    /// Fewer bytes lie here than were once written.
    #[error("the stored bytes are damaged: {found} of {expected}")]
    Torn { expected: u64, found: u64 },
    /// No room. What this request wrote was given back.
    #[error("there is no room for these bytes")]
    Full,
    /// Not done, or perhaps done: retry later. Every verb may be repeated.
    #[error("the bytes cannot be reached ({0})")]
    Unavailable(String),
}

/// A transfer ends badly in two ways: ours, or the sender's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StageError<E> {
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The stream broke. What came before is kept where an upload can be resumed.
    #[error("the stream broke off")]
    Stream(E),
}

/// A place for bytes that we will not use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlobsOpenError {
    #[error("not a place for artifacts ({0}): give a folder, or s3://bucket/prefix")]
    Address(String),
    #[error("artifacts cannot be kept there ({0}): check the path, the address and the permissions")]
    Unreachable(String),
}

impl From<io::Error> for BlobError {
    fn from(error: io::Error) -> BlobError {
        match error.kind() {
            io::ErrorKind::NotFound => BlobError::NotFound,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                BlobError::Full
            }
            io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy => BlobError::Busy,
            _ => BlobError::Unavailable(error.to_string()),
        }
    }
}

impl From<rustix::io::Errno> for BlobError {
    fn from(error: rustix::io::Errno) -> BlobError {
        io::Error::from(error).into()
    }
}
