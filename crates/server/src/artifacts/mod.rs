//! Artifacts: bytes on their way in, and what may become of them. Records are moved by commands; bytes by [`Blobs`].
//!
//! The journal comes first: an upload's record names every key that may hold bytes before the first one is written, and
//! nothing is visible before the commit that makes it so. What is left behind by whatever ends early is in the record
//! too, for whoever sweeps up.
//!
//! Never: bytes that can be read before their commit; a publication that the policy has not allowed.
//! Start at `uploads.rs`.

pub mod archive;
pub mod bytes;
pub mod collector;
pub mod judge;
pub mod parts;
mod reports;
pub mod saved;
pub mod small;
pub mod stored;
pub mod stream;
mod trouble;
pub mod upkeep;
pub mod uploads;
pub mod versions;

use store::blobs::Blobs;

pub use judge::Judge;
pub use trouble::Trouble;

use parts::Signer;

/// What the handlers of artifacts share.
pub struct Artifacts {
    pub blobs: Blobs,
    pub judge: Judge,
    pub signer: Signer,
    /// The most parts of one upload.
    pub parts_max: usize,
    /// KiB of small bodies that may be in memory at a time.
    pub small_room: tokio::sync::Semaphore,
}

impl Artifacts {
    pub fn new(blobs: Blobs, judge: Judge, key: [u8; 32], parts_max: usize) -> Artifacts {
        let small_room = tokio::sync::Semaphore::new(small::ROOM_KIB);
        Artifacts { blobs, judge, signer: Signer::new(key), parts_max, small_room }
    }
}
