//! Caches: found by a runner for its job; listed and dropped by their tenant.
//!
//! Which caches a job may read is told by its lease, never by the request: a trusted job sees nothing that a stranger's
//! saved, whatever it asks for.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use decisions::Refusal;
use decisions::caches::{DropCache, TouchCache, check_key};
use decisions::records::cache::{Cache, readable};
use decisions::records::{Job, Trust};
use store::{Store, StoreError};
use wire::api::{CacheView, FoundCache, Page, Problem as ProblemBody};
use wire::runner::StaleReason;
use wire::{CacheId, LeaseId, TenantId};

use crate::api::document::Routes;
use crate::api::guard::{BlobAccess, LEASE, TenantAccess};
use crate::api::input::{Asked, Item, ListQuery, cut};
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::api::vault::execution_of;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes
        .add::<__path_find, _, _>(find::<S>)
        .add::<__path_list, _, _>(list::<S>)
        .add::<__path_forget, _, _>(forget::<S>)
}

/// For whom a runner asks: its lease says which tenant's job it is, and whom its run trusts.
struct ForJob {
    tenant: TenantId,
    trust: Trust,
}

impl<S: Store> FromRequestParts<Api<S>> for ForJob {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api<S>) -> Result<Self, Problem> {
        let BlobAccess { tenant, .. } = BlobAccess::from_request_parts(parts, api).await?;
        let no_lease = || Problem::forbidden("caches are found for a job: send its lease as `Delta-Lease`");
        let lease = parts.headers.get(LEASE).and_then(|value| value.to_str().ok()).ok_or_else(no_lease)?;
        let lease = LeaseId::from(lease.to_owned()).key();
        let (store, now) = (api.engine.store(), api.engine.clock().now());
        let unknown = || Problem::from(Refusal::StaleLease { reason: StaleReason::LeaseUnknown });
        if api.vault.lease_alive(store, lease, now).await?? != tenant {
            return Err(unknown());
        }
        let (job, _) = execution_of(store, lease.execution).await?.ok_or_else(unknown)?;
        Ok(ForJob { tenant, trust: trust_of_job(store, &job).await? })
    }
}

/// Whom the run of a job trusts. A job that belongs to none was submitted by the tenant itself.
pub async fn trust_of_job<S: Store>(store: &S, job: &Job) -> Result<Trust, StoreError> {
    let Some(run) = job.run else { return Ok(Trust::Trusted) };
    let run = store.run(run).await?;
    Ok(run.as_ref().map_or(Trust::Untrusted, |run| run.trust)) // a job without its run is nobody we know
}

#[derive(Debug, serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct FindQuery {
    /// The key to look for
    key: String,
    /// When nothing has the key: the newest whose key begins so
    #[param(nullable = false)]
    prefix: Option<String>,
}

/// Find a cache for a job
///
/// For a runner, under its lease (`Delta-Lease`). The bytes are read as a blob.
#[utoipa::path(get, path = "/v1/tenants/{tenant}/caches/find", tag = "caches", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"), FindQuery,
        ("Delta-Lease" = String, Header, description = "The lease of the job")),
    responses(
        (status = 200, description = "What was found; `exact` if under the key itself", body = FoundCache),
        (status = 404, description = "`cache_miss`: nothing has the key or begins so", body = ProblemBody,
            content_type = "application/problem+json"),
        (status = 409, description = "The lease is stale", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn find<S: Store>(
    State(api): State<Api<S>>,
    ForJob { tenant, trust }: ForJob,
    Asked(query): Asked<FindQuery>,
) -> Result<Json<FoundCache>, Problem> {
    check_key(&query.key).map_err(|refusal| of_query(refusal, "key"))?;
    let prefix = query.prefix.as_deref().filter(|prefix| !prefix.is_empty());
    prefix.map_or(Ok(()), check_key).map_err(|refusal| of_query(refusal, "prefix"))?;
    let found = api.engine.store().find_cache(tenant, readable(trust), &query.key, prefix).await?;
    let cache = found.ok_or_else(miss)?;
    if TouchCache::is_wanted(&cache, api.engine.clock().now()) {
        let touch = TouchCache { name: cache.name.clone(), id: cache.id };
        // Dropped between the look and this: then it is not found.
        api.engine.perform(touch).await.map_err(|failure| match Problem::from(failure) {
            problem if problem.code == "cache_not_found" => miss(),
            other => other,
        })?;
    }
    Ok(Json(FoundCache {
        exact: cache.name.key == query.key,
        key: cache.name.key,
        digest: cache.digest,
        bytes: cache.bytes,
        created_at: cache.created_at,
        job: cache.job,
    }))
}

/// List a tenant's caches
#[utoipa::path(get, path = "/v1/tenants/{tenant}/caches", tag = "caches", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"), ListQuery),
    responses((status = 200, description = "A page of caches, the oldest first", body = Page<CacheView>)))]
async fn list<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Asked(query): Asked<ListQuery>,
) -> Result<Json<Page<CacheView>>, Problem> {
    let (limit, after) = (query.limit()?, query.after::<CacheId>()?);
    let mut caches = api.engine.store().caches_of(tenant, after, limit + 1).await?;
    let next = cut(&mut caches, limit).map(|cache| cache.id.to_string());
    Ok(Json(Page { items: caches.into_iter().map(view).collect(), next }))
}

/// Drop a cache
///
/// The next job that succeeds saves its key anew.
#[utoipa::path(delete, path = "/v1/tenants/{tenant}/caches/{id}", tag = "caches", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "A cache's id")),
    responses((status = 204, description = "It is dropped")))]
async fn forget<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Item(id): Item,
) -> Result<StatusCode, Problem> {
    let not_found = || Problem::from(Refusal::CacheNotFound);
    let id: CacheId = id.parse().map_err(|_| not_found())?;
    let cache = api.engine.store().cache_with(tenant, id).await?.ok_or_else(not_found)?;
    api.engine.perform(DropCache { name: cache.name, id }).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn miss() -> Problem {
    let detail = "no cache has this key, and none begins with the prefix: go on without one";
    Problem::new(StatusCode::NOT_FOUND, "cache_miss", detail)
}

fn of_query(refusal: Refusal, field: &str) -> Problem {
    match refusal {
        Refusal::InvalidInput { problem, .. } => Problem::invalid(field, problem),
        other => other.into(),
    }
}

fn view(cache: Cache) -> CacheView {
    CacheView {
        id: cache.id,
        state: "kept".into(),
        trust: cache.name.trust.as_str().into(),
        key: cache.name.key,
        digest: cache.digest,
        bytes: cache.bytes,
        job: cache.job,
        created_at: cache.created_at,
        used_at: cache.used_at,
    }
}
