//! The end of a file that grows: gathers what comes and writes it a block at a time, large files past the page cache.
//!
//! What is not aligned, the last bytes of a file among it, goes through the cache.
//!
//! Never: a sync.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;

use super::sink::Target;
use super::uncached::{ALIGNMENT, is_refusal, pass_by, skip_to_aligned};

/// What is written at a time.
const BUFFER_BYTES: usize = 1 << 20;

pub struct Writer {
    target: Arc<Target>,
    /// Only for a large file: what comes for others is written as it is, where the file's cursor stands.
    buffer: Option<Buffer>,
    /// Where the first byte of the buffer belongs; everything before it is written.
    at: u64,
    cache: Cache,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cache {
    /// All that comes, also because this file system wants it so.
    Used,
    /// Until something is aligned.
    UsedSoFar,
    PassedBy,
}

impl Writer {
    /// Goes on at `at` in a file that will have `expected` bytes.
    pub fn new(target: Arc<Target>, at: u64, expected: u64) -> Writer {
        let buffer = (expected >= target.uncached_from).then(Buffer::new);
        Writer { target, buffer, at, cache: Cache::UsedSoFar }
    }

    /// How far the file is written.
    pub fn written(&self) -> u64 {
        self.at
    }

    pub fn append(&mut self, chunks: &[Bytes]) -> io::Result<()> {
        let Some(mut buffer) = self.buffer.take() else {
            write_all(&self.target.file, chunks)?;
            self.at += chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>();
            return Ok(());
        };
        for mut chunk in chunks.iter().map(|chunk| &chunk[..]) {
            while !chunk.is_empty() {
                chunk = buffer.fill(chunk, self.room(&buffer));
                if self.room(&buffer) == 0 {
                    let all = buffer.filled;
                    self.write_out(&mut buffer, all)?;
                }
            }
        }
        self.buffer = Some(buffer);
        Ok(())
    }

    /// Writes what is left in the buffer.
    pub fn flush(&mut self) -> io::Result<()> {
        let Some(mut buffer) = self.buffer.take() else { return Ok(()) };
        let blocks = if self.at.is_multiple_of(ALIGNMENT as u64) { buffer.filled } else { 0 };
        self.write_out(&mut buffer, blocks - blocks % ALIGNMENT)?;
        let rest = buffer.filled;
        self.write_out(&mut buffer, rest)?;
        self.buffer = Some(buffer);
        Ok(())
    }

    /// The buffer ends where a block of the file does.
    fn room(&self, buffer: &Buffer) -> usize {
        let into_block = (self.at % BUFFER_BYTES as u64) as usize;
        BUFFER_BYTES - into_block - buffer.filled
    }

    /// The first so many bytes of the buffer; what is behind them moves to the front.
    fn write_out(&mut self, buffer: &mut Buffer, count: usize) -> io::Result<()> {
        if count == 0 {
            return Ok(());
        }
        let aligned = self.at.is_multiple_of(ALIGNMENT as u64) && count.is_multiple_of(ALIGNMENT);
        self.choose(aligned)?;
        match self.target.file.write_all_at(buffer.first(count), self.at) {
            Err(error) if self.cache == Cache::PassedBy && is_refusal(&error) => {
                self.choose(false)?;
                self.cache = Cache::Used;
                self.target.file.write_all_at(buffer.first(count), self.at)?;
            }
            written => written?,
        }
        buffer.remove(count);
        self.at += count as u64;
        Ok(())
    }

    fn choose(&mut self, aligned: bool) -> io::Result<()> {
        self.cache = match (self.cache, aligned) {
            (Cache::UsedSoFar, true) if pass_by(&self.target.file, true).is_ok() => Cache::PassedBy,
            (Cache::UsedSoFar, true) => Cache::Used, // it knows no such writes
            (Cache::PassedBy, false) => {
                pass_by(&self.target.file, false)?;
                Cache::UsedSoFar
            }
            (same, _) => same,
        };
        Ok(())
    }
}

fn write_all(mut file: &File, chunks: &[Bytes]) -> io::Result<()> {
    let mut slices: Vec<_> = chunks.iter().map(|chunk| IoSlice::new(chunk)).collect();
    let mut left = &mut slices[..];
    while !left.is_empty() {
        match file.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Memory that begins at a multiple of [`ALIGNMENT`].
struct Buffer {
    memory: Vec<u8>,
    start: usize,
    filled: usize,
}

impl Buffer {
    fn new() -> Buffer {
        let memory = vec![0_u8; BUFFER_BYTES + ALIGNMENT];
        let start = skip_to_aligned(&memory);
        Buffer { memory, start, filled: 0 }
    }

    /// Takes what fits into the room, and returns the rest.
    fn fill<'a>(&mut self, bytes: &'a [u8], room: usize) -> &'a [u8] {
        let (taken, rest) = bytes.split_at(bytes.len().min(room));
        let end = self.start + self.filled;
        self.memory[end..end + taken.len()].copy_from_slice(taken);
        self.filled += taken.len();
        rest
    }

    fn first(&self, count: usize) -> &[u8] {
        &self.memory[self.start..self.start + count]
    }

    fn remove(&mut self, count: usize) {
        self.memory.copy_within(self.start + count..self.start + self.filled, self.start);
        self.filled -= count;
    }
}
