//! Uploads, blobs, versions, bundles and collections, and the bytes behind them.

use std::collections::BTreeSet;

use decisions::records::{Blob, Version};
use machines::{blob, upload, version};
use wire::{BlobId, Time};

use super::mirror::{Watch, Written};
use crate::simulation::disk::Disk;
use crate::simulation::rules;

impl Watch {
    pub(super) fn before_bytes(&mut self, written: &Written, now: Time, disk: &Disk) {
        let mut broken = Vec::new();
        for after in &written.blobs {
            match self.blobs.get(&after.id) {
                None if !disk.holds(after.id, after.digest) => {
                    broken.push((rules::PUBLISHED, format!("{} is on record without its bytes", after.id)));
                }
                None => {}
                Some(before) => broken.extend(self.blob_moved(before, after, now)),
            }
        }
        for after in &written.uploads {
            let ended = self.uploads.get(&after.id).filter(|it| !it.is_open());
            if ended.is_some_and(|before| before.state != after.state || before.got != after.got) {
                broken.push((rules::FINAL, format!("{} had ended", after.id)));
            }
        }
        for after in &written.versions {
            let before = self.versions.get(&after.id).filter(|it| it.published_at.is_some());
            if before.is_some_and(|before| before.entries != after.entries || before.name != after.name) {
                broken.push((rules::PUBLISHED, format!("{} changed", after.id)));
            }
        }
        broken.into_iter().for_each(|(rule, what)| self.broke(rule, what));
        let half = self.policy.blob_grace / 2;
        for upload in written.uploads.iter().filter(|it| it.state.get() == upload::State::Committed) {
            let known = self.uploads.get(&upload.id).is_some_and(|it| !it.is_open());
            if let (Some(blob), false) = (upload.got, known) {
                let until = self.promises.entry(blob).or_insert(now);
                *until = (*until).max(now.plus(half));
            }
        }
    }

    fn blob_moved(&self, before: &Blob, after: &Blob, now: Time) -> Option<(&'static str, String)> {
        let id = after.id;
        if before.state.get() == blob::State::Deleted && *before != *after {
            return Some((rules::FINAL, format!("{id} was deleted")));
        }
        let claimed = after.claimed_by.filter(|_| before.claimed_by.is_none());
        let Some(claimed_by) = claimed else {
            let freed = before.claimed_by.is_some() && after.claimed_by.is_none();
            return freed.then(|| (rules::FINAL, format!("{id} was claimed")));
        };
        let marked = self.collections.get(&claimed_by).is_some_and(|it| it.mark_completed_at.is_some());
        if !marked || before.unmarked_by != Some(claimed_by) {
            return Some((rules::MARKED, format!("{id} is claimed by {claimed_by}")));
        }
        let promised = self.promises.get(&id).is_some_and(|until| *until > now);
        (before.refs > 0 || promised).then(|| (rules::REACHABLE, format!("{id} is claimed and held")))
    }

    pub(super) fn after_bytes(&mut self, written: &Written, disk: &Disk) {
        let entries = written.versions.iter().flat_map(|it| it.entries.iter()).map(|entry| entry.blob);
        let artifacts = written.bundles.iter().flat_map(|it| it.artifacts.iter()).map(|it| it.blob);
        let touched: BTreeSet<BlobId> =
            written.blobs.iter().map(|it| it.id).chain(entries).chain(artifacts).collect();
        let mut broken = Vec::new();
        for id in touched {
            let Some(blob) = self.blobs.get(&id) else { continue };
            let refs = self.refs_of(id);
            if blob.refs != refs {
                broken.push((rules::COUNTED, format!("{id} counts {}, {refs} are there", blob.refs)));
            }
            if refs > 0 && !blob.is_here() {
                broken.push((rules::REACHABLE, format!("{id} is referred to and claimed")));
            }
        }
        let published = written.versions.iter().filter(|it| it.state.get() == version::State::Published);
        for version in published {
            broken.extend(self.missing_of(version, disk));
        }
        broken.into_iter().for_each(|(rule, what)| self.broke(rule, what));
    }

    pub fn missing_of(&self, version: &Version, disk: &Disk) -> Option<(&'static str, String)> {
        let here = |id: &BlobId| self.blobs.get(id).is_some_and(|blob| blob.is_here());
        let lacks = version.entries.iter().find(|it| !here(&it.blob) || !disk.holds(it.blob, it.digest))?;
        Some((rules::PUBLISHED, format!("{} lacks {}", version.id, lacks.blob)))
    }

    fn refs_of(&self, id: BlobId) -> u64 {
        let versions = self.versions.values().filter(|it| !it.purged).flat_map(|it| it.entries.iter());
        let bundles = self.bundles.values().filter(|it| !it.dropped).flat_map(|it| it.artifacts.iter());
        let entries = versions.filter(|it| it.blob == id).count();
        (entries + bundles.filter(|it| it.blob == id).count()) as u64
    }

    /// Its bytes must not go now.
    pub fn is_held(&self, id: BlobId, now: Time) -> bool {
        let promised = self.promises.get(&id).is_some_and(|until| *until > now);
        self.blobs.get(&id).is_some_and(|blob| blob.is_here() || promised)
    }
}
