//! What a bucket's refusals mean to us.

use object_store::Error;

use crate::blobs::BlobError;

/// What a bucket answers to parts that it will never join. The library passes the answer's text on, no code.
const PARTS_REFUSED: [&str; 5] =
    ["InvalidPart", "InvalidPartOrder", "EntityTooSmall", "MalformedXML", "InvalidRequest"];

pub fn of(error: Error) -> BlobError {
    match error {
        Error::NotFound { .. } => BlobError::NotFound,
        other => BlobError::Unavailable(said(&other)),
    }
}

/// The same after an attempt to join parts.
pub fn of_joining(error: Error) -> BlobError {
    let said = said(&error);
    if PARTS_REFUSED.iter().any(|code| said.contains(code)) {
        return BlobError::PartsRefused(said);
    }
    of(error)
}

/// Messages of this library hold those of their sources.
fn said(error: &Error) -> String {
    error.to_string()
}
