//! The files of a version, by their paths.

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use decisions::Refusal;
use machines::version;
use store::Store;
use wire::TenantId;
use wire::api::Problem as ProblemBody;

use crate::api::artifacts::packages::Named;
use crate::api::artifacts::served::{ASK_AGAIN, Content, serve};
use crate::api::document::Routes;
use crate::api::guard::TenantAccess;
use crate::api::input::path_part;
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::artifacts::versions;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes.add::<__path_get, _, _>(get::<S>).add::<__path_head, _, _>(head::<S>)
}

/// What the path ends with.
struct Entry(String);

impl<S: Send + Sync> FromRequestParts<S> for Entry {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        path_part(parts, state, "path").await.map(Entry)
    }
}

/// Read a file of a version
///
/// As with a blob; of a draft or of a published version, and of no other.
#[utoipa::path(get, path = "/v1/tenants/{tenant}/packages/{name}/versions/{version}/files/{*path}",
    tag = "packages", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("name" = String, Path, description = "The package's name"),
        ("version" = String, Path, description = "The version"),
        ("path" = String, Path, description = "The entry's path, with its slashes"),
        ("Range" = Option<String>, Header, description = "Such as `bytes=0-99`"),
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` that the caller has")),
    responses(
        (status = 200, description = "The bytes", body = String, content_type = "application/octet-stream"),
        (status = 206, description = "A part of them", body = String, content_type = "application/octet-stream"),
        (status = 304, description = "The caller has them"),
        (status = 416, description = "No bytes in this range", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn get<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    named: Named,
    entry: Entry,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    served(&api, tenant, named, entry, &Method::GET, &headers).await
}

/// Look at a file of a version without its bytes
#[utoipa::path(head, path = "/v1/tenants/{tenant}/packages/{name}/versions/{version}/files/{*path}",
    tag = "packages", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("name" = String, Path, description = "The package's name"),
        ("version" = String, Path, description = "The version"),
        ("path" = String, Path, description = "The entry's path, with its slashes")),
    responses(
        (status = 200, description = "It is there; `Content-Length` and `ETag` say what it is"),
        (status = 304, description = "The caller has it"),
    ))]
async fn head<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    named: Named,
    entry: Entry,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    served(&api, tenant, named, entry, &Method::HEAD, &headers).await
}

async fn served<S: Store>(
    api: &Api<S>,
    tenant: TenantId,
    named: Named,
    Entry(path): Entry,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let version = versions::find(&api.engine, &named.of(tenant)).await?;
    if version.state.get() == version::State::Tombstoned || version.purged {
        return Err(Refusal::VersionNotFound.into());
    }
    let entry = version.entries.iter().find(|entry| entry.path == path);
    let entry = entry.ok_or_else(|| Problem::not_found("entry_not_found", "entry"))?;
    let content = Content { digest: entry.digest, blob: entry.blob, length: entry.length, cache: ASK_AGAIN };
    serve(api, content, method, headers).await
}
