//! What the records of artifacts look like in their tables. The lists of versions and bundles have tables of their own.

use std::sync::{Arc, LazyLock};

use decisions::records::{
    self, Blob, Bundle, Cache, CacheName, Collection, Collector, Measured, Possession, PossessionKey, Upload,
    Usage, VersionName,
};
use machines::Machine;
use serde_json::to_string;
use wire::Digest;

use crate::StoreError;
use crate::postgres::round::Param;
use crate::postgres::rows::{Cells, id, long, moment};
use crate::postgres::tables::{Column, Kind, Sql, Table, table};

table!(Upload, "uploads", |it| {
    Key id: "text" = id(it.id);
    Fixed tenant_id: "text" = id(it.tenant);
    Fixed digest: "bytea" = it.digest.as_bytes().as_slice();
    Fixed length: "bigint" = long(it.length);
    Fixed blob_id: "text" = id(it.blob);
    Moving state: "text" = it.state.get().as_str();
    Moving parts: "text" = to_string(&it.parts).expect("numbers are JSON");
    Moving etags: "text" = to_string(&it.etags).expect("texts are JSON");
    Moving multipart: "text" = it.multipart.as_deref();
    Moving measured_digest: "bytea" = it.measured.as_ref().map(|measured| measured.digest.as_bytes().as_slice());
    Moving measured_length: "bigint" = it.measured.map(|measured| long(measured.length));
    Moving got: "text" = it.got.map(id);
    Moving exec_id: "text" = it.execution.map(id);
    Moving expires_at: "timestamptz" = moment(it.expires_at);
    Moving litter: "boolean" = it.litter;
    Fixed created_at: "timestamptz" = moment(it.created_at);
    Moving updated_at: "timestamptz" = moment(it.updated_at);
} |cells| Ok(Upload {
    id: cells.next()?,
    tenant: cells.next()?,
    digest: cells.next()?,
    length: cells.next()?,
    blob: cells.next()?,
    state: cells.next()?,
    parts: cells.next()?,
    etags: cells.next()?,
    multipart: cells.next()?,
    measured: read_measured(cells)?,
    got: cells.next()?,
    execution: cells.next()?,
    expires_at: cells.next()?,
    litter: cells.next()?,
    created_at: cells.next()?,
    updated_at: cells.next()?,
}));

table!(Blob, "blobs", |it| {
    Key id: "text" = id(it.id);
    Fixed digest: "bytea" = it.digest.as_bytes().as_slice();
    Fixed length: "bigint" = long(it.length);
    Moving state: "text" = it.state.get().as_str();
    Moving refs: "bigint" = long(it.refs);
    Moving barrier_until: "timestamptz" = moment(it.barrier_until);
    Moving epoch: "bigint" = it.epoch;
    Moving retention_until: "timestamptz" = it.retention_until.map(moment);
    Moving unmarked_by: "text" = it.unmarked_by.map(id);
    Moving claimed_by: "text" = it.claimed_by.map(id);
    Fixed created_at: "timestamptz" = moment(it.created_at);
    Moving updated_at: "timestamptz" = moment(it.updated_at);
    Fixed inline: "boolean" = it.inline;
} |cells| Ok(Blob {
    id: cells.next()?,
    digest: cells.next()?,
    length: cells.next()?,
    state: cells.next()?,
    refs: cells.next()?,
    barrier_until: cells.next()?,
    epoch: cells.next()?,
    retention_until: cells.next()?,
    unmarked_by: cells.next()?,
    claimed_by: cells.next()?,
    created_at: cells.next()?,
    updated_at: cells.next()?,
    inline: cells.next()?,
}));

table!(Possession, "possessions", |it| {
    Key tenant_id: "text" = id(it.key.tenant);
    Key digest: "bytea" = it.key.digest.as_bytes().as_slice();
    Moving blob_id: "text" = id(it.blob);
    Moving created_at: "timestamptz" = moment(it.created_at);
} |cells| Ok(Possession {
    key: PossessionKey { tenant: cells.next()?, digest: cells.next()? },
    blob: cells.next()?,
    created_at: cells.next()?,
}));

table!(Usage, "usages", |it| {
    Key tenant_id: "text" = id(it.tenant);
    Moving bytes: "bigint" = long(it.bytes);
    Moving blobs: "bigint" = long(it.blobs);
} |cells| Ok(Usage {
    tenant: cells.next()?,
    bytes: cells.next()?,
    blobs: cells.next()?,
}));

table!(records::Version, "versions", |it| {
    Key id: "text" = id(it.id);
    Fixed tenant_id: "text" = id(it.name.tenant);
    Fixed package: "text" = it.name.package.as_str();
    Fixed version: "text" = it.name.version.as_str();
    Moving state: "text" = it.state.get().as_str();
    Moving quarantine: "text" = it.quarantine.as_deref();
    Moving content_hash: "bytea" = it.content_hash.as_ref().map(|hash| hash.as_bytes().as_slice());
    Moving exec_id: "text" = it.execution.map(id);
    Moving retention_until: "timestamptz" = it.retention_until.map(moment);
    Moving purged: "boolean" = it.purged;
    Fixed created_at: "timestamptz" = moment(it.created_at);
    Moving updated_at: "timestamptz" = moment(it.updated_at);
    Moving published_at: "timestamptz" = it.published_at.map(moment);
} |cells| Ok(records::Version {
    id: cells.next()?,
    name: VersionName { tenant: cells.next()?, package: cells.next()?, version: cells.next()? },
    state: cells.next()?,
    quarantine: cells.next()?,
    entries: Arc::default(), // from their own table
    content_hash: cells.next()?,
    execution: cells.next()?,
    retention_until: cells.next()?,
    purged: cells.next()?,
    created_at: cells.next()?,
    updated_at: cells.next()?,
    published_at: cells.next()?,
}));

table!(Bundle, "bundles", |it| {
    Key exec_id: "text" = id(it.execution);
    Fixed job_id: "text" = id(it.job);
    Fixed tenant_id: "text" = id(it.tenant);
    Moving tests: "text" = it.tests.as_deref();
    Moving keep_until: "timestamptz" = it.keep_until.map(moment);
    Moving dropped: "boolean" = it.dropped;
    Fixed created_at: "timestamptz" = moment(it.created_at);
} |cells| Ok(Bundle {
    execution: cells.next()?,
    job: cells.next()?,
    tenant: cells.next()?,
    artifacts: Arc::default(), // from their own table
    tests: cells.next()?,
    keep_until: cells.next()?,
    dropped: cells.next()?,
    created_at: cells.next()?,
}));

table!(Cache, "caches", |it| {
    Key tenant_id: "text" = id(it.name.tenant);
    Key trust: "text" = it.name.trust.as_str();
    Key key: "text" = it.name.key.as_str();
    Moving id: "text" = id(it.id);
    Moving blob_id: "text" = id(it.blob);
    Moving digest: "bytea" = it.digest.as_bytes().as_slice();
    Moving bytes: "bigint" = long(it.bytes);
    Moving job_id: "text" = id(it.job);
    Moving created_at: "timestamptz" = moment(it.created_at);
    Moving used_at: "timestamptz" = moment(it.used_at);
    Moving dropped: "boolean" = it.dropped;
} |cells| {
    let name = CacheName { tenant: cells.next()?, trust: cells.next()?, key: cells.next()? };
    Ok(Cache {
        id: cells.next()?,
        name,
        blob: cells.next()?,
        digest: cells.next()?,
        bytes: cells.next()?,
        job: cells.next()?,
        created_at: cells.next()?,
        used_at: cells.next()?,
        dropped: cells.next()?,
    })
});

table!(Collection, "collections", |it| {
    Key id: "text" = id(it.id);
    Moving state: "text" = it.state.as_str();
    Fixed epoch: "bigint" = it.epoch;
    Moving holder: "bigint" = it.holder.cast_signed();
    Moving held_until: "timestamptz" = moment(it.held_until);
    Moving marked: "bigint" = long(it.marked);
    Moving kept: "bigint" = long(it.kept);
    Moving deleted: "bigint" = long(it.deleted);
    Moving bytes: "bigint" = long(it.bytes);
    Moving message: "text" = it.message.as_str();
    Fixed started_at: "timestamptz" = moment(it.started_at);
    Moving mark_completed_at: "timestamptz" = it.mark_completed_at.map(moment);
    Moving finished_at: "timestamptz" = it.finished_at.map(moment);
} |cells| Ok(Collection {
    id: cells.next()?,
    state: cells.next()?,
    epoch: cells.next()?,
    holder: cells.next::<i64>()?.cast_unsigned(),
    held_until: cells.next()?,
    marked: cells.next()?,
    kept: cells.next()?,
    deleted: cells.next()?,
    bytes: cells.next()?,
    message: cells.next()?,
    started_at: cells.next()?,
    mark_completed_at: cells.next()?,
    finished_at: cells.next()?,
}));

table!(Collector, "collector", |it| {
    Key one: "boolean" = only(it);
    Moving epoch: "bigint" = it.epoch;
    Moving running: "text" = it.running.map(id);
} |cells| {
    let _: bool = cells.next()?;
    Ok(Collector { epoch: cells.next()?, running: cells.next()? })
});

/// There is one.
fn only(_: &Collector) -> bool {
    true
}

/// Two cells that are both there or both null.
fn read_measured(cells: &mut Cells<'_>) -> Result<Option<Measured>, StoreError> {
    let digest: Option<Digest> = cells.next()?;
    let length: Option<u64> = cells.next()?;
    Ok(digest.zip(length).map(|(digest, length)| Measured { digest, length }))
}
