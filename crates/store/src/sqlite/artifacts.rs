//! Asks about artifacts, and what of them is due.
//!
//! Uploads, what they bring and the collector are seen through books on their way, so that many small ones share commits and
//! hold nobody up. The other asks are answered only when nothing is on its way.

use std::sync::Arc;

use decisions::records::{
    Blob, Cache, CacheName, Collection, Collector, PossessionKey, Upload, Usage, VersionName,
};
use rusqlite::Connection;
use wire::{BlobId, CollectionId, Digest, ExecId, TenantId, Time, UploadId, VersionId};

use crate::ArtifactsDue;
use crate::sqlite::load::{Loader, or_read};
use crate::sqlite::{blobs, bundles, caches, collections, rows, uploads, versions};

impl Loader<'_> {
    pub fn upload(&mut self, id: UploadId) -> rusqlite::Result<()> {
        let read = || uploads::upload(self.connection, id);
        let upload: Option<Arc<Upload>> = or_read(self.known.flying(&id), read)?;
        let Some(upload) = upload else { return Ok(()) };
        let (tenant, digest) = (upload.tenant, upload.digest);
        self.book.uploads.bring(upload);
        self.tenant(tenant)?;
        self.content(tenant, digest)
    }

    pub fn content(&mut self, tenant: TenantId, digest: Digest) -> rusqlite::Result<()> {
        let key = PossessionKey { tenant, digest };
        let read = || blobs::possession(self.connection, key);
        if !self.book.possessions.has(&key)
            && let Some(possession) = or_read(self.known.flying(&key), read)?
        {
            let blob = possession.blob;
            self.book.possessions.bring(possession);
            self.blob(blob)?;
        }
        self.blob_here(digest)
    }

    fn blob_here(&mut self, digest: Digest) -> rusqlite::Result<()> {
        let moves = self.moves.get_or_insert_with(|| self.known.blob_moves());
        let here = match moves.here.get(&digest) {
            Some(id) => Some(*id),
            // The file may or may not show that one on its way is gone.
            None => blobs::here(self.connection, digest)?.filter(|id| !moves.gone.contains(id)),
        };
        let Some(id) = here else { return Ok(()) };
        self.book.blobs_here.insert(digest, id);
        self.blob(id)
    }

    fn blob(&mut self, id: BlobId) -> rusqlite::Result<()> {
        let read = || blobs::blob(self.connection, id);
        if !self.book.blobs.has(&id)
            && let Some(blob) = or_read(self.known.flying::<Blob>(&id), read)?
        {
            self.book.blobs.bring(blob);
        }
        Ok(())
    }

    pub fn usage(&mut self, tenant: TenantId) -> rusqlite::Result<()> {
        let read = || blobs::usage(self.connection, tenant);
        if let Some(usage) = or_read(self.known.flying::<Usage>(&tenant), read)? {
            self.book.usages.bring(usage);
        }
        Ok(())
    }

    pub fn version_name(&mut self, name: &VersionName) -> rusqlite::Result<()> {
        let Some(id) = versions::id_named(self.connection, name)? else { return Ok(()) };
        self.book.version_names.insert(name.clone(), id);
        self.version(id)
    }

    pub fn version(&mut self, id: VersionId) -> rusqlite::Result<()> {
        let Some(version) = versions::version(self.connection, id)? else { return Ok(()) };
        version.entries.iter().try_for_each(|entry| self.blob(entry.blob))?;
        self.book.versions.bring(version);
        Ok(())
    }

    pub fn possessed(&mut self, id: BlobId) -> rusqlite::Result<()> {
        self.blob(id)?;
        if !self.book.blobs.has(&id) {
            return Ok(());
        }
        let possessors = blobs::possessors(self.connection, id)?;
        possessors.iter().try_for_each(|tenant| self.usage(*tenant))?;
        self.book.possessors.insert(id, possessors.into_iter().collect());
        Ok(())
    }

    pub fn bundle(&mut self, id: ExecId) -> rusqlite::Result<()> {
        let Some(bundle) = bundles::bundle(self.connection, id)? else { return Ok(()) };
        bundle.artifacts.iter().try_for_each(|artifact| self.blob(artifact.blob))?;
        self.book.bundles.bring(bundle);
        Ok(())
    }

    pub fn cache(&mut self, name: &CacheName) -> rusqlite::Result<()> {
        let read = || caches::cache_named(self.connection, name);
        if !self.book.caches.has(name)
            && let Some(cache) = or_read(self.known.flying::<Cache>(name), read)?
        {
            let blob = cache.blob;
            self.book.caches.bring(cache);
            self.blob(blob)?;
        }
        Ok(())
    }

    /// With the collection that it says is running.
    pub fn collector(&mut self) -> rusqlite::Result<()> {
        let read = || collections::collector(self.connection);
        let Some(collector) = or_read(self.known.flying::<Collector>(&()), read)? else { return Ok(()) };
        let running = collector.running;
        self.book.collector.bring(collector);
        running.map_or(Ok(()), |id| self.collection(id))
    }

    pub fn collection(&mut self, id: CollectionId) -> rusqlite::Result<()> {
        let read = || collections::collection(self.connection, id);
        if let Some(collection) = or_read(self.known.flying::<Collection>(&id), read)? {
            self.book.collections.bring(collection);
        }
        Ok(())
    }
}

pub const UPLOADS_DUE: &str = "SELECT id FROM uploads \
     WHERE state <> 'committed' AND state <> 'aborted' AND expires_at <= ?1 ORDER BY expires_at, id LIMIT ?2";
pub const VERSIONS_DUE: &str = "SELECT id FROM versions \
     WHERE state = 'tombstoned' AND NOT purged AND retention_until <= ?1 ORDER BY retention_until, id LIMIT ?2";
pub const BUNDLES_DUE: &str = "SELECT exec_id FROM bundles \
     WHERE NOT dropped AND keep_until IS NOT NULL AND keep_until <= ?1 ORDER BY keep_until, exec_id LIMIT ?2";

pub fn due(connection: &Connection, now: Time, limit: usize) -> rusqlite::Result<ArtifactsDue> {
    let (now, limit) = (now.as_micros(), i64::try_from(limit).unwrap_or(i64::MAX));
    Ok(ArtifactsDue {
        uploads: rows::all(connection, UPLOADS_DUE, (now, limit), rows::read_id)?,
        litter: uploads::litter(connection, limit)?,
        versions: rows::all(connection, VERSIONS_DUE, (now, limit), rows::read_id)?,
        bundles: rows::all(connection, BUNDLES_DUE, (now, limit), rows::read_id)?,
    })
}
