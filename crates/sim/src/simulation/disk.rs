//! Where bytes are: under an upload's own name, then under a blob's key, which is written once and deleted once. Survives
//! every crash.

use std::collections::{BTreeMap, BTreeSet};

use wire::{BlobId, Digest, UploadId};

#[derive(Debug, Default)]
pub struct Disk {
    staged: BTreeMap<UploadId, Digest>,
    placed: BTreeMap<BlobId, Digest>,
    deleted: BTreeSet<BlobId>,
    /// Keys that were written after they had been deleted.
    pub reused: Vec<BlobId>,
}

impl Disk {
    pub fn stage(&mut self, upload: UploadId, bytes: Digest) {
        self.staged.insert(upload, bytes);
    }

    /// Renames without replacing what has the key's digest, nothing else; done before is as good. False when there is nothing
    /// to place.
    pub fn place(&mut self, upload: UploadId, (blob, digest): (BlobId, Digest)) -> bool {
        match self.staged.get(&upload).copied() {
            Some(bytes) if bytes == digest => {
                self.staged.remove(&upload);
                if self.deleted.contains(&blob) {
                    self.reused.push(blob);
                }
                self.placed.entry(blob).or_insert(bytes);
                true
            }
            Some(_) | None => self.placed.contains_key(&blob),
        }
    }

    pub fn unstage(&mut self, upload: UploadId) {
        self.staged.remove(&upload);
    }

    pub fn delete(&mut self, blob: BlobId) {
        if self.placed.remove(&blob).is_some() {
            self.deleted.insert(blob);
        }
    }

    pub fn holds(&self, blob: BlobId, bytes: Digest) -> bool {
        self.placed.get(&blob) == Some(&bytes)
    }

    pub fn staged(&self) -> impl Iterator<Item = UploadId> {
        self.staged.keys().copied()
    }

    pub fn placed(&self) -> impl Iterator<Item = BlobId> {
        self.placed.keys().copied()
    }
}
