//! What can go wrong between a request and its bytes.

use decisions::Refusal;
use store::StoreError;
use store::blobs::{BlobError, StageError};

use crate::artifacts::stream::Broken;
use crate::perform::Failure;

#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error("the store does not answer")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Bytes(#[from] BlobError),
    #[error("the body did not come to its end")]
    Body(#[from] Broken),
    /// `digest` or `length`.
    #[error("the {field} is not what was announced")]
    Mismatched { field: &'static str },
    /// Bytes are expected at `expected`.
    #[error("the content goes on at offset {expected}")]
    Offset { expected: u64 },
    /// The policy holds it back.
    #[error("held back: {reason}")]
    Quarantined { reason: String },
    /// No verdict, whatever the reason: nothing is published.
    #[error("the policy does not answer ({0})")]
    NotJudged(String),
    /// The engine answered something else than was asked for.
    #[error("an answer to another question")]
    Mistake,
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Trouble {
        Trouble::Failed(refusal.into())
    }
}

impl From<StageError<Broken>> for Trouble {
    fn from(error: StageError<Broken>) -> Trouble {
        match error {
            StageError::Blob(error) => error.into(),
            StageError::Stream(broken) => broken.into(),
        }
    }
}
