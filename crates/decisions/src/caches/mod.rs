//! Caches: saved by a job's success, found by later jobs of the same tenant, dropped when nobody uses them.
//!
//! A cache refers to its blob as an artifact does, so that no collection takes the bytes away.

mod drop;
mod due;
mod save;
mod touch;

pub use drop::DropCache;
pub use due::{CacheDue, Reason};
pub use save::{CACHES_MAX, KEY_BYTES_MAX, SavedCache, Saves, check_key};
pub use touch::TouchCache;

use crate::Draft;
use crate::blobs::release;
use crate::records::Cache;

/// The name is free again, and so are the bytes, if nothing else refers to them.
fn let_go(draft: &mut Draft<'_>, mut cache: Cache) {
    release(draft, cache.blob);
    cache.dropped = true;
    draft.put(cache);
}
