//! What a request carries: bytes that are there, or a file that is read as the connection takes it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Bytes, Frame, SizeHint};
use tokio::sync::mpsc;

/// Large, so that a read is worth its way to another thread.
const CHUNK_BYTES: usize = 256 * 1024;
/// Read ahead; with those on their way at either end, what a transfer takes of memory.
const CHUNKS_WAITING_MAX: usize = 2;

/// How many bytes of a body the connection has taken. Shared with whoever shows progress or waits for it.
#[derive(Debug, Clone, Default)]
pub struct Taken(Arc<AtomicU64>);

impl Taken {
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A body whose length is known before it begins.
#[derive(Debug)]
pub struct Body {
    content: Content,
    left: u64,
    taken: Taken,
}

#[derive(Debug)]
enum Content {
    Whole(Option<Bytes>),
    Chunks(mpsc::Receiver<io::Result<Bytes>>),
}

impl Body {
    pub fn whole(bytes: impl Into<Bytes>) -> Body {
        let bytes: Bytes = bytes.into();
        let left = bytes.len() as u64;
        Body { content: Content::Whole((left > 0).then_some(bytes)), left, taken: Taken::default() }
    }

    /// The file from `offset` up to `end`, read on a thread for such work. A file that has become shorter is an error.
    /// Must be called within a runtime.
    pub fn file(file: Arc<File>, offset: u64, end: u64) -> Body {
        let (chunks, receiver) = mpsc::channel(CHUNKS_WAITING_MAX);
        tokio::task::spawn_blocking(move || send(&file, offset, end, &chunks));
        Body { content: Content::Chunks(receiver), left: end - offset, taken: Taken::default() }
    }

    pub fn taken(&self) -> Taken {
        self.taken.clone()
    }

    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        match &mut self.content {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(Ok)),
            Content::Chunks(chunks) => chunks.poll_recv(context),
        }
    }
}

/// Ends early when nobody takes the chunks any more.
fn send(file: &File, mut offset: u64, end: u64, chunks: &mpsc::Sender<io::Result<Bytes>>) {
    while offset < end {
        let mut chunk = vec![0; CHUNK_BYTES.min((end - offset) as usize)];
        let read = file.read_exact_at(&mut chunk, offset).map(|()| Bytes::from(chunk));
        let failed = read.is_err();
        offset += read.as_ref().map_or(0, |bytes| bytes.len() as u64);
        if chunks.blocking_send(read).is_err() || failed {
            return;
        }
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.poll_chunk(context).map(|chunk| {
            Some(chunk?.map(|bytes| {
                self.left = self.left.saturating_sub(bytes.len() as u64);
                self.taken.add(bytes.len());
                Frame::data(bytes)
            }))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    /// Exact, so that the request says its length.
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
