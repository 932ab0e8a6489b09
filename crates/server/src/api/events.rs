//! The audit log: of one thing, or of all that is a tenant's, in commit order.

use axum::Json;
use axum::extract::State;
use store::Store;
use wire::api::{AuditEvent, Page};
use wire::{BlobId, ExecId, JobId, MessageId, RunId, TenantId, UploadId, VersionId};

use crate::api::document::Routes;
use crate::api::guard::TenantAccess;
use crate::api::input::{Asked, limit, limit_schema, parsed};
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::explain::explain;

/// Rows that one look into the log covers, of whichever tenant they are.
const SCAN_ROWS: usize = 1_000;

/// Looks for one request. Who finds nothing of its own in so many rows is told where to go on.
const SCANS_MAX: usize = 20;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes.add::<__path_events, _, _>(events::<S>)
}

#[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// A run, a job with its attempts and executions, one attempt (`job_…/2`), an execution, a delivery, an
    /// upload, a version, a blob that the tenant has, or the tenant.
    #[param(nullable = false, min_length = 1)]
    entity: Option<String>,
    /// Only what was committed after this number.
    #[param(value_type = Option<i64>, nullable = false, minimum = 0)]
    after: Option<String>,
    /// The most items, 100 without it; more than 1,000 is taken as 1,000.
    #[param(schema_with = limit_schema)]
    limit: Option<String>,
}

/// The audit log: who moved what from where to where, when and why
///
/// A reader that goes on after the last `seq` it saw misses nothing. `next` is null at the end of the log; on the way
/// there a page may be empty and still have a `next`.
#[utoipa::path(get, path = "/v1/tenants/{tenant}/events", tag = "audit", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"), EventsQuery),
    responses((status = 200, description = "A page of the log", body = Page<AuditEvent>)))]
async fn events<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Asked(query): Asked<EventsQuery>,
) -> Result<Json<Page<AuditEvent>>, Problem> {
    let limit = limit(query.limit.as_deref())?;
    let after = parsed::<i64>("after", query.after.as_deref())?.unwrap_or(0);
    if after < 0 {
        return Err(Problem::invalid("after", "expected a number that is not negative"));
    }
    let store = api.engine.store();
    let (mut events, looked_to) = match query.entity.as_deref() {
        // Who means one thing must not be told of all.
        Some("") => return Err(Problem::invalid("entity", "expected an id: leave it out for all")),
        Some(entity) => (of_entity(store, tenant, entity, after).await?, None),
        None => scan(store, tenant, after, limit).await?,
    };
    let more = events.len() > limit;
    events.truncate(limit);
    let next = if more { events.last().map(|event| event.seq) } else { looked_to };
    Ok(Json(Page { items: events, next: next.map(|seq| seq.to_string()) }))
}

async fn of_entity<S: Store>(
    store: &S,
    tenant: TenantId,
    entity: &str,
    after: i64,
) -> Result<Vec<AuditEvent>, Problem> {
    let not_found = || Problem::not_found("entity_not_found", "thing");
    let id = match resolved(store, tenant, entity).await? {
        Some(id) => id,
        None => return Err(not_found()),
    };
    let mut events = explain(store, &id).await?.ok_or_else(not_found)?;
    events.retain(|event| event.seq > after);
    Ok(events)
}

/// The id to explain, if it is this tenant's. Jobs may be named by the id their submitter chose.
async fn resolved<S: Store>(store: &S, tenant: TenantId, entity: &str) -> Result<Option<String>, Problem> {
    let job_of = |text: &str| text.split('/').next().and_then(|job| job.parse::<JobId>().ok());
    let is_ours = if let Ok(id) = entity.parse::<TenantId>() {
        id == tenant
    } else if let Ok(id) = entity.parse::<RunId>() {
        store.run(id).await?.is_some_and(|run| run.tenant == tenant)
    } else if let Ok(id) = entity.parse::<MessageId>() {
        delivery_is_of(store, tenant, id).await?
    } else if let Ok(id) = entity.parse::<UploadId>() {
        store.upload(id).await?.is_some_and(|upload| upload.tenant == tenant)
    } else if let Ok(id) = entity.parse::<VersionId>() {
        version_is_of(store, tenant, id).await?
    } else if let Ok(id) = entity.parse::<BlobId>() {
        blob_is_of(store, tenant, id).await?
    } else if let Ok(id) = entity.parse::<ExecId>() {
        match store.execution_job(id).await? {
            Some(job) => job_is_of(store, tenant, job).await?,
            None => false,
        }
    } else if let Some(id) = job_of(entity) {
        job_is_of(store, tenant, id).await?
    } else {
        let may_be_key = !entity.is_empty() && entity.bytes().all(|byte| byte.is_ascii_graphic());
        let keyed = if may_be_key { store.job_keyed(tenant, entity).await? } else { None };
        return Ok(keyed.map(|job| job.to_string()));
    };
    Ok(is_ours.then(|| entity.to_string()))
}

async fn job_is_of<S: Store>(store: &S, tenant: TenantId, job: JobId) -> Result<bool, Problem> {
    Ok(store.job_file(job).await?.is_some_and(|file| file.job.tenant == tenant))
}

/// Deliveries are read in the order of their ids: the first after the id before is the one.
async fn delivery_is_of<S: Store>(store: &S, tenant: TenantId, id: MessageId) -> Result<bool, Problem> {
    let before = id.as_u128().checked_sub(1).map(MessageId::from_u128);
    let found = store.deliveries_after(before, 1).await?;
    Ok(found.first().is_some_and(|delivery| delivery.id == id && delivery.tenant == tenant))
}

/// Likewise.
async fn version_is_of<S: Store>(store: &S, tenant: TenantId, id: VersionId) -> Result<bool, Problem> {
    let before = id.as_u128().checked_sub(1).map(VersionId::from_u128);
    let found = store.versions_of(tenant, None, before, 1).await?;
    Ok(found.first().is_some_and(|version| version.id == id))
}

/// Bytes are of all who have them now.
async fn blob_is_of<S: Store>(store: &S, tenant: TenantId, id: BlobId) -> Result<bool, Problem> {
    let Some(blob) = store.blob(id).await? else { return Ok(false) };
    Ok(store.blob_of(tenant, blob.digest).await?.is_some_and(|had| had.id == id))
}

/// The tenant's rows after `after`, and where to go on unless the log ends there.
async fn scan<S: Store>(
    store: &S,
    tenant: TenantId,
    mut after: i64,
    limit: usize,
) -> Result<(Vec<AuditEvent>, Option<i64>), Problem> {
    let mut found = Vec::new();
    for _ in 0..SCANS_MAX {
        let (events, looked_to) = store.events_scan(tenant, after, SCAN_ROWS).await?;
        found.extend(events);
        let at_the_end = looked_to < after.saturating_add(SCAN_ROWS as i64); // rows are numbered without gaps
        if at_the_end {
            return Ok((found, None));
        }
        after = looked_to;
        if found.len() > limit {
            break;
        }
    }
    Ok((found, Some(after)))
}
