//! Past the page cache: for files so large that they would drive out what others read, and that cost a processor more to
//! bring through the cache than the disk takes for them.
//!
//! The kernel moves such bytes only between aligned memory and aligned places, in whole blocks.

use std::fs::File;
use std::io;
use std::ops::Range;

use bytes::Bytes;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::blobs::BlobError;

/// Files of at least so many bytes do without the cache. Smaller ones are worth keeping there: what one job made, several
/// others are likely to ask for soon.
pub const FROM_BYTES: u64 = 256 << 20;

/// The same for parts, which are read once and removed.
pub const PART_FROM_BYTES: u64 = 8 << 20;

/// Of memory, place and length: the block of any disk, or a multiple of it.
pub const ALIGNMENT: usize = 4096;

/// From now on what is read and written goes past the cache, or through it.
pub fn pass_by(file: &File, cache: bool) -> Result<(), Errno> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    rustix::fs::fcntl_setfl(file, if cache { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT })
}

/// This file system wants another alignment, or the cache.
pub fn is_refusal(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INVAL.raw_os_error())
}

/// How far the first aligned byte is from the first one.
pub fn skip_to_aligned(memory: &[u8]) -> usize {
    memory.as_ptr().align_offset(ALIGNMENT)
}

/// All bytes of the range, from a file that passes the cache by.
pub fn read(file: &File, range: &Range<u64>) -> Result<Bytes, BlobError> {
    use std::os::unix::fs::FileExt;
    let block = ALIGNMENT as u64;
    let first = range.start - range.start % block;
    let (wanted, whole) =
        ((range.end - first) as usize, (range.end.next_multiple_of(block) - first) as usize);
    let mut memory = vec![0; whole + ALIGNMENT];
    let start = skip_to_aligned(&memory);
    let mut got = 0;
    while got < wanted {
        match file.read_at(&mut memory[start + got..start + whole], first + got as u64) {
            Ok(0) => return Err(BlobError::Torn { expected: range.end, found: first + got as u64 }),
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let from = start + (range.start - first) as usize;
    Ok(Bytes::from(memory).slice(from..start + wanted))
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt, TryStreamExt, stream};
    use sha2::{Digest as _, Sha256};
    use wire::{BlobId, Digest, UploadId};

    use super::super::Files;
    use super::*;
    use crate::blobs::{BlobKey, Part, Staging};

    const MIB: usize = 1 << 20;

    fn content(length: usize) -> Vec<u8> {
        (0..length as u64).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
    }

    /// In pieces of a length that fits nothing.
    fn pieces(bytes: &[u8]) -> impl futures_util::Stream<Item = Result<Bytes, ()>> + Send + Unpin + use<> {
        let pieces: Vec<_> = bytes.chunks(77_777).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        stream::iter(pieces)
    }

    async fn read_back(files: &Files, key: &BlobKey, range: Range<u64>) -> Vec<u8> {
        let parts: Vec<Bytes> = files.read(key, range).await.unwrap().try_collect().await.unwrap();
        parts.concat()
    }

    /// On a disk, and where there may be no such thing as going past the cache.
    fn places() -> Vec<tempfile::TempDir> {
        let memory = tempfile::tempdir_in("/dev/shm").ok();
        [tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).ok(), memory].into_iter().flatten().collect()
    }

    #[tokio::test]
    async fn what_goes_past_the_cache_is_what_came_wherever_it_was_cut() {
        for place in places() {
            let files = Files { uncached_from: 0, ..Files::open(place.path()).await.unwrap() };
            let lengths = [0, 1, ALIGNMENT - 1, ALIGNMENT, MIB, MIB + 1, 3 * MIB + 17];
            for (number, length) in (1..).zip(lengths) {
                let bytes = content(length);
                let (at, whole) = (Staging::new(UploadId::from_u128(number)), length as u64);
                let digest = Digest::from_bytes(Sha256::digest(&bytes).into());
                let key = BlobKey::new(&digest, BlobId::from_u128(number));
                let cut = length / 3;
                let broken = pieces(&bytes[..cut]).chain(stream::iter([Err(())]));
                assert!(files.stage(&at, &key, 0, whole, broken).await.is_err());
                assert_eq!(files.staged(&at).await.unwrap(), cut as u64);
                let rest = pieces(&bytes[cut..]);
                let staged = files.stage(&at, &key, cut as u64, whole, rest).await.unwrap();
                assert_eq!((staged.digest, staged.length), (digest, whole));
                files.place(&at, &key).await.unwrap();
                assert_eq!(std::fs::read(place.path().join(key.as_str())).unwrap(), bytes);
                for range in [0..whole, whole / 3..whole, whole / 3..whole / 2] {
                    let expected = &bytes[range.start as usize..range.end as usize];
                    assert_eq!(read_back(&files, &key, range).await, expected);
                }
            }
        }
    }

    #[tokio::test]
    async fn parts_past_the_cache_are_joined_to_what_they_are() {
        for place in places() {
            let files = Files { uncached_from: 0, ..Files::open(place.path()).await.unwrap() };
            let (bytes, at) = (content(5 * MIB + 3), Staging::new(UploadId::from_u128(1)));
            let key = BlobKey::new(&Digest::from_bytes(Sha256::digest(&bytes).into()), BlobId::from_u128(1));
            let mut parts = Vec::new();
            for (number, part) in (1..).zip(bytes.chunks(2 * MIB + 5)) {
                let etag = files.write_part(&at, number, part.len() as u64, pieces(part)).await.unwrap();
                parts.push(Part { number, etag });
            }
            let staged = files.join(&at, &key, &parts).await.unwrap();
            assert_eq!((staged.digest, staged.length), (key.digest(), bytes.len() as u64));
            files.place(&at, &key).await.unwrap();
            assert_eq!(std::fs::read(place.path().join(key.as_str())).unwrap(), bytes);
        }
    }
}
