//! Versions of packages: drafted, published, withdrawn, restored, released, listed.

use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use decisions::Answer;
use decisions::records::{Version, VersionName};
use decisions::versions::{CreateVersion, TombstoneVersion};
use machines::Machine;
use store::Store;
use wire::api::{self, EntryView, Page, Problem as ProblemBody, VersionSummary, VersionView};
use wire::{TenantId, VersionId};

use crate::api::document::Routes;
use crate::api::guard::{Actor, AdminOfTenant, TenantAccess};
use crate::api::input::{Asked, Input, ListQuery, cut, path_part};
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::artifacts::versions;
use crate::mint::Mint;

/// The largest body that makes a version: ten thousand entries with paths of a kilobyte and a half.
const VERSION_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The longest time in which a version can be restored.
const RETENTION_MAX: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes
        .add::<__path_create, _, _>(create::<S>)
        .add::<__path_list, _, _>(list::<S>)
        .add::<__path_list_of, _, _>(list_of::<S>)
        .add::<__path_show, _, _>(show::<S>)
        .add::<__path_publish, _, _>(publish::<S>)
        .add::<__path_tombstone, _, _>(tombstone::<S>)
        .add::<__path_restore, _, _>(restore::<S>)
        .add::<__path_release, _, _>(release::<S>)
}

/// The `{name}` of a path.
pub struct Package(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Package {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        path_part(parts, state, "name").await.map(Package)
    }
}

/// The `{version}` of a path, of the package before it.
pub struct Named {
    package: String,
    version: String,
}

impl Named {
    pub fn of(self, tenant: TenantId) -> VersionName {
        VersionName { tenant, package: self.package, version: self.version }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let package = path_part(parts, state, "name").await?;
        Ok(Named { package, version: path_part(parts, state, "version").await? })
    }
}

/// Draft a version
///
/// Of blobs that the tenant has. A draft may be made anew; the same entries again are the same version.
#[utoipa::path(post, path = "/v1/tenants/{tenant}/packages/{name}/versions", tag = "packages",
    security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("name" = String, Path, description = "The package's name")),
    request_body = api::CreateVersion,
    responses(
        (status = 201, description = "The draft", body = VersionView),
        (status = 200, description = "It was there, with the same entries", body = VersionView),
        (status = 409, description = "`blob_missing`: the tenant does not have these bytes; `immutable`: it is \
            published with other entries", body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn create<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Package(package): Package,
    request: Request,
) -> Result<(StatusCode, Json<VersionView>), Problem> {
    let Input(asked) = Input::<api::CreateVersion, VERSION_BYTES_MAX>::from_request(request, &()).await?;
    let name = VersionName { tenant, package, version: asked.version };
    let entries = asked.entries.into_iter().map(|entry| (entry.path, entry.digest)).collect();
    let id = Mint.version(api.engine.clock().now());
    let answer = api.engine.perform(CreateVersion { id, name, entries }).await?;
    let Answer::VersionIs { version, existing } = answer else { return Err(Problem::internal()) };
    let status = if existing { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(view(*version))))
}

/// List the versions of all packages
#[utoipa::path(get, path = "/v1/tenants/{tenant}/packages", tag = "packages", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"), ListQuery),
    responses((status = 200, description = "A page of versions", body = Page<VersionSummary>)))]
async fn list<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Asked(query): Asked<ListQuery>,
) -> Result<Json<Page<VersionSummary>>, Problem> {
    listed(&api, tenant, None, &query).await
}

/// List the versions of a package
#[utoipa::path(get, path = "/v1/tenants/{tenant}/packages/{name}/versions", tag = "packages",
    security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("name" = String, Path, description = "The package's name"), ListQuery),
    responses((status = 200, description = "A page of versions", body = Page<VersionSummary>)))]
async fn list_of<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Package(package): Package,
    Asked(query): Asked<ListQuery>,
) -> Result<Json<Page<VersionSummary>>, Problem> {
    listed(&api, tenant, Some(&package), &query).await
}

async fn listed<S: Store>(
    api: &Api<S>,
    tenant: TenantId,
    package: Option<&str>,
    query: &ListQuery,
) -> Result<Json<Page<VersionSummary>>, Problem> {
    let (limit, after) = (query.limit()?, query.after::<VersionId>()?);
    let mut found = api.engine.store().versions_of(tenant, package, after, limit + 1).await?;
    let next = cut(&mut found, limit).map(|version| version.id.to_string());
    Ok(Json(Page { items: found.into_iter().map(summary).collect(), next }))
}

/// Look at a version
#[utoipa::path(get, path = "/v1/tenants/{tenant}/packages/{name}/versions/{version}", tag = "packages",
    security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("name" = String, Path, description = "The package's name"),
        ("version" = String, Path, description = "The version")),
    responses((status = 200, description = "The version", body = VersionView)))]
async fn show<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    named: Named,
) -> Result<Json<VersionView>, Problem> {
    Ok(Json(view(versions::find(&api.engine, &named.of(tenant)).await?)))
}

/// Publish a version, if the policy allows it
///
/// From then on it never changes. Published again, it is as it was.
#[utoipa::path(post, path = "/v1/tenants/{tenant}/packages/{name}/versions/{version}/publish", tag = "packages",
    security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("name" = String, Path, description = "The package's name"),
        ("version" = String, Path, description = "The version")),
    responses(
        (status = 200, description = "It is published", body = VersionView),
        (status = 409, description = "`quarantined`: the policy holds it back; `blob_missing`; `version_tombstoned`",
            body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "`policy_unavailable`: no verdict, nothing published; or the store is away",
            body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn publish<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Actor(actor): Actor,
    named: Named,
) -> Result<Json<VersionView>, Problem> {
    let version = versions::publish(&api.artifacts, &api.engine, &named.of(tenant), actor, false).await?;
    Ok(Json(view(version)))
}

/// Publish a version that the policy holds back
#[utoipa::path(post, path = "/v1/tenants/{tenant}/packages/{name}/versions/{version}/release", tag = "packages",
    security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("name" = String, Path, description = "The package's name"),
        ("version" = String, Path, description = "The version")),
    responses(
        (status = 200, description = "It is published", body = VersionView),
        (status = 409, description = "`blob_missing`, `version_tombstoned`; or a draft that was not held back, and \
            now is (`quarantined`)", body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn release<S: Store>(
    State(api): State<Api<S>>,
    AdminOfTenant { tenant }: AdminOfTenant,
    named: Named,
) -> Result<Json<VersionView>, Problem> {
    let version = versions::publish(&api.artifacts, &api.engine, &named.of(tenant), "admin", true).await?;
    Ok(Json(view(version)))
}

/// Withdraw a published version
///
/// It can be restored for `retention_seconds`; then its bytes may go.
#[utoipa::path(post, path = "/v1/tenants/{tenant}/packages/{name}/versions/{version}/tombstone",
    tag = "packages", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("name" = String, Path, description = "The package's name"),
        ("version" = String, Path, description = "The version")),
    request_body = api::Tombstone,
    responses(
        (status = 200, description = "It is withdrawn", body = VersionView),
        (status = 409, description = "`version_not_published`", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn tombstone<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    named: Named,
    Input(asked): Input<api::Tombstone>,
) -> Result<Json<VersionView>, Problem> {
    let retention = Duration::try_from_secs_f64(asked.retention_seconds.as_f64()).ok();
    let retention = retention.filter(|retention| *retention <= RETENTION_MAX);
    let retention =
        retention.ok_or_else(|| Problem::invalid("retention_seconds", "at most a hundred years"))?;
    let command = TombstoneVersion { name: named.of(tenant), retention };
    Ok(Json(view(versions::perform(&api.engine, command).await?)))
}

/// Bring a withdrawn version back, within its retention and if the policy allows it
#[utoipa::path(post, path = "/v1/tenants/{tenant}/packages/{name}/versions/{version}/restore", tag = "packages",
    security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("name" = String, Path, description = "The package's name"),
        ("version" = String, Path, description = "The version")),
    responses(
        (status = 200, description = "It is published, as it was", body = VersionView),
        (status = 409, description = "`retention_over`, `version_not_published`, `quarantined`", body = ProblemBody,
            content_type = "application/problem+json"),
        (status = 503, description = "`policy_unavailable`: no verdict, nothing restored; or the store is away",
            body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn restore<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Actor(actor): Actor,
    named: Named,
) -> Result<Json<VersionView>, Problem> {
    let version = versions::restore(&api.artifacts, &api.engine, &named.of(tenant), actor).await?;
    Ok(Json(view(version)))
}

fn view(version: Version) -> VersionView {
    let entries = version.entries.iter().map(|entry| EntryView {
        path: entry.path.clone(),
        digest: entry.digest,
        length: entry.length,
    });
    VersionView {
        id: version.id,
        state: version.state.get().as_str().into(),
        quarantine: version.quarantine,
        content_hash: version.content_hash,
        entries: entries.collect(),
        package: version.name.package,
        version: version.name.version,
        retention_until: version.retention_until,
        purged: version.purged,
        created_at: version.created_at,
        published_at: version.published_at,
    }
}

fn summary(version: Version) -> VersionSummary {
    VersionSummary {
        id: version.id,
        state: version.state.get().as_str().into(),
        entries: version.entries.len() as u64,
        length: version.entries.iter().map(|entry| entry.length).sum(),
        package: version.name.package,
        version: version.name.version,
        created_at: version.created_at,
        published_at: version.published_at,
    }
}
