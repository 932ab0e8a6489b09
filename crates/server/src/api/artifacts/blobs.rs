//! Blobs: brought in one request when they are small, and read.

use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::EXPECT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use decisions::records::{INLINE_BYTES_MAX, Upload};
use futures_util::StreamExt;
use store::Store;
use wire::Digest;
use wire::api::{Problem as ProblemBody, UploadView};

use crate::api::artifacts::served::{Content, FOR_EVER, serve};
use crate::api::artifacts::trouble::mismatched;
use crate::api::artifacts::uploads::{content_length, view};
use crate::api::document::Routes;
use crate::api::guard::BlobAccess;
use crate::api::input::path_part;
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::artifacts::small::{self, SMALL_BYTES_MAX, TooLarge};
use crate::artifacts::stream::{Incoming, incoming};
use crate::artifacts::uploads::{Announced, start};

pub const ROUTE: &str = "/v1/tenants/{tenant}/blobs/{digest}";

/// How long a small body may take to arrive, and all of the request.
const ARRIVAL_TIME_MAX: Duration = Duration::from_secs(60);
pub const PUT_TIME_MAX: Duration = Duration::from_secs(120);

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes
        .add::<__path_put, _, _>(put::<S>)
        .add::<__path_get, _, _>(get::<S>)
        .add::<__path_head, _, _>(head::<S>)
}

/// The `{digest}` of a path.
pub struct Named(pub Digest);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = path_part(parts, state, "digest").await?;
        let problem = "expected `sha256:` and 64 hexadecimal digits in small letters";
        text.parse().map(Named).map_err(|_| Problem::invalid("digest", problem))
    }
}

/// Bring a small blob in one request
///
/// At most 8 MiB; what is larger is an upload. Of bytes that the tenant has already nothing is read if the request says
/// `Expect: 100-continue`.
#[utoipa::path(put, path = "/v1/tenants/{tenant}/blobs/{digest}", tag = "blobs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("digest" = String, Path, description = "`sha256:` and 64 hexadecimal digits")),
    request_body(content = String, content_type = "application/octet-stream"),
    responses(
        (status = 201, description = "The blob is here", body = UploadView),
        (status = 200, description = "The tenant had it already", body = UploadView),
        (status = 409, description = "The tenant is not ready, or the lease is stale", body = ProblemBody,
            content_type = "application/problem+json"),
        (status = 413, description = "Larger than 8 MiB (`body_too_large`), or than what is left of the quota \
            (`quota_exceeded`)", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "Other bytes than the digest says (`digest_mismatch`), or no digest",
            body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn put<S: Store>(
    State(api): State<Api<S>>,
    access: BlobAccess,
    Named(digest): Named,
    request: Request,
) -> Result<(StatusCode, Json<UploadView>), Problem> {
    let (head, body) = request.into_parts();
    let announced = content_length(&head.headers)?;
    if announced.is_some_and(|length| length > SMALL_BYTES_MAX) {
        return Err(too_large());
    }
    let waits = head.headers.contains_key(EXPECT);
    let bytes = incoming(body);
    let BlobAccess { tenant, execution } = access;
    // Of a few bytes that are coming anyway the commit itself says whether the tenant has them: a look before it would wait for
    // whatever is on its way to the disk.
    let asked_by_commit = !waits && announced.is_some_and(|length| length <= INLINE_BYTES_MAX);
    if !asked_by_commit && let Some(blob) = api.engine.store().blob_of(tenant, digest).await? {
        if announced.is_some_and(|length| length != blob.length) {
            return Err(mismatched("length"));
        }
        if !waits {
            drained(bytes).await?;
        }
        let known = Announced { tenant, digest, length: blob.length, execution, measured: None };
        let upload = start(&api.engine, known).await?;
        if !upload.is_open() {
            return answered(&api, false, upload).await;
        }
        // It was collected in this moment.
        crate::artifacts::uploads::abort(&api.engine, tenant, upload.id).await?;
        return Err(Problem::unavailable("blob_collected", "it is being collected: send it again"));
    }
    let room = announced.unwrap_or(SMALL_BYTES_MAX).div_ceil(1024).max(1) as u32;
    let _room = api.artifacts.small_room.acquire_many(room).await.map_err(|_| Problem::internal())?;
    let reading = tokio::time::timeout(ARRIVAL_TIME_MAX, small::read(bytes, announced)).await;
    let read = reading.map_err(|_| too_slow())??;
    let bytes = read.map_err(|TooLarge| too_large())?;
    let put = small::put(&api.artifacts, &api.engine, (tenant, execution), digest, bytes).await;
    let (new, upload) = put?;
    answered(&api, new, upload).await
}

/// A client that has begun to send hears the answer only when it is done.
async fn drained(mut bytes: Incoming) -> Result<(), Problem> {
    let mut left = SMALL_BYTES_MAX;
    while let Some(piece) = bytes.next().await {
        let length = piece.map_err(crate::artifacts::Trouble::from)?.len() as u64;
        left = left.checked_sub(length).ok_or_else(too_large)?;
    }
    Ok(())
}

async fn answered<S: Store>(
    api: &Api<S>,
    new: bool,
    upload: Upload,
) -> Result<(StatusCode, Json<UploadView>), Problem> {
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(view(api, upload, "").await?)))
}

fn too_large() -> Problem {
    let detail = format!("more than {SMALL_BYTES_MAX} bytes in one request: start an upload instead");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
}

fn too_slow() -> Problem {
    let detail = "the body took too long to arrive: send it again, or start an upload";
    Problem::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", detail)
}

/// Read a blob
///
/// One range at a time (`Range`, `If-Range`); several are answered with the whole. The `ETag` is the digest.
#[utoipa::path(get, path = "/v1/tenants/{tenant}/blobs/{digest}", tag = "blobs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("digest" = String, Path, description = "`sha256:` and 64 hexadecimal digits"),
        ("Range" = Option<String>, Header, description = "Such as `bytes=0-99`, `bytes=100-`, `bytes=-100`"),
        ("If-Range" = Option<String>, Header, description = "The `ETag` that the range is of"),
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` that the caller has")),
    responses(
        (status = 200, description = "The bytes", body = String, content_type = "application/octet-stream"),
        (status = 206, description = "A part of them", body = String, content_type = "application/octet-stream"),
        (status = 304, description = "The caller has them"),
        (status = 409, description = "The lease is stale", body = ProblemBody,
            content_type = "application/problem+json"),
        (status = 416, description = "No bytes in this range", body = ProblemBody,
            content_type = "application/problem+json"),
        (status = 422, description = "No digest", body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn get<S: Store>(
    State(api): State<Api<S>>,
    access: BlobAccess,
    Named(digest): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    served(&api, &access, digest, &Method::GET, &headers).await
}

/// Look at a blob without its bytes
#[utoipa::path(head, path = "/v1/tenants/{tenant}/blobs/{digest}", tag = "blobs", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("digest" = String, Path, description = "`sha256:` and 64 hexadecimal digits")),
    responses(
        (status = 200, description = "It is here; `Content-Length` and `ETag` say what it is"),
        (status = 304, description = "The caller has it"),
        (status = 409, description = "The lease is stale", body = ProblemBody,
            content_type = "application/problem+json"),
        (status = 422, description = "No digest", body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn head<S: Store>(
    State(api): State<Api<S>>,
    access: BlobAccess,
    Named(digest): Named,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    served(&api, &access, digest, &Method::HEAD, &headers).await
}

async fn served<S: Store>(
    api: &Api<S>,
    access: &BlobAccess,
    digest: Digest,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let found = api.engine.store().blob_of(access.tenant, digest).await?;
    let blob = found.ok_or_else(|| Problem::not_found("blob_not_found", "blob"))?;
    let content = Content { digest, blob: blob.id, length: blob.length, cache: FOR_EVER };
    serve(api, content, method, headers).await
}
