//! Named questions about artifacts. Deadlines are compared with the database's clock, as in `finders.rs`.

use std::sync::{Arc, LazyLock};

use decisions::doctor::{BlobFile, UsageFile};
use decisions::records::{Blob, Bundle, Collection, Collector, Upload, Usage, Version, VersionName};
use tokio_postgres::Row;
use wire::{BlobId, CollectionId, Digest, JobId, TenantId, UploadId, VersionId};

use crate::postgres::entries;
use crate::postgres::files::{self, filed, grouped, page, root_and_events};
use crate::postgres::finders::{after_text, ask, ask_one, bound, cells};
use crate::postgres::pool::Pool;
use crate::postgres::round::Param;
use crate::postgres::rows::Cells;
use crate::postgres::tables::{record, selected};
use crate::{ArtifactsDue, StoreError};

static UPLOAD: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM uploads t WHERE id = $1", selected::<Upload>("t")));
static BLOB: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM blobs t WHERE id = $1", selected::<Blob>("t")));
static BLOB_OF: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM blobs t
         WHERE id = (SELECT blob_id FROM possessions WHERE tenant_id = $1 AND digest = $2)
             AND claimed_by IS NULL AND state <> 'deleted'",
        selected::<Blob>("t")
    )
});
static USAGE: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM usages t WHERE tenant_id = $1", selected::<Usage>("t")));
static COLLECTION: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM collections t WHERE id = $1", selected::<Collection>("t")));
static COLLECTOR: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM collector t WHERE one", selected::<Collector>("t")));

static VERSION: LazyLock<String> = LazyLock::new(|| {
    format!("{} WHERE t.tenant_id = $1 AND t.package = $2 AND t.version = $3", *entries::VERSION)
});
static VERSIONS_OF_TENANT: LazyLock<String> = LazyLock::new(|| {
    format!("{} WHERE t.tenant_id = $1 AND t.id > $2 ORDER BY t.id LIMIT $3", *entries::VERSION)
});
static VERSIONS_OF_PACKAGE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{} WHERE t.tenant_id = $1 AND t.package = $4 AND t.id > $2 ORDER BY t.id LIMIT $3",
        *entries::VERSION
    )
});
static BUNDLE_OF: LazyLock<String> = LazyLock::new(|| {
    format!("{} WHERE t.job_id = $1 ORDER BY t.created_at DESC, t.exec_id DESC LIMIT 1", *entries::BUNDLE)
});

pub static BLOBS_UNREFERENCED: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM blobs t WHERE refs = 0 AND state <> 'deleted' AND id > $1 ORDER BY id LIMIT $2",
        selected::<Blob>("t")
    )
});
pub const UPLOADS_DUE: &str = "
    SELECT id FROM uploads WHERE is_open AND expires_at <= (SELECT clock_timestamp())
    ORDER BY expires_at, id LIMIT $1";
pub static LITTER: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM uploads t WHERE litter ORDER BY id LIMIT $1", selected::<Upload>("t"))
});
pub const VERSIONS_DUE: &str = "
    SELECT id FROM versions
    WHERE state = 'tombstoned' AND NOT purged AND retention_until <= (SELECT clock_timestamp())
    ORDER BY retention_until, id LIMIT $1";
const BUNDLES_DUE: &str = "
    SELECT exec_id FROM bundles
    WHERE NOT dropped AND keep_until IS NOT NULL AND keep_until <= (SELECT clock_timestamp())
    ORDER BY keep_until, exec_id LIMIT $1";

static BLOBS_AFTER: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM blobs t WHERE id > $1 ORDER BY id LIMIT $2", selected::<Blob>("t"))
});
const ENTRIES_OF: &str = "
    SELECT e.blob_id, count(*) FROM version_entries e JOIN versions v ON v.id = e.version_id
    WHERE e.blob_id = ANY ($1::text[]) AND NOT v.purged GROUP BY e.blob_id";
const ARTIFACTS_OF: &str = "
    SELECT a.blob_id, count(*) FROM bundle_artifacts a JOIN bundles b ON b.exec_id = a.exec_id
    WHERE a.blob_id = ANY ($1::text[]) AND NOT b.dropped GROUP BY a.blob_id";

const CACHES_OF_BLOBS: &str = "
    SELECT blob_id, count(*) FROM caches WHERE blob_id = ANY ($1::text[]) AND NOT dropped GROUP BY blob_id";

const LOGS_OF_BLOBS: &str =
    "SELECT blob_id, count(*) FROM logs WHERE blob_id = ANY ($1::text[]) GROUP BY blob_id";

const INLINE_OF_BLOBS: &str =
    "SELECT blob_id, octet_length(bytes)::bigint FROM blob_bytes WHERE blob_id = ANY ($1::text[])";

pub async fn upload(readers: &Pool, id: UploadId) -> Result<Option<Upload>, StoreError> {
    ask_one(readers, &UPLOAD, vec![Box::new(id.to_string())]).await?.first().map(record).transpose()
}

pub async fn blob(readers: &Pool, id: BlobId) -> Result<Option<Blob>, StoreError> {
    ask_one(readers, &BLOB, vec![Box::new(id.to_string())]).await?.first().map(record).transpose()
}

const BLOB_BYTES: &str = "SELECT bytes FROM blob_bytes WHERE blob_id = $1";

pub async fn blob_bytes(readers: &Pool, id: BlobId) -> Result<Option<Arc<[u8]>>, StoreError> {
    let rows = ask_one(readers, BLOB_BYTES, vec![Box::new(id.to_string())]).await?;
    rows.first().map(|row| Cells::of(row).raw::<&[u8]>().map(Arc::from)).transpose()
}

pub async fn blob_of(readers: &Pool, tenant: TenantId, digest: Digest) -> Result<Option<Blob>, StoreError> {
    let params: Vec<Param<'static>> =
        vec![Box::new(tenant.to_string()), Box::new(digest.as_bytes().to_vec())];
    ask_one(readers, &BLOB_OF, params).await?.first().map(record).transpose()
}

pub async fn usage(readers: &Pool, tenant: TenantId) -> Result<Usage, StoreError> {
    let rows = ask_one(readers, &USAGE, vec![Box::new(tenant.to_string())]).await?;
    rows.first().map_or(Ok(Usage { tenant, bytes: 0, blobs: 0 }), record)
}

pub async fn collection(readers: &Pool, id: CollectionId) -> Result<Option<Collection>, StoreError> {
    ask_one(readers, &COLLECTION, vec![Box::new(id.to_string())]).await?.first().map(record).transpose()
}

pub async fn collector(readers: &Pool) -> Result<Collector, StoreError> {
    ask_one(readers, &COLLECTOR, vec![]).await?.first().map_or(Ok(Collector::default()), record)
}

pub async fn version(readers: &Pool, name: &VersionName) -> Result<Option<Version>, StoreError> {
    let params: Vec<Param<'static>> = vec![
        Box::new(name.tenant.to_string()),
        Box::new(name.package.clone()),
        Box::new(name.version.clone()),
    ];
    ask_one(readers, &VERSION, params).await?.first().map(read_version).transpose()
}

/// Two questions: an index finds a package, but not whether there is one to be found.
pub async fn versions_of(
    readers: &Pool,
    tenant: TenantId,
    package: Option<&str>,
    after: Option<VersionId>,
    limit: usize,
) -> Result<Vec<Version>, StoreError> {
    let mut params: Vec<Param<'static>> =
        vec![Box::new(tenant.to_string()), Box::new(after_text(after)), Box::new(bound(limit))];
    let rows = match package {
        None => ask_one(readers, &VERSIONS_OF_TENANT, params).await?,
        Some(package) => {
            params.push(Box::new(package.to_owned()));
            ask_one(readers, &VERSIONS_OF_PACKAGE, params).await?
        }
    };
    rows.iter().map(read_version).collect()
}

fn read_version(row: &Row) -> Result<Version, StoreError> {
    entries::version(&mut Cells::of(row)).map(|(_, version)| Arc::unwrap_or_clone(version))
}

pub async fn bundle_of(readers: &Pool, job: JobId) -> Result<Option<Bundle>, StoreError> {
    let rows = ask_one(readers, &BUNDLE_OF, vec![Box::new(job.to_string())]).await?;
    let read = |row| entries::bundle(&mut Cells::of(row)).map(|(_, bundle)| Arc::unwrap_or_clone(bundle));
    rows.first().map(read).transpose()
}

pub async fn blobs_unreferenced(
    readers: &Pool,
    after: Option<BlobId>,
    limit: usize,
) -> Result<Vec<Blob>, StoreError> {
    let params: Vec<Param<'static>> = vec![Box::new(after_text(after)), Box::new(bound(limit))];
    ask_one(readers, &BLOBS_UNREFERENCED, params).await?.iter().map(record).collect()
}

pub async fn due(readers: &Pool, limit: usize) -> Result<ArtifactsDue, StoreError> {
    let statements = [UPLOADS_DUE, &LITTER, VERSIONS_DUE, BUNDLES_DUE];
    let statements = statements.map(|sql| (sql, vec![Box::new(bound(limit)) as Param<'static>]));
    let answers = ask(readers, statements.into()).await?;
    let [uploads, litter, versions, bundles] = answers.as_slice() else {
        unreachable!("a round has an answer for each statement")
    };
    Ok(ArtifactsDue {
        uploads: cells(uploads)?,
        litter: litter.iter().map(record).collect::<Result<_, _>>()?,
        versions: cells(versions)?,
        bundles: cells(bundles)?,
    })
}

pub async fn blob_files_after(
    readers: &Pool,
    after: Option<BlobId>,
    limit: usize,
) -> Result<Vec<BlobFile>, StoreError> {
    let reader = readers.take().await?;
    let params: Vec<Param<'static>> = vec![Box::new(after_text(after)), Box::new(bound(limit))];
    let blobs = page(&reader, &BLOBS_AFTER, params).await?;
    let blobs: Vec<Blob> = blobs.iter().map(record).collect::<Result<_, _>>()?;
    let keys: Vec<String> = blobs.iter().map(|blob| blob.id.to_string()).collect();
    let statements =
        [ENTRIES_OF, ARTIFACTS_OF, CACHES_OF_BLOBS, LOGS_OF_BLOBS, INLINE_OF_BLOBS, &files::EVENTS];
    let [entries, artifacts, caches, logs, inline, events] = filed(reader, &keys, statements).await?;
    let counted = |row: &Row| {
        let mut cells = Cells::of(row);
        Ok((cells.next::<BlobId>()?, cells.next::<u64>()?))
    };
    let mut counts = Vec::new();
    for rows in [&entries, &artifacts, &caches, &logs] {
        counts.push(grouped(rows, counted)?);
    }
    let inline = grouped(&inline, counted)?;
    let mut events = grouped(&events, root_and_events::<BlobId>)?;
    let file = |blob: Blob| BlobFile {
        refs: counts.iter().filter_map(|counts| counts.get(&blob.id)).flatten().sum(),
        inline_bytes: inline.get(&blob.id).and_then(|lengths| lengths.first().copied()),
        events: events.remove(&blob.id).unwrap_or_default().concat(),
        blob,
    };
    Ok(blobs.into_iter().map(file).collect())
}

const USAGES_AFTER: &str = "
    SELECT t.id, coalesce(u.bytes, 0)::bigint, coalesce(u.blobs, 0)::bigint, has.bytes, has.blobs
    FROM tenants t LEFT JOIN usages u ON u.tenant_id = t.id CROSS JOIN LATERAL (
        SELECT coalesce(sum(b.length), 0)::bigint AS bytes, count(*) AS blobs
        FROM possessions p JOIN blobs b ON b.id = p.blob_id
        WHERE p.tenant_id = t.id AND b.claimed_by IS NULL AND b.state <> 'deleted') has
    WHERE t.id > $1 ORDER BY t.id LIMIT $2";

pub async fn usage_files_after(
    readers: &Pool,
    after: Option<TenantId>,
    limit: usize,
) -> Result<Vec<UsageFile>, StoreError> {
    let params: Vec<Param<'static>> = vec![Box::new(after_text(after)), Box::new(bound(limit))];
    let read = |row: &Row| {
        let mut cells = Cells::of(row);
        let usage = Usage { tenant: cells.next()?, bytes: cells.next()?, blobs: cells.next()? };
        Ok(UsageFile { usage, bytes: cells.next()?, blobs: cells.next()? })
    };
    ask_one(readers, USAGES_AFTER, params).await?.iter().map(read).collect()
}
