//! Mark: looks at blobs without a reference, a chunk at a time. What nothing holds becomes a candidate; the rest stays.

use machines::blob;
use wire::{BlobId, CollectionId};

use crate::blobs::revive;
use crate::collections::{held_by, running};
use crate::records::Blob;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct MarkBlobs {
    pub collection: CollectionId,
    pub holder: u64,
    pub blobs: Vec<BlobId>,
    /// Nothing comes after these: with this commit the mark is complete.
    pub last: bool,
}

impl Decide for MarkBlobs {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Collection(self.collection));
        asks.extend(self.blobs.iter().copied().map(Ask::Blob));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut collection = running(draft, self.collection, self.holder)?;
        if collection.mark_completed_at.is_some() {
            return Ok(Answer::CollectionIs { collection: Box::new(collection), existing: true }); // said twice
        }
        for id in &self.blobs {
            let Some(blob) = draft.get::<Blob>(id).cloned() else { continue };
            if blob.state.get() == blob::State::Deleted || blob.unmarked_by == Some(collection.id) {
                continue;
            }
            collection.marked += 1;
            if !self.mark(draft, blob, collection.epoch) {
                collection.kept += 1;
            }
        }
        if self.last {
            collection.mark_completed_at = Some(draft.now);
        }
        draft.put(collection.clone());
        Ok(Answer::CollectionIs { collection: Box::new(collection), existing: true })
    }
}

impl MarkBlobs {
    /// Whether it is a candidate now.
    fn mark(&self, draft: &mut Draft<'_>, mut blob: Blob, epoch: i64) -> bool {
        let claimed = blob.claimed_by.is_some();
        match held_by(&blob, epoch, draft.now) {
            Some(_) if claimed => unreachable!("nothing holds what was claimed"),
            Some(reason) => {
                if blob.state.get() == blob::State::EligibleForGc {
                    revive(draft, &mut blob, reason);
                    draft.put(blob);
                }
                false
            }
            None => {
                if blob.state.get() == blob::State::Live {
                    blob.retention_until = Some(blob.barrier_until);
                    draft.advance(&mut blob, blob::Event::RequestDelete, "nothing refers to it");
                }
                if blob.state.get() == blob::State::Tombstoned {
                    draft.advance(&mut blob, blob::Event::RetentionElapsed, "and nobody came back for it");
                }
                blob.unmarked_by = Some(self.collection);
                blob.updated_at = draft.now;
                draft.put(blob);
                true
            }
        }
    }
}
