//! The bytes of a blob, wherever they lie: those of a small one may be among the records, all others are in the blob store.

use std::ops::Range;

use bytes::Bytes;
use decisions::records::INLINE_BYTES_MAX;
use futures_util::{StreamExt, stream};
use store::Store;
use store::blobs::{BlobKey, Blobs, ByteStream};

use crate::artifacts::Trouble;

/// A blob as it is named by whoever refers to it.
pub struct Whole {
    pub key: BlobKey,
    pub length: u64,
}

/// Exactly the bytes of the range, which must lie within the blob.
pub async fn read<S: Store>(
    store: &S,
    blobs: &Blobs,
    whole: &Whole,
    range: Range<u64>,
) -> Result<ByteStream, Trouble> {
    if whole.length <= INLINE_BYTES_MAX
        && let Some(bytes) = store.blob_bytes(whole.key.blob()).await?
    {
        let bytes = Bytes::from_owner(bytes).slice(range.start as usize..range.end as usize);
        return Ok(stream::iter([Ok(bytes)]).boxed());
    }
    Ok(blobs.read(&whole.key, range).await?)
}
