//! What every command does that promises or ends the existence of bytes. A promise is kept for the policy's grace; a
//! reference for as long as it is there; and what a collection has claimed is promised to nobody.

use machines::blob;
use wire::{BlobId, Digest, TenantId, Time};

use crate::records::{Blob, Collector, Possession, PossessionKey, Usage};
use crate::{Ask, Draft};

/// What a promise of these bytes to this tenant must see.
pub fn asks_for(asks: &mut Vec<Ask>, tenant: TenantId, digest: Digest) {
    asks.extend([Ask::Content(tenant, digest), Ask::Usage(tenant), Ask::Collector]);
}

/// The tenant's own blob of this digest, if its bytes are here.
pub fn possessed(draft: &Draft<'_>, tenant: TenantId, digest: Digest) -> Option<Blob> {
    let possession: &Possession = draft.get(&PossessionKey { tenant, digest })?;
    draft.get::<Blob>(&possession.blob).filter(|blob| blob.is_here()).cloned()
}

/// The blob of this digest whose bytes are here, whoever brought it.
pub fn here(draft: &Draft<'_>, digest: Digest) -> Option<Blob> {
    let made = draft.changes.blobs.values().find(|blob| blob.digest == digest && blob.is_here());
    let id = made.map(|blob| blob.id).or_else(|| draft.book().blobs_here.get(&digest).copied())?;
    draft.get::<Blob>(&id).filter(|blob| blob.is_here()).cloned()
}

/// Somebody is told that the bytes are here: they stay for the grace, and a collection that is under way passes by.
pub fn promise(draft: &Draft<'_>, blob: &mut Blob) {
    let (now, grace) = (draft.now, draft.policy.blob_grace);
    blob.epoch = blob.epoch.max(epoch(draft));
    // Past half of its time only, so that what is asked for often is not written each time.
    if blob.barrier_until < now.plus(grace / 2) {
        blob.barrier_until = now.plus(grace);
    }
}

/// As [`promise`], and for a while that the caller chooses, if that is longer.
pub fn promise_until(draft: &Draft<'_>, blob: &mut Blob, until: Time) {
    promise(draft, blob);
    blob.barrier_until = blob.barrier_until.max(until);
}

/// A promise brings back what was on its way out.
pub fn revive(draft: &mut Draft<'_>, blob: &mut Blob, cause: &'static str) {
    match blob.state.get() {
        blob::State::Live => return,
        blob::State::Tombstoned => draft.advance(blob, blob::Event::Reference, cause),
        blob::State::EligibleForGc => draft.advance(blob, blob::Event::Mark, cause),
        blob::State::Deleted => unreachable!("what is gone is promised to nobody"),
    }
    blob.retention_until = None;
    blob.unmarked_by = None;
    blob.updated_at = draft.now;
}

/// One more reference that is kept. The blob must be here.
pub fn refer(draft: &mut Draft<'_>, id: BlobId, cause: &'static str) {
    let mut blob: Blob = draft.copy(&id);
    revive(draft, &mut blob, cause);
    promise(draft, &mut blob);
    blob.refs += 1;
    blob.updated_at = draft.now;
    draft.put(blob);
}

/// One less.
pub fn release(draft: &mut Draft<'_>, id: BlobId) {
    let mut blob: Blob = draft.copy(&id);
    blob.refs -= 1;
    blob.updated_at = draft.now;
    draft.put(blob);
}

/// The tenant has brought these bytes itself; counted once.
pub fn possess(draft: &mut Draft<'_>, tenant: TenantId, blob: &Blob) {
    let key = PossessionKey { tenant, digest: blob.digest };
    if draft.get::<Possession>(&key).is_some_and(|known| known.blob == blob.id) {
        return;
    }
    draft.put(Possession { key, blob: blob.id, created_at: draft.now });
    let mut usage = usage(draft, tenant);
    usage.bytes += blob.length;
    usage.blobs += 1;
    draft.put(usage);
}

/// The bytes are as good as gone: whoever had them has them no longer.
pub fn dispossess(draft: &mut Draft<'_>, blob: &Blob) {
    let tenants = draft.book().possessors.get(&blob.id).cloned().unwrap_or_default();
    for tenant in tenants {
        let key = PossessionKey { tenant, digest: blob.digest };
        if draft.get::<Possession>(&key).is_some_and(|it| it.blob != blob.id) {
            continue; // it has brought them anew
        }
        let mut usage = usage(draft, tenant);
        usage.bytes -= blob.length;
        usage.blobs -= 1;
        draft.put(usage);
    }
}

pub fn usage(draft: &Draft<'_>, tenant: TenantId) -> Usage {
    draft.get(&tenant).cloned().unwrap_or(Usage { tenant, bytes: 0, blobs: 0 })
}

fn epoch(draft: &Draft<'_>) -> i64 {
    draft.get::<Collector>(&()).map_or(0, |collector| collector.epoch)
}
