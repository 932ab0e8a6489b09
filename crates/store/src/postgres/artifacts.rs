//! Asks about artifacts: their statements, and what becomes of each row.

use std::mem::take;
use std::sync::{Arc, LazyLock};

use decisions::records::{self, Blob, Bundle, Cache, Collection, Collector, Possession, Upload, Usage};
use wire::{BlobId, TenantId};

use crate::StoreError;
use crate::postgres::entries;
use crate::postgres::filling::{Filling, Needs};
use crate::postgres::load::{Question, ask, texts};
use crate::postgres::questions::{TENANTS_BY_ID, by};
use crate::postgres::round::Param;
use crate::postgres::rows::{Cells, Version};
use crate::postgres::tables::{seen, selected};

static UPLOADS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Upload>("id", "text"));
static BLOBS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Blob>("id", "text"));
static USAGES_BY_TENANT: LazyLock<String> = LazyLock::new(|| by::<Usage>("tenant_id", "text"));
static COLLECTIONS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Collection>("id", "text"));
static COLLECTOR: LazyLock<String> = LazyLock::new(|| by::<Collector>("one", "boolean"));
static COLLECTION_RUNNING: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM collections t WHERE t.id = ANY (ARRAY (
             SELECT running FROM collector WHERE one = ANY ($1::boolean[])))",
        selected::<Collection>("t")
    )
});

/// With the blobs that they name.
static POSSESSIONS_BY_KEY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT p.*, b.* FROM unnest($1::text[], $2::bytea[]) AS u (tenant_id, digest)
         CROSS JOIN LATERAL (
             SELECT {} FROM possessions t WHERE t.tenant_id = u.tenant_id AND t.digest = u.digest OFFSET 0) p
         CROSS JOIN LATERAL (SELECT {} FROM blobs t WHERE t.id = p.blob_id OFFSET 0) b",
        selected::<Possession>("t"),
        selected::<Blob>("t"),
    )
});
static BLOBS_HERE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT x.* FROM unnest($1::bytea[]) AS u (digest) CROSS JOIN LATERAL (
             SELECT {} FROM blobs t
             WHERE t.digest = u.digest AND t.claimed_by IS NULL AND t.state <> 'deleted' OFFSET 0) x",
        selected::<Blob>("t"),
    )
});
const POSSESSORS: &str = "SELECT blob_id, tenant_id FROM possessions WHERE blob_id = ANY ($1::text[])";
static USAGES_OF_POSSESSORS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM usages t WHERE t.tenant_id = ANY (ARRAY (
             SELECT tenant_id FROM possessions WHERE blob_id = ANY ($1::text[])))",
        selected::<Usage>("t")
    )
});

static VERSIONS_BY_ID: LazyLock<String> =
    LazyLock::new(|| format!("{} WHERE t.id = ANY ($1::text[])", *entries::VERSION));
static VERSIONS_BY_NAME: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT x.* FROM unnest($1::text[], $2::text[], $3::text[]) AS u (tenant_id, package, name)
         CROSS JOIN LATERAL (
             {} WHERE t.tenant_id = u.tenant_id AND t.package = u.package AND t.version = u.name OFFSET 0) x",
        *entries::VERSION
    )
});
static BUNDLES_BY_ID: LazyLock<String> =
    LazyLock::new(|| format!("{} WHERE t.exec_id = ANY ($1::text[])", *entries::BUNDLE));

static CACHES_BY_NAME: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT x.* FROM unnest($1::text[], $2::text[], $3::text[]) AS u (tenant_id, trust, key)
         CROSS JOIN LATERAL (
             SELECT {} FROM caches t
             WHERE t.tenant_id = u.tenant_id AND t.trust = u.trust AND t.key = u.key OFFSET 0) x",
        selected::<Cache>("t")
    )
});

/// Everything about artifacts that is needed, as far as is known; it is no longer needed afterwards.
pub fn questions(asked: &mut Vec<Question>, needs: &mut Needs) {
    let (tenants, digests): (Vec<String>, Vec<Vec<u8>>) = take(&mut needs.contents)
        .into_iter()
        .map(|(tenant, digest)| (tenant.to_string(), digest.as_bytes().to_vec()))
        .unzip();
    ask!(asked, &BLOBS_HERE, blob_here, digests.clone());
    ask!(asked, &POSSESSIONS_BY_KEY, possession, tenants, digests);
    ask!(asked, &UPLOADS_BY_ID, upload, texts(take(&mut needs.uploads)));
    ask!(asked, &TENANTS_BY_ID, tenant, texts(take(&mut needs.tenants)));
    ask!(asked, &BLOBS_BY_ID, blob, texts(take(&mut needs.blobs)));
    what_is_named(asked, needs);
}

fn what_is_named(asked: &mut Vec<Question>, needs: &mut Needs) {
    let wanted = &mut needs.wanted;
    let names = take(&mut wanted.version_names);
    let name_tenants = texts(names.iter().map(|name| name.tenant));
    let (packages, versions): (Vec<String>, Vec<String>) =
        names.into_iter().map(|name| (name.package, name.version)).unzip();
    ask!(asked, &VERSIONS_BY_NAME, version_name, name_tenants, packages, versions);
    ask!(asked, &VERSIONS_BY_ID, version, texts(take(&mut wanted.versions)));
    ask!(asked, &USAGES_BY_TENANT, usage, texts(take(&mut wanted.usages)));
    ask!(asked, &BLOBS_BY_ID, possessed, texts(wanted.blobs.iter()));
    ask!(asked, POSSESSORS, possessor, texts(wanted.blobs.iter()));
    ask!(asked, &USAGES_OF_POSSESSORS, usage, texts(take(&mut wanted.blobs)));
    ask!(asked, &BUNDLES_BY_ID, bundle, texts(take(&mut wanted.bundles)));
    let caches = take(&mut wanted.caches);
    let cache_tenants = texts(caches.iter().map(|name| name.tenant));
    let trusts: Vec<String> = caches.iter().map(|name| name.trust.as_str().into()).collect();
    let keys: Vec<String> = caches.into_iter().map(|name| name.key).collect();
    ask!(asked, &CACHES_BY_NAME, cache, cache_tenants, trusts, keys);
    let one = if take(&mut wanted.collector) { vec![true] } else { vec![] };
    ask!(asked, &COLLECTOR, collector, one.clone());
    ask!(asked, &COLLECTION_RUNNING, collection, one);
    ask!(asked, &COLLECTIONS_BY_ID, collection, texts(take(&mut wanted.collections)));
}

/// One method per question: it takes a row of the answer.
impl Filling {
    pub fn bring_upload(&mut self, (version, upload): (Version, Arc<Upload>)) {
        self.may_be_told(upload.tenant);
        self.needs.contents.insert((upload.tenant, upload.digest));
        if !self.book.tenants.has(&upload.tenant) {
            self.needs.tenants.insert(upload.tenant);
        }
        self.versions.bring(&mut self.book, (version, upload));
    }

    pub fn upload(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.bring_upload(seen(cells)?);
        Ok(())
    }

    pub fn possession(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.versions.bring::<Possession>(&mut self.book, seen(cells)?);
        self.blob(cells)
    }

    pub fn blob_here(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, blob): (_, Arc<Blob>) = seen(cells)?;
        self.book.blobs_here.insert(blob.digest, blob.id);
        self.versions.bring(&mut self.book, (version, blob));
        Ok(())
    }

    pub fn blob(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.versions.bring::<Blob>(&mut self.book, seen(cells)?);
        Ok(())
    }

    pub fn possessed(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, blob): (_, Arc<Blob>) = seen(cells)?;
        self.book.possessors.entry(blob.id).or_default();
        self.versions.bring(&mut self.book, (version, blob));
        Ok(())
    }

    pub fn possessor(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (blob, tenant): (BlobId, TenantId) = (cells.next()?, cells.next()?);
        self.book.possessors.entry(blob).or_default().insert(tenant);
        Ok(())
    }

    pub fn usage(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.versions.bring::<Usage>(&mut self.book, seen(cells)?);
        Ok(())
    }

    pub fn version_name(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, record) = entries::version(cells)?;
        self.book.version_names.insert(record.name.clone(), record.id);
        self.bring_version((version, record));
        Ok(())
    }

    pub fn version(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.bring_version(entries::version(cells)?);
        Ok(())
    }

    fn bring_version(&mut self, (version, record): (Version, Arc<records::Version>)) {
        self.may_be_told(record.name.tenant);
        record.entries.iter().for_each(|entry| self.need_blob(entry.blob));
        self.versions.bring(&mut self.book, (version, record));
    }

    pub fn bundle(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, bundle): (_, Arc<Bundle>) = entries::bundle(cells)?;
        bundle.artifacts.iter().for_each(|artifact| self.need_blob(artifact.blob));
        self.versions.bring(&mut self.book, (version, bundle));
        Ok(())
    }

    pub fn cache(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        let (version, cache): (_, Arc<Cache>) = seen(cells)?;
        self.need_blob(cache.blob);
        self.versions.bring(&mut self.book, (version, cache));
        Ok(())
    }

    fn need_blob(&mut self, id: BlobId) {
        if !self.book.blobs.has(&id) {
            self.needs.blobs.insert(id);
        }
    }

    pub fn collector(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.versions.bring::<Collector>(&mut self.book, seen(cells)?);
        Ok(())
    }

    pub fn collection(&mut self, cells: &mut Cells<'_>) -> Result<(), StoreError> {
        self.versions.bring::<Collection>(&mut self.book, seen(cells)?);
        Ok(())
    }
}
