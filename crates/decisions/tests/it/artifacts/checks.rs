//! What must hold in every world, and what must be left when everything has come to rest.

use std::collections::BTreeMap;

use decisions::Answer;
use decisions::collections::{
    BlobsSwept, ClaimBlobs, FinishCollection, MarkBlobs, StartCollection, TakeOverCollection,
};
use decisions::uploads::{UploadDue, UploadReaped};
use decisions::versions::{VersionDue, content_hash};
use machines::{upload, version};
use wire::CollectionId;

use crate::artifacts::world::{GRACE, RETENTION, World};

/// The invariants of `docs/invariants.md`, as far as one look at a world can tell.
pub fn check(world: &World) -> Result<(), String> {
    for version in world.versions.iter().filter(|version| !version.purged) {
        for entry in version.entries.iter() {
            let here = world.blobs.get(&entry.blob).is_some_and(|blob| blob.is_here());
            if !here || !world.placed.contains(&entry.blob) {
                return Err(format!("A1: {} refers to {}, which is not here", version.id, entry.blob));
            }
        }
        if version.content_hash.is_some_and(|hash| hash != content_hash(&version.entries)) {
            return Err(format!("A9: {} is not what was published", version.id));
        }
    }
    for blob in world.blobs.values() {
        let refs = world.versions.iter().filter(|it| !it.purged).flat_map(|it| it.entries.iter());
        let refs = refs.filter(|entry| entry.blob == blob.id).count() as u64;
        if refs != blob.refs {
            return Err(format!("A1: {} counts {} references, {refs} are there", blob.id, blob.refs));
        }
        if blob.is_here() && !world.placed.contains(&blob.id) {
            return Err(format!("A4: {} reads as here, and its bytes are gone", blob.id));
        }
        if let Some(claimed_by) = blob.claimed_by {
            let collection =
                world.collections.iter().find(|it| it.id == claimed_by).expect("it is on record");
            if collection.mark_completed_at.is_none() || blob.unmarked_by != Some(claimed_by) {
                return Err(format!("A2: {} was claimed before the mark was complete", blob.id));
            }
        }
        let promised = world.promises.get(&blob.id).is_some_and(|until| *until > world.now);
        if promised && !blob.is_here() {
            return Err(format!("A4: {} was promised, and is gone", blob.id));
        }
    }
    let mut by_digest = BTreeMap::new();
    for blob in world.blobs.values().filter(|blob| blob.is_here()) {
        if by_digest.insert(blob.digest, blob.id).is_some() {
            return Err(format!("A6: {} is here twice", blob.digest));
        }
    }
    if world.writes.values().chain(world.deletes.values()).any(|count| *count > 1) {
        return Err("A7: a key was written or deleted twice".into());
    }
    for deleted in world.deletes.keys() {
        let claimed = world.blobs.get(deleted).is_none_or(|blob| blob.claimed_by.is_some());
        if !claimed {
            return Err(format!("A2: the bytes of {deleted} went without a claim"));
        }
    }
    for (tenant, usage) in &world.usages {
        let held = world.possessions.iter().filter(|it| it.key.tenant == *tenant);
        let held = held.filter_map(|it| world.blobs.get(&it.blob)).filter(|blob| blob.is_here());
        let bytes: u64 = held.map(|blob| blob.length).sum();
        if bytes != usage.bytes {
            return Err(format!("A15: {tenant} has {bytes} bytes, {} are counted", usage.bytes));
        }
    }
    Ok(())
}

/// Whoever was at work is gone; time passes; uploads run out and are swept up after; a collection comes by.
pub fn come_to_rest(mut world: World) -> Result<World, String> {
    world.pass(RETENTION + GRACE * 20);
    for upload in world.uploads.keys().copied().collect::<Vec<_>>() {
        world.perform(UploadDue { upload }).map_err(|error| error.to_string())?;
    }
    for upload in world.uploads.values().cloned().collect::<Vec<_>>() {
        if upload.litter {
            world.staged.remove(&upload.id);
            if upload.got != Some(upload.blob) {
                world.delete_bytes(upload.blob);
            }
            world.perform(UploadReaped { upload: upload.id }).map_err(|error| error.to_string())?;
        }
    }
    for version in world.versions.iter().map(|it| it.id).collect::<Vec<_>>() {
        world.perform(VersionDue { version }).map_err(|error| error.to_string())?;
    }
    collect(&mut world)?; // goes on with one that was left, if there was one
    world.pass(GRACE);
    collect(&mut world)?;
    check(&world)?;
    Ok(world)
}

fn collect(world: &mut World) -> Result<(), String> {
    let (mut collection, holder) = (CollectionId::from_u128(1_000 + world.collections.len() as u128), 77);
    let started =
        world.perform(StartCollection { id: collection, holder }).map_err(|error| error.to_string())?;
    if let Answer::CollectionIs { collection: running, existing: true } = started {
        collection = running.id;
        world.perform(TakeOverCollection { collection, holder }).map_err(|error| error.to_string())?;
    }
    let page = |world: &World| world.unreferenced().iter().map(|blob| blob.id).collect::<Vec<_>>();
    let blobs = page(world);
    world.perform(MarkBlobs { collection, holder, blobs, last: true }).map_err(|error| error.to_string())?;
    let blobs = page(world);
    let claimed =
        world.perform(ClaimBlobs { collection, holder, blobs }).map_err(|error| error.to_string())?;
    let Answer::BlobsClaimed(claimed) = claimed else { return Err("no claims".into()) };
    claimed.iter().filter(|blob| !blob.inline).for_each(|blob| world.delete_bytes(blob.id));
    let blobs = claimed.iter().map(|blob| blob.id).collect();
    world.perform(BlobsSwept { collection, holder, blobs }).map_err(|error| error.to_string())?;
    world
        .perform(FinishCollection { collection, holder, failure: None })
        .map_err(|error| error.to_string())?;
    Ok(())
}

/// Nothing lost, nothing left over.
pub fn check_rested(world: &World) -> Result<(), String> {
    let kept = |blob| {
        world.versions.iter().any(|it| !it.purged && it.entries.iter().any(|entry| entry.blob == blob))
    };
    if let Some(leaked) = world.placed.iter().find(|blob| !kept(**blob)) {
        return Err(format!("A8: bytes of {leaked} are left, and nothing refers to them"));
    }
    if let Some(leaked) = world.staged.iter().next() {
        return Err(format!("A8: {leaked} has ended and left bytes behind"));
    }
    let open = world
        .uploads
        .values()
        .find(|it| !matches!(it.state.get(), upload::State::Committed | upload::State::Aborted));
    if let Some(open) = open {
        return Err(format!("A8: {} never ended", open.id));
    }
    let lost = world.versions.iter().find(|it| it.state.get() == version::State::Published && it.purged);
    lost.map_or(Ok(()), |it| Err(format!("A10: {} is published, and its bytes were let go", it.id)))
}
