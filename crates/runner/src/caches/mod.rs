//! Caches: files that a job finds again because an earlier one left them.
//!
//! The agent looks for each cache and fetches its archive (`fetch.rs`); the keeper unpacks it after the checkout and packs
//! what a job that succeeded leaves (`keeper/caches.rs`); the agent brings that to the server (`bring.rs`), which saves it
//! with the job's own success. An archive is a tar within an LZ4 frame. It may be hostile, and so may the folders it is
//! unpacked into: `unpack.rs` and `pack.rs` go through `artifacts/beneath.rs` and never follow a link.
//!
//! Never: a job that fails because of its cache; a file outside the paths that the job names; a set-user bit.

mod bring;
mod fetch;
mod pack;
mod spots;
mod unpack;
mod words;

pub use bring::{Brought, Packed, bring};
pub use fetch::Fetcher;
pub use pack::pack;
pub use spots::{Grounds, Spot};
pub use unpack::unpack;
pub use words::{ago, size};

/// In one archive.
const ENTRIES_MAX: u64 = 2_000_000;
/// Of a path or a link's target.
const PATH_BYTES_MAX: usize = 4096;
/// Of one job; what it names beyond is left alone.
pub const CACHES_MAX: usize = 100;
/// The longest key that the server keeps.
const KEY_BYTES_MAX: usize = 512;

/// Why an archive was not made, or not unpacked to its end.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("it is larger than {0} bytes, which is the most that this runner takes")]
    TooLarge(u64),
    #[error("it has more than {ENTRIES_MAX} files")]
    TooMany,
    #[error("{0}")]
    Failed(#[from] std::io::Error),
    /// Whoever wanted it no longer does.
    #[error("stopped")]
    Stopped,
}

/// What was packed or unpacked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    pub files: u64,
    pub bytes: u64,
}
