//! The entries of versions and the artifacts of bundles: lists that belong to a record, in tables of their own.

use std::sync::{Arc, LazyLock};

use decisions::book::Shelf;
use decisions::records::{self, Artifact, Bundle, Entry};
use wire::BlobId;

use crate::StoreError;
use crate::postgres::inserts::{new, new_sorted};
use crate::postgres::round::{Param, Round};
use crate::postgres::rows::{Cells, Version, long, moment};
use crate::postgres::tables::{Kind, Table, Versioned, seen, selected};

/// A record with such a list.
pub trait Listed: Versioned {
    fn lists_same(&self, before: &Self) -> bool;
    /// The statements that put the lists of these records in place of those that are there.
    fn replace<'a>(records: &[&'a Self]) -> [(&'static str, Vec<Param<'a>>); 2];
}

const DELETE_ENTRIES: &str = "DELETE FROM version_entries WHERE version_id = ANY ($1::text[])";
const INSERT_ENTRIES: &str = "
    INSERT INTO version_entries (version_id, path, digest, length, blob_id)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[], $5::text[])";

/// As a draft, whatever it is: its entries come next, and then all else.
const INSERT_DRAFTS: &str = "
    INSERT INTO versions (id, tenant_id, package, version, created_at, updated_at, state, purged)
    SELECT u.*, u.created_at, 'draft', false
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
        AS u (id, tenant_id, package, version, created_at)";

const DELETE_ARTIFACTS: &str = "DELETE FROM bundle_artifacts WHERE exec_id = ANY ($1::text[])";
const INSERT_ARTIFACTS: &str = "
    INSERT INTO bundle_artifacts (exec_id, position, kind, path, digest, length, blob_id)
    SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::bytea[], $6::bigint[], $7::text[])";

impl Listed for records::Version {
    fn lists_same(&self, before: &Self) -> bool {
        Arc::ptr_eq(&self.entries, &before.entries) || self.entries == before.entries
    }

    fn replace<'a>(records: &[&'a Self]) -> [(&'static str, Vec<Param<'a>>); 2] {
        let ids: Vec<String> = records.iter().map(|version| version.id.to_string()).collect();
        [(DELETE_ENTRIES, vec![Box::new(ids)]), (INSERT_ENTRIES, entry_arrays(records))]
    }
}

impl Listed for Bundle {
    fn lists_same(&self, before: &Self) -> bool {
        Arc::ptr_eq(&self.artifacts, &before.artifacts) || self.artifacts == before.artifacts
    }

    fn replace<'a>(records: &[&'a Self]) -> [(&'static str, Vec<Param<'a>>); 2] {
        let ids: Vec<String> = records.iter().map(|bundle| bundle.execution.to_string()).collect();
        [(DELETE_ARTIFACTS, vec![Box::new(ids)]), (INSERT_ARTIFACTS, artifact_arrays(records))]
    }
}

pub fn insert_versions<'a>(round: &mut Round<'a>, shelf: &'a Shelf<records::Version>) {
    let new = new_sorted(shelf, |version| &version.name);
    if new.is_empty() {
        return;
    }
    let (ids, tenants): (Vec<String>, Vec<String>) =
        new.iter().map(|it| (it.id.to_string(), it.name.tenant.to_string())).unzip();
    let packages: Vec<&str> = new.iter().map(|it| it.name.package.as_str()).collect();
    let versions: Vec<&str> = new.iter().map(|it| it.name.version.as_str()).collect();
    let created: Vec<_> = new.iter().map(|it| moment(it.created_at)).collect();
    let params: Vec<Param<'a>> =
        vec![Box::new(ids), Box::new(tenants), Box::new(packages), Box::new(versions), Box::new(created)];
    round.push(INSERT_DRAFTS, params);
    if new.iter().any(|version| !version.entries.is_empty()) {
        round.push(INSERT_ENTRIES, entry_arrays(&new));
    }
    round.push(&records::Version::sql().fill, records::Version::arrays(&new, |kind| kind != Kind::Fixed));
}

pub fn insert_artifacts<'a>(round: &mut Round<'a>, shelf: &'a Shelf<Bundle>) {
    let new = new(shelf);
    if new.iter().any(|bundle| !bundle.artifacts.is_empty()) {
        round.push(INSERT_ARTIFACTS, artifact_arrays(&new));
    }
}

fn entry_arrays<'a>(versions: &[&'a records::Version]) -> Vec<Param<'a>> {
    let whose = versions.iter().flat_map(|it| std::iter::repeat_n(it.id.to_string(), it.entries.len()));
    let entries: Vec<&'a Entry> = versions.iter().flat_map(|version| version.entries.iter()).collect();
    vec![
        Box::new(whose.collect::<Vec<String>>()),
        Box::new(entries.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>()),
        Box::new(entries.iter().map(|entry| entry.digest.as_bytes().as_slice()).collect::<Vec<_>>()),
        Box::new(entries.iter().map(|entry| long(entry.length)).collect::<Vec<_>>()),
        Box::new(entries.iter().map(|entry| entry.blob.to_string()).collect::<Vec<_>>()),
    ]
}

fn artifact_arrays<'a>(bundles: &[&'a Bundle]) -> Vec<Param<'a>> {
    let whose =
        bundles.iter().flat_map(|it| std::iter::repeat_n(it.execution.to_string(), it.artifacts.len()));
    let places = bundles.iter().flat_map(|bundle| (0..).take(bundle.artifacts.len()));
    let artifacts: Vec<&'a Artifact> = bundles.iter().flat_map(|bundle| bundle.artifacts.iter()).collect();
    vec![
        Box::new(whose.collect::<Vec<String>>()),
        Box::new(places.collect::<Vec<i32>>()),
        Box::new(artifacts.iter().map(|artifact| artifact.kind.as_str()).collect::<Vec<_>>()),
        Box::new(artifacts.iter().map(|artifact| artifact.path.as_str()).collect::<Vec<_>>()),
        Box::new(artifacts.iter().map(|artifact| artifact.digest.as_bytes().as_slice()).collect::<Vec<_>>()),
        Box::new(artifacts.iter().map(|artifact| long(artifact.length)).collect::<Vec<_>>()),
        Box::new(artifacts.iter().map(|artifact| artifact.blob.to_string()).collect::<Vec<_>>()),
    ]
}

/// What [`version`] reads, of a table that the query calls `t`: the record with its list, of one moment.
pub static VERSION: LazyLock<String> = LazyLock::new(|| {
    let columns = selected::<records::Version>("t");
    format!(
        "SELECT {columns}, e.* FROM versions t CROSS JOIN LATERAL (
             SELECT coalesce(array_agg(path ORDER BY path), '{{}}'), coalesce(array_agg(digest ORDER BY path), '{{}}'),
                 coalesce(array_agg(length ORDER BY path), '{{}}'), coalesce(array_agg(blob_id ORDER BY path), '{{}}')
             FROM version_entries WHERE version_id = t.id) e"
    )
});

/// Likewise for [`bundle`].
pub static BUNDLE: LazyLock<String> = LazyLock::new(|| {
    let columns = selected::<Bundle>("t");
    format!(
        "SELECT {columns}, a.* FROM bundles t CROSS JOIN LATERAL (
             SELECT coalesce(array_agg(kind ORDER BY position), '{{}}'), coalesce(array_agg(path ORDER BY position), '{{}}'),
                 coalesce(array_agg(digest ORDER BY position), '{{}}'), coalesce(array_agg(length ORDER BY position), '{{}}'),
                 coalesce(array_agg(blob_id ORDER BY position), '{{}}')
             FROM bundle_artifacts WHERE exec_id = t.exec_id) a"
    )
});

pub fn version(cells: &mut Cells<'_>) -> Result<(Version, Arc<records::Version>), StoreError> {
    let (version, record): (_, Arc<records::Version>) = seen(cells)?;
    let (paths, digests): (Vec<String>, _) = (cells.raw()?, cells.digests()?);
    let (lengths, blobs): (Vec<i64>, Vec<BlobId>) = (cells.raw()?, cells.ids()?);
    let entries = paths.into_iter().zip(digests).zip(lengths.into_iter().zip(blobs));
    let entries = entries.map(|((path, digest), (length, blob))| {
        let length = length.unsigned_abs();
        Entry { path, digest, length, blob }
    });
    let entries = Arc::new(entries.collect());
    Ok((version, Arc::new(records::Version { entries, ..Arc::unwrap_or_clone(record) })))
}

pub fn bundle(cells: &mut Cells<'_>) -> Result<(Version, Arc<Bundle>), StoreError> {
    let (version, record): (_, Arc<Bundle>) = seen(cells)?;
    let (kinds, paths): (Vec<String>, Vec<String>) = (cells.raw()?, cells.raw()?);
    let (digests, lengths): (_, Vec<i64>) = (cells.digests()?, cells.raw()?);
    let blobs: Vec<BlobId> = cells.ids()?;
    let named = kinds.into_iter().zip(paths);
    let artifacts = named.zip(digests.into_iter().zip(lengths.into_iter().zip(blobs)));
    let artifacts = artifacts.map(|((kind, path), (digest, (length, blob)))| {
        let length = length.unsigned_abs();
        Artifact { kind, path, digest, length, blob }
    });
    let artifacts = Arc::new(artifacts.collect());
    Ok((version, Arc::new(Bundle { artifacts, ..Arc::unwrap_or_clone(record) })))
}
