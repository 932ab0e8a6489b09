//! What the store and the disk hold.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use decisions::book::Kept;
use decisions::changed::Changed;
use decisions::records::{Blob, Collection, Collector, Possession, Tenant, Upload, Usage, Version};
use decisions::tenants::EnsureTenant;
use decisions::{Answer, Book, Command, Policy, Refusal, decide};
use wire::{BlobId, Digest, TenantId, Time, UploadId};

pub const GRACE: Duration = Duration::from_secs(100);
pub const RETENTION: Duration = Duration::from_secs(150);
const UPLOAD_TTL: Duration = Duration::from_secs(1_000);

#[derive(Clone, Debug)]
pub struct World {
    pub now: Time,
    pub tenants: BTreeMap<TenantId, Tenant>,
    pub uploads: BTreeMap<UploadId, Upload>,
    pub blobs: BTreeMap<BlobId, Blob>,
    pub possessions: Vec<Possession>,
    pub usages: BTreeMap<TenantId, Usage>,
    pub versions: Vec<Version>,
    pub collections: Vec<Collection>,
    pub collector: Option<Collector>,
    /// Bytes under an upload's own name.
    pub staged: BTreeSet<UploadId>,
    /// Bytes under a blob's key, or among the records.
    pub placed: BTreeSet<BlobId>,
    /// How often bytes were written to a key, and deleted from it.
    pub writes: BTreeMap<BlobId, u32>,
    pub deletes: BTreeMap<BlobId, u32>,
    /// Who was told that bytes are here, and until when that holds.
    pub promises: BTreeMap<BlobId, Time>,
}

pub fn policy() -> Policy {
    Policy {
        blob_grace: GRACE,
        upload_ttl: UPLOAD_TTL,
        collection_hold: Duration::from_secs(1),
        ..Policy::default()
    }
}

pub fn tenant(number: u128) -> TenantId {
    TenantId::from_u128(number)
}

pub fn digest(number: u8) -> Digest {
    Digest::from_bytes([number; 32])
}

impl World {
    pub fn begin() -> World {
        let mut world = World {
            now: Time::from_seconds(1_767_513_600),
            tenants: BTreeMap::new(),
            uploads: BTreeMap::new(),
            blobs: BTreeMap::new(),
            possessions: Vec::new(),
            usages: BTreeMap::new(),
            versions: Vec::new(),
            collections: Vec::new(),
            collector: None,
            staged: BTreeSet::new(),
            placed: BTreeSet::new(),
            writes: BTreeMap::new(),
            deletes: BTreeMap::new(),
            promises: BTreeMap::new(),
        };
        for number in [1, 2] {
            let ensure = EnsureTenant { id: tenant(number), name: format!("tenant-{number}") };
            world.perform(ensure).expect("tenants can be made");
        }
        world
    }

    /// One command, decided and written at once: what a store makes of it.
    pub fn perform(&mut self, command: impl Into<Command>) -> Result<Answer, Refusal> {
        let decision = decide(&self.book(), &command.into(), self.now, &policy())?;
        let changes = decision.changes;
        self.tenants.extend(changes.tenants);
        self.uploads.extend(changes.uploads);
        self.blobs.extend(changes.blobs);
        self.usages.extend(changes.usages);
        replace(&mut self.possessions, changes.possessions);
        replace(&mut self.versions, changes.versions);
        replace(&mut self.collections, changes.collections);
        self.collector = changes.collector.into_iter().next().map(|(_, it)| it).or(self.collector.take());
        changes.appended.blob_bytes.iter().for_each(|it| self.write_bytes(it.blob));
        changes.appended.bytes_gone.iter().for_each(|blob| self.delete_bytes(*blob));
        Ok(decision.answer)
    }

    fn book(&self) -> Book {
        let mut book = Book::default();
        for tenant in self.tenants.values() {
            book.tenant_names.insert(tenant.name.clone(), tenant.id);
            book.tenants.bring(tenant.clone());
        }
        self.uploads.values().for_each(|it| book.uploads.bring(it.clone()));
        for blob in self.blobs.values() {
            if blob.is_here() {
                book.blobs_here.insert(blob.digest, blob.id);
            }
            book.blobs.bring(blob.clone());
        }
        for possession in &self.possessions {
            book.possessors.entry(possession.blob).or_default().insert(possession.key.tenant);
            book.possessions.bring(possession.clone());
        }
        self.usages.values().for_each(|it| book.usages.bring(it.clone()));
        for version in &self.versions {
            book.version_names.insert(version.name.clone(), version.id);
            book.versions.bring(version.clone());
        }
        self.collections.iter().for_each(|it| book.collections.bring(it.clone()));
        self.collector.iter().for_each(|it| book.collector.bring(it.clone()));
        book
    }

    /// What the collector's question returns.
    pub fn unreferenced(&self) -> Vec<Blob> {
        let gone = machines::blob::State::Deleted;
        self.blobs.values().filter(|it| it.refs == 0 && it.state.get() != gone).cloned().collect()
    }

    pub fn write_bytes(&mut self, blob: BlobId) {
        if self.placed.insert(blob) {
            *self.writes.entry(blob).or_default() += 1;
        }
    }

    pub fn delete_bytes(&mut self, blob: BlobId) {
        if self.placed.remove(&blob) {
            *self.deletes.entry(blob).or_default() += 1;
        }
    }

    pub fn promise(&mut self, blob: BlobId) {
        self.promises.insert(blob, self.now.plus(GRACE / 2));
    }

    pub fn pass(&mut self, time: Duration) {
        self.now = self.now.plus(time);
    }
}

fn replace<R: Kept>(records: &mut Vec<R>, changed: Changed<R>) {
    for (_, record) in changed {
        match records.iter_mut().find(|it| it.key() == record.key()) {
            Some(known) => *known = record,
            None => records.push(record),
        }
    }
}
