//! Uploads, blobs, versions and the collector: what is asked of them, and what the databases' triggers hold.

use std::collections::BTreeSet;
use std::sync::Arc;

use decisions::Book;
use decisions::doctor::{BlobFile, UsageFile};
use decisions::records::{Blob, PossessionKey, Progress, Usage, Version, VersionName};
use machines::{blob, version};
use wire::{BlobId, CollectionId, Digest, ExecId, TenantId, Time, UploadId, VersionId};

use super::earliest;
use super::load::Loader;
use super::tables::Tables;
use crate::{ArtifactsDue, StoreError};

/// The asks.
impl Loader<'_> {
    pub fn upload(&mut self, id: UploadId) {
        let Some(upload) = self.tables.uploads.get(&id) else { return };
        self.tables.uploads.bring(&id, &mut self.book.uploads, &mut self.seen.uploads);
        self.tables.tenants.bring(&upload.tenant, &mut self.book.tenants, &mut self.seen.tenants);
        self.content(upload.tenant, upload.digest);
    }

    pub fn content(&mut self, tenant: TenantId, digest: Digest) {
        let key = PossessionKey { tenant, digest };
        if let Some(possession) = self.tables.possessions.get(&key) {
            self.tables.possessions.bring(&key, &mut self.book.possessions, &mut self.seen.possessions);
            self.blob(possession.blob);
        }
        if let Some(here) = self.tables.blob_here(digest) {
            self.book.blobs_here.insert(digest, here.id);
            self.blob(here.id);
        }
    }

    pub fn usage(&mut self, tenant: TenantId) {
        self.tables.usages.bring(&tenant, &mut self.book.usages, &mut self.seen.usages);
    }

    pub fn version_name(&mut self, name: &VersionName) {
        if let Some(version) = self.tables.version_named(name) {
            self.book.version_names.insert(name.clone(), version.id);
            self.version(version.id);
        }
    }

    pub fn version(&mut self, id: VersionId) {
        self.tables.versions.bring(&id, &mut self.book.versions, &mut self.seen.versions);
        let entries = self.tables.versions.get(&id).map(|version| version.entries.clone());
        entries.iter().flat_map(|entries| entries.iter()).for_each(|entry| self.blob(entry.blob));
    }

    pub fn blob(&mut self, id: BlobId) {
        self.tables.blobs.bring(&id, &mut self.book.blobs, &mut self.seen.blobs);
    }

    pub fn possessed(&mut self, id: BlobId) {
        if self.tables.blobs.get(&id).is_none() {
            return;
        }
        self.blob(id);
        let of_blob = self.tables.possessions.all().filter(|possession| possession.blob == id);
        let possessors: BTreeSet<TenantId> = of_blob.map(|possession| possession.key.tenant).collect();
        possessors.iter().for_each(|tenant| self.usage(*tenant));
        self.book.possessors.insert(id, possessors);
    }

    pub fn bundle(&mut self, id: ExecId) {
        self.tables.bundles.bring(&id, &mut self.book.bundles, &mut self.seen.bundles);
        let artifacts = self.tables.bundles.get(&id).map(|bundle| bundle.artifacts.clone());
        artifacts.iter().flat_map(|artifacts| artifacts.iter()).for_each(|it| self.blob(it.blob));
    }

    pub fn collector(&mut self) {
        self.tables.collector.bring(&(), &mut self.book.collector, &mut self.seen.collector);
        if let Some(running) = self.tables.collector.get(&()).and_then(|collector| collector.running) {
            self.collection(running);
        }
    }

    pub fn collection(&mut self, id: CollectionId) {
        self.tables.collections.bring(&id, &mut self.book.collections, &mut self.seen.collections);
    }
}

/// The questions.
impl Tables {
    fn blob_here(&self, digest: Digest) -> Option<&Blob> {
        self.blobs_here.get(&digest).and_then(|id| self.blobs.get(id))
    }

    pub fn blob_of(&self, tenant: TenantId, digest: Digest) -> Option<&Blob> {
        let possession = self.possessions.get(&PossessionKey { tenant, digest })?;
        self.blobs.get(&possession.blob).filter(|blob| blob.is_here())
    }

    pub fn possesses(&self, tenant: TenantId, blob: BlobId) -> bool {
        self.possessions.all().any(|it| it.key.tenant == tenant && it.blob == blob)
    }

    pub fn version_named(&self, name: &VersionName) -> Option<&Version> {
        self.version_names.get(name).and_then(|id| self.versions.get(id))
    }

    pub fn versions_of(
        &self,
        tenant: TenantId,
        package: Option<&str>,
        after: Option<VersionId>,
        limit: usize,
    ) -> Vec<Version> {
        let of_tenant = self.versions.all().filter(|version| version.name.tenant == tenant);
        let of_package = of_tenant.filter(|it| package.is_none_or(|package| it.name.package == package));
        of_package.filter(|it| after.is_none_or(|after| it.id > after)).take(limit).cloned().collect()
    }

    pub fn blobs_unreferenced(&self, after: Option<BlobId>, limit: usize) -> Vec<Blob> {
        let kept = self.blobs.all().filter(|blob| blob.refs == 0 && blob.state.get() != blob::State::Deleted);
        kept.filter(|blob| after.is_none_or(|after| blob.id > after)).take(limit).cloned().collect()
    }

    pub fn artifacts_due(&self, now: Time, limit: usize) -> ArtifactsDue {
        let uploads = self.uploads.all().filter(|it| it.is_open() && it.expires_at <= now);
        let withdrawn =
            self.versions.all().filter(|it| it.state.get() == version::State::Tombstoned && !it.purged);
        let versions = withdrawn.filter_map(|it| Some((it.retention_until?, it.id)));
        let kept = self.bundles.all().filter(|bundle| !bundle.dropped);
        let bundles = kept.filter_map(|it| Some((it.keep_until?, it.execution)));
        ArtifactsDue {
            uploads: earliest(uploads.map(|it| (it.expires_at, it.id)), limit),
            litter: self.uploads.all().filter(|it| it.litter).take(limit).cloned().collect(),
            versions: earliest(versions.filter(|(until, _)| *until <= now), limit),
            bundles: earliest(bundles.filter(|(until, _)| *until <= now), limit),
        }
    }

    pub fn usage_files_after(&self, after: Option<TenantId>, limit: usize) -> Vec<UsageFile> {
        let later = self.tenants.all().map(|it| it.id).filter(|id| after.is_none_or(|after| *id > after));
        later.take(limit).map(|id| self.usage_file(id)).collect()
    }

    fn usage_file(&self, tenant: TenantId) -> UsageFile {
        let usage = self.usages.get(&tenant).cloned().unwrap_or(Usage { tenant, bytes: 0, blobs: 0 });
        let possessed = self.possessions.all().filter(|possession| possession.key.tenant == tenant);
        let blobs = possessed.filter_map(|it| self.blobs.get(&it.blob)).filter(|blob| blob.is_here());
        let lengths: Vec<u64> = blobs.map(|blob| blob.length).collect();
        UsageFile { usage, bytes: lengths.iter().sum(), blobs: lengths.len() as u64 }
    }

    pub fn blob_files_after(&self, after: Option<BlobId>, limit: usize) -> Vec<BlobFile> {
        let later = self.blobs.all().filter(|blob| after.is_none_or(|after| blob.id > after));
        later.take(limit).map(|blob| self.blob_file(blob)).collect()
    }

    fn blob_file(&self, blob: &Blob) -> BlobFile {
        let versions = self.versions.all().filter(|version| !version.purged);
        let entries = versions.flat_map(|version| version.entries.iter()).filter(|it| it.blob == blob.id);
        let bundles = self.bundles.all().filter(|bundle| !bundle.dropped);
        let artifacts = bundles.flat_map(|bundle| bundle.artifacts.iter()).filter(|it| it.blob == blob.id);
        let caches = self.caches.all().filter(|cache| !cache.dropped && cache.blob == blob.id);
        let logs = self.logs.all().filter(|log| log.blob == Some(blob.id));
        BlobFile {
            refs: (entries.count() + artifacts.count() + caches.count() + logs.count()) as u64,
            inline_bytes: self.blob_bytes.get(&blob.id).map(|bytes| bytes.len() as u64),
            events: self.events_of(&blob.id.to_string()),
            blob: blob.clone(),
        }
    }
}

/// What unique indexes and triggers hold.
impl Tables {
    pub fn check_artifacts(&self, book: &Book) -> Result<(), StoreError> {
        let taken = |taken: bool, by: &str| if taken { Err(StoreError::Conflict(by.into())) } else { Ok(()) };
        let mut digests = BTreeSet::new();
        for (before, blob) in book.blobs.writes() {
            before.map_or(Ok(()), |before| may_become(before, blob))?;
            if blob.claimed_by.is_some() && blob.refs > 0 {
                return Err(StoreError::Violation("a claimed blob is referred to".into()));
            }
            let stored = self.blobs_here.get(&blob.digest).filter(|id| **id != blob.id);
            let stays = stored.is_some_and(|id| book.blobs.peek(id).is_none_or(Blob::is_here));
            taken(blob.is_here() && (stays || !digests.insert(blob.digest)), "blobs_digest")?;
        }
        let mut names = BTreeSet::new();
        for (before, version) in book.versions.writes() {
            before.map_or(Ok(()), |before| may_change(before, version))?;
            let stored = self.version_names.get(&version.name).is_some_and(|id| *id != version.id);
            taken(stored || !names.insert(&version.name), "versions_name")?;
        }
        self.check_collections(book)
    }

    fn check_collections(&self, book: &Book) -> Result<(), StoreError> {
        let stored = self.collections.all().filter(|it| !book.collections.has(&it.id));
        let running = stored.chain(book.collections.peek_all()).filter(|it| it.state == Progress::Running);
        let is_written = book.collections.writes().next().is_some();
        match running.count() {
            2.. if is_written => Err(StoreError::Conflict("collections_running".into())),
            _ => Ok(()),
        }
    }
}

fn may_become(before: &Blob, blob: &Blob) -> Result<(), StoreError> {
    let claimed = before.claimed_by.is_some();
    if claimed && (blob.claimed_by.is_none() || blob.refs > before.refs) {
        return Err(StoreError::Violation("a claimed blob stays claimed".into()));
    }
    if before.state.get() == blob::State::Deleted && before != blob {
        return Err(StoreError::Violation("a deleted blob does not change".into()));
    }
    Ok(())
}

fn may_change(before: &Version, version: &Version) -> Result<(), StoreError> {
    if before.state.get() == version::State::Draft {
        return Ok(());
    }
    let same_entries = Arc::ptr_eq(&before.entries, &version.entries) || before.entries == version.entries;
    let is_kept = version.state.get() != version::State::Draft
        && same_entries
        && before.name == version.name
        && before.content_hash == version.content_hash
        && before.published_at == version.published_at;
    if is_kept { Ok(()) } else { Err(StoreError::Violation("a published version does not change".into())) }
}
