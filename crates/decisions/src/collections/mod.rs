//! Collections: bytes that nothing holds any more are found, claimed and deleted, while everything else goes on.
//!
//! One collection at a time. It begins a new epoch, looks at everything without a reference, notes that it has, and only
//! then claims; each claim asks again, in the same words as the mark. Bytes go after the claim is durable.

mod claim;
mod mark;
mod start;

use wire::{CollectionId, Time};

pub use claim::{BlobsSwept, ClaimBlobs};
pub use mark::MarkBlobs;
pub use start::{FinishCollection, StartCollection, TakeOverCollection};

use crate::records::{Blob, Collection, Progress};
use crate::{Draft, Refusal};

/// Why a blob stays; the one question that mark, claim and a rehearsal ask.
pub fn held_by(blob: &Blob, epoch: i64, now: Time) -> Option<&'static str> {
    if blob.refs > 0 {
        Some("something refers to it")
    } else if blob.barrier_until > now {
        Some("somebody was told of it not long ago")
    } else if blob.epoch >= epoch {
        Some("somebody was told of it since the collection began")
    } else if blob.created_at > now || blob.updated_at > now {
        Some("it is from the future")
    } else {
        None
    }
}

/// The collection, if it runs and this is who works on it. Working on it holds it for a while longer.
fn running(draft: &Draft<'_>, id: CollectionId, holder: u64) -> Result<Collection, Refusal> {
    let mut collection: Collection = draft.get(&id).cloned().ok_or(Refusal::CollectionNotFound)?;
    if collection.state != Progress::Running || collection.holder != holder {
        return Err(Refusal::CollectionLost);
    }
    collection.held_until = draft.now.plus(draft.policy.collection_hold);
    Ok(collection)
}
