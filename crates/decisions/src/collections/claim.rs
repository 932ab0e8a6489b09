//! Claim, then sweep: a candidate that is still held by nothing belongs to the collection; when its bytes are gone, so is
//! it. One that a collection before claimed and did not get to is claimed anew, after this collection's own mark.

use machines::blob;
use wire::{BlobId, CollectionId};

use crate::blobs::{dispossess, revive};
use crate::collections::{held_by, running};
use crate::records::{Blob, Collection};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct ClaimBlobs {
    pub collection: CollectionId,
    pub holder: u64,
    pub blobs: Vec<BlobId>,
}

impl Decide for ClaimBlobs {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Collection(self.collection));
        asks.extend(self.blobs.iter().copied().map(Ask::Blob));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut collection = running(draft, self.collection, self.holder)?;
        if collection.mark_completed_at.is_none() {
            return Err(Refusal::MarkNotComplete);
        }
        let mut claimed = Vec::new();
        for id in &self.blobs {
            let Some(blob) = draft.get::<Blob>(id).cloned() else { continue };
            if let Some(blob) = claim(draft, blob, &mut collection) {
                claimed.push(blob);
            }
        }
        draft.put(collection);
        Ok(Answer::BlobsClaimed(claimed))
    }
}

fn claim(draft: &mut Draft<'_>, mut blob: Blob, collection: &mut Collection) -> Option<Blob> {
    let candidate = blob.state.get() == blob::State::EligibleForGc && blob.unmarked_by == Some(collection.id);
    if !candidate {
        return None;
    }
    if blob.claimed_by.is_none() {
        if let Some(reason) = held_by(&blob, collection.epoch, draft.now) {
            revive(draft, &mut blob, reason);
            draft.put(blob);
            collection.kept += 1;
            return None;
        }
        dispossess(draft, &blob);
    }
    blob.claimed_by = Some(collection.id);
    blob.updated_at = draft.now;
    draft.put(blob.clone());
    Some(blob)
}

/// The bytes of these are gone.
#[derive(Debug, Clone)]
pub struct BlobsSwept {
    pub collection: CollectionId,
    pub holder: u64,
    pub blobs: Vec<BlobId>,
}

impl Decide for BlobsSwept {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Collection(self.collection));
        asks.extend(self.blobs.iter().copied().map(Ask::Blob));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut collection = running(draft, self.collection, self.holder)?;
        for id in &self.blobs {
            let Some(mut blob) = draft.get::<Blob>(id).cloned() else { continue };
            let ours =
                blob.claimed_by == Some(collection.id) && blob.state.get() == blob::State::EligibleForGc;
            if !ours {
                continue; // said twice
            }
            draft.advance(&mut blob, blob::Event::Sweep, "its bytes are gone");
            if blob.inline {
                draft.changes.appended.bytes_gone.push(blob.id); // in this commit, not before it
            }
            blob.updated_at = draft.now;
            collection.deleted += 1;
            collection.bytes += blob.length;
            draft.put(blob);
        }
        draft.put(collection.clone());
        Ok(Answer::CollectionIs { collection: Box::new(collection), existing: true })
    }
}
