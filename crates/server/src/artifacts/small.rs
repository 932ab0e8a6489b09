//! A small blob in one request: read, hashed, and committed with its bytes among the records; or, where it is longer than
//! that, journalled and written at once, named, committed.

use axum::body::Bytes;
use decisions::records::{INLINE_BYTES_MAX, Measured, Upload};
use futures_util::StreamExt;
use sha2::{Digest as _, Sha256};
use store::Store;
use store::blobs::Blobs;
use wire::{Digest, ExecId, TenantId};

use crate::artifacts::stream::Incoming;
use crate::artifacts::uploads::{Announced, abort, committed, key, put_inline, start};
use crate::artifacts::{Artifacts, Trouble};
use crate::engine::Engine;

/// The largest body that comes in one request.
pub const SMALL_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// All small bodies that are in memory at a time.
pub const ROOM_KIB: usize = 32 * 1024;

/// Below this a body is hashed where it is; above it, on a thread that may take its time.
const HASHED_HERE_MAX: usize = 64 * 1024;

/// More than may come in one request.
pub struct TooLarge;

/// The whole of a body that is as long as announced, if anything was.
pub async fn read(mut bytes: Incoming, announced: Option<u64>) -> Result<Result<Bytes, TooLarge>, Trouble> {
    let expected = announced.unwrap_or(0).min(SMALL_BYTES_MAX) as usize;
    let mut whole = Vec::with_capacity(expected);
    while let Some(piece) = bytes.next().await {
        let piece = piece?;
        if (whole.len() + piece.len()) as u64 > SMALL_BYTES_MAX {
            return Ok(Err(TooLarge));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(Ok(whole.into()))
}

/// Brings bytes that the tenant may not have. Whether they are new to it, and how their upload ended.
pub async fn put<S: Store>(
    artifacts: &Artifacts,
    engine: &Engine<S>,
    (tenant, execution): (TenantId, Option<ExecId>),
    digest: Digest,
    bytes: Bytes,
) -> Result<(bool, Upload), Trouble> {
    let length = bytes.len() as u64;
    if hash(bytes.clone()).await? != digest {
        return Err(Trouble::Mismatched { field: "digest" });
    }
    let measured = Some(Measured { digest, length });
    if length <= INLINE_BYTES_MAX && matches!(artifacts.blobs, Blobs::Files(_)) {
        // Whoever keeps bytes in a bucket wants all of them there.
        let announced = Announced { tenant, digest, length, execution, measured };
        let upload = put_inline(engine, announced, bytes[..].into()).await?;
        return Ok((upload.measured.is_some(), upload));
    }
    let started = start(engine, Announced { tenant, digest, length, execution, measured });
    // The bytes are on their way to the disk while the upload is recorded. They get their name afterwards: whatever has a
    // name is on record.
    let (upload, written) = tokio::join!(started, artifacts.blobs.write(digest, bytes));
    let upload = upload?;
    if !upload.is_open() {
        return Ok((false, upload)); // the tenant has these bytes
    }
    let named = match written {
        Ok(written) => artifacts.blobs.name(&key(&upload), written).await,
        Err(error) => Err(error),
    };
    match named {
        Ok(()) => Ok((true, committed(engine, &upload, measured).await?)),
        Err(error) => {
            // Its time would end it too; this is sooner.
            let _ = abort(engine, tenant, upload.id).await;
            Err(error.into())
        }
    }
}

pub async fn hash(bytes: Bytes) -> Result<Digest, Trouble> {
    let digest = |bytes: Bytes| Digest::from_bytes(Sha256::digest(&bytes).into());
    if bytes.len() <= HASHED_HERE_MAX {
        return Ok(digest(bytes));
    }
    tokio::task::spawn_blocking(move || digest(bytes)).await.map_err(|_| Trouble::Mistake)
}
