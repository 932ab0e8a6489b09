//! Work that waits for a disk or keeps a core busy, off the async workers: one hop per batch, so that a slow sender or
//! reader holds no thread.

use std::future::Future;

use tokio::task::{JoinError, JoinHandle};

use super::BlobError;

pub fn begin<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    tokio::task::spawn_blocking(work)
}

/// What the work returned. It only goes missing when the process is going down.
pub async fn end<T>(work: impl Future<Output = Result<T, JoinError>>) -> Result<T, BlobError> {
    work.await.map_err(|error| BlobError::Unavailable(error.to_string()))
}

pub async fn run<T, F>(work: F) -> Result<T, BlobError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, BlobError> + Send + 'static,
{
    end(begin(work)).await?
}
