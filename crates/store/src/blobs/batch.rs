//! A stream cut into batches large enough to be worth a system call and a hop between threads.

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

/// Enough to make hops and system calls cheap, little enough to keep hundreds of transfers in memory.
pub const BATCH_BYTES: usize = 1 << 20;

pub struct Batch<E> {
    pub chunks: Vec<Bytes>,
    pub end: Option<End<E>>,
}

pub enum End<E> {
    Finished,
    TooLong,
    Broken(E),
}

/// The next `size` bytes or a little more, or what comes before the end; never more than `room`, which shrinks.
pub async fn gather<St, E>(stream: &mut St, size: usize, room: &mut u64) -> Batch<E>
where
    St: Stream<Item = Result<Bytes, E>> + Unpin,
{
    let mut chunks = Vec::new();
    let mut gathered = 0;
    while gathered < size {
        let chunk = match stream.next().await {
            Some(Ok(chunk)) => chunk,
            Some(Err(error)) => return Batch { chunks, end: Some(End::Broken(error)) },
            None => return Batch { chunks, end: Some(End::Finished) },
        };
        if chunk.len() as u64 > *room {
            return Batch { chunks, end: Some(End::TooLong) };
        }
        *room -= chunk.len() as u64;
        gathered += chunk.len();
        if !chunk.is_empty() {
            chunks.push(chunk);
        }
    }
    Batch { chunks, end: None }
}
