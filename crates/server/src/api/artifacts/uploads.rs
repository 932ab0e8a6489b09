//! Uploads: a session from its announcement to its commit.

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_RANGE};
use axum::http::{HeaderMap, StatusCode};
use decisions::Refusal;
use decisions::records::Upload;
use machines::{Machine, upload};
use store::Store;
use store::blobs::{Blobs, Staging};
use wire::TenantId;
use wire::api::{self, Problem as ProblemBody, UploadView};

use crate::api::artifacts::origin::Origin;
use crate::api::artifacts::ranges::content_range;
use crate::api::artifacts::trouble::offset;
use crate::api::document::Routes;
use crate::api::guard::BlobAccess;
use crate::api::input::{Input, Item};
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::artifacts::parts;
use crate::artifacts::stream::incoming;
use crate::artifacts::uploads::{self, Announced, Span};

pub const CONTENT: &str = "/v1/tenants/{tenant}/uploads/{id}/content";
pub const COMMIT: &str = "/v1/tenants/{tenant}/uploads/{id}/commit";

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes
        .add::<__path_start, _, _>(start::<S>)
        .add::<__path_show, _, _>(show::<S>)
        .add::<__path_abort, _, _>(abort::<S>)
        .add::<__path_content, _, _>(content::<S>)
        .add::<__path_begin_parts, _, _>(begin_parts::<S>)
        .add::<__path_complete, _, _>(complete::<S>)
        .add::<__path_commit, _, _>(commit::<S>)
}

/// Announce a blob
///
/// `initiated`, or `committed` at once when the tenant has these bytes already. A runner sends its lease in
/// `Delta-Lease`, here and on the other routes of uploads and blobs.
#[utoipa::path(post, path = "/v1/tenants/{tenant}/uploads", tag = "uploads", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("Delta-Lease" = Option<String>, Header, description = "A runner's lease")),
    request_body = api::StartUpload,
    responses(
        (status = 201, description = "The upload", body = UploadView),
        (status = 409, description = "The tenant is not ready, or the lease is stale", body = ProblemBody,
            content_type = "application/problem+json"),
        (status = 413, description = "It does not fit into the tenant's quota (`quota_exceeded`)", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn start<S: Store>(
    State(api): State<Api<S>>,
    access: BlobAccess,
    Origin(origin): Origin,
    Input(asked): Input<api::StartUpload>,
) -> Result<(StatusCode, Json<UploadView>), Problem> {
    let BlobAccess { tenant, execution } = access;
    let (digest, length) = (asked.digest, asked.length);
    let announced = Announced { tenant, digest, length, execution, measured: None };
    let upload = uploads::start(&api.engine, announced).await?;
    Ok((StatusCode::CREATED, Json(view(&api, upload, &origin).await?)))
}

/// Look at an upload
///
/// `received` says from where the one stream may go on; `parts` has fresh addresses of parts that may be sent.
#[utoipa::path(get, path = "/v1/tenants/{tenant}/uploads/{id}", tag = "uploads", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "An upload's id")),
    responses(
        (status = 200, description = "The upload", body = UploadView),
        (status = 409, description = "The lease is stale", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn show<S: Store>(
    State(api): State<Api<S>>,
    BlobAccess { tenant, .. }: BlobAccess,
    Origin(origin): Origin,
    Item(id): Item,
) -> Result<Json<UploadView>, Problem> {
    let upload = find(&api, tenant, &id).await?;
    Ok(Json(view(&api, upload, &origin).await?))
}

/// Abort an upload
#[utoipa::path(delete, path = "/v1/tenants/{tenant}/uploads/{id}", tag = "uploads", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "An upload's id")),
    responses(
        (status = 200, description = "It is aborted; nothing of it is kept", body = UploadView),
        (status = 409, description = "It had ended (`upload_ended`), or the lease is stale", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn abort<S: Store>(
    State(api): State<Api<S>>,
    BlobAccess { tenant, .. }: BlobAccess,
    Origin(origin): Origin,
    Item(id): Item,
) -> Result<Json<UploadView>, Problem> {
    let upload = uploads::abort(&api.engine, tenant, id_of(&id)?).await?;
    Ok(Json(view(&api, upload, &origin).await?))
}

/// Send the bytes in one stream
///
/// Hashed while they are written; no `complete` is needed. What broke off goes on with `Content-Range: bytes
/// N-M/LENGTH`, where `N` is what was received; with a bucket always from the beginning. The stream may take as long
/// as it wants, as long as something comes every 30 seconds.
#[utoipa::path(put, path = "/v1/tenants/{tenant}/uploads/{id}/content", tag = "uploads",
    security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "An upload's id"),
        ("Content-Range" = Option<String>, Header, description = "`bytes N-M/LENGTH`, to go on")),
    request_body(content = String, content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "`pending_commit`; or `initiated`, when more is to come", body = UploadView),
        (status = 409, description = "The upload has ended, or goes in parts; or the lease is stale",
            body = ProblemBody, content_type = "application/problem+json"),
        (status = 416, description = "Bytes are expected at `offset`", body = ProblemBody,
            content_type = "application/problem+json"),
        (status = 422, description = "Not the announced length (`length_mismatch`): the upload is aborted",
            body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn content<S: Store>(
    State(api): State<Api<S>>,
    BlobAccess { tenant, .. }: BlobAccess,
    Origin(origin): Origin,
    Item(id): Item,
    request: Request,
) -> Result<Json<UploadView>, Problem> {
    let upload = find(&api, tenant, &id).await?;
    uploads::require_stream(&upload, api.engine.clock().now())?;
    let (head, body) = request.into_parts();
    let announced = content_length(&head.headers)?;
    let span = match head.headers.get(CONTENT_RANGE) {
        Some(value) => {
            let given = value.to_str().ok().and_then(content_range);
            let given =
                given.ok_or_else(|| Problem::invalid("Content-Range", "expected `bytes N-M/LENGTH`"))?;
            going_on(&api, &upload, given, announced).await?
        }
        None => {
            if let Some(length) = announced.filter(|length| *length != upload.length) {
                return Err(uploads::mismatched(&api.engine, &upload, length).await.into());
            }
            Span { first: 0, end: upload.length }
        }
    };
    let upload = uploads::content(&api.artifacts, &api.engine, upload, span, incoming(body)).await?;
    Ok(Json(view(&api, upload, &origin).await?))
}

/// Where a stream goes on, if it fits to what is here.
async fn going_on<S: Store>(
    api: &Api<S>,
    upload: &Upload,
    (span, total): (Span, u64),
    announced: Option<u64>,
) -> Result<Span, Problem> {
    if total != upload.length {
        let problem = format!("the whole was announced with {} bytes", upload.length);
        return Err(Problem::invalid("Content-Range", problem));
    }
    if announced.is_some_and(|length| length != span.end - span.first) {
        return Err(Problem::invalid("Content-Range", "it says another length than `Content-Length`"));
    }
    if span.end < total && matches!(api.artifacts.blobs, Blobs::S3(_)) {
        return Err(Problem::invalid("Content-Range", "the store takes the whole of it in one stream"));
    }
    let received = api.artifacts.blobs.staged(&Staging::new(upload.id)).await.map_err(of_bytes)?;
    if span.first == received { Ok(span) } else { Err(offset(received)) }
}

/// Send the bytes in parts
///
/// Each part goes with `PUT` to an address of its own, which needs no token and runs out; keep the `ETag` of the answer.
#[utoipa::path(post, path = "/v1/tenants/{tenant}/uploads/{id}/parts", tag = "uploads",
    security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "An upload's id")),
    request_body = api::StartParts,
    responses(
        (status = 200, description = "`parts_uploading`, and where to send which part", body = UploadView),
        (status = 409, description = "The upload has ended, or goes another way; or the lease is stale",
            body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn begin_parts<S: Store>(
    State(api): State<Api<S>>,
    BlobAccess { tenant, .. }: BlobAccess,
    Origin(origin): Origin,
    Item(id): Item,
    request: Request,
) -> Result<Json<UploadView>, Problem> {
    let upload = find(&api, tenant, &id).await?;
    let Input(asked) = Input::<api::StartParts>::from_request(request, &()).await?;
    let upload = uploads::begin_parts(&api.artifacts, &api.engine, upload, asked.part_lengths).await?;
    Ok(Json(view(&api, upload, &origin).await?))
}

/// Say that all parts were sent
#[utoipa::path(post, path = "/v1/tenants/{tenant}/uploads/{id}/complete", tag = "uploads",
    security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "An upload's id")),
    request_body = api::CompleteUpload,
    responses(
        (status = 200, description = "`pending_commit`", body = UploadView),
        (status = 409, description = "A part is missing (`parts_missing`), or the upload has ended",
            body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn complete<S: Store>(
    State(api): State<Api<S>>,
    BlobAccess { tenant, .. }: BlobAccess,
    Origin(origin): Origin,
    Item(id): Item,
    request: Request,
) -> Result<Json<UploadView>, Problem> {
    let upload = find(&api, tenant, &id).await?;
    let Input(asked) = Input::<api::CompleteUpload>::from_request(request, &()).await?;
    let parts = asked.parts.into_iter().map(|part| (part.number, part.etag)).collect();
    let upload = uploads::complete(&api.artifacts, &api.engine, upload, parts).await?;
    Ok(Json(view(&api, upload, &origin).await?))
}

/// Commit an upload: the bytes are what was announced, or nothing
#[utoipa::path(post, path = "/v1/tenants/{tenant}/uploads/{id}/commit", tag = "uploads",
    security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "An upload's id")),
    responses(
        (status = 200, description = "`committed`: the blob can be read and referred to", body = UploadView),
        (status = 409, description = "The upload has ended, or its content has not come", body = ProblemBody,
            content_type = "application/problem+json"),
        (status = 422, description = "`digest_mismatch` or `length_mismatch`: the upload is aborted",
            body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn commit<S: Store>(
    State(api): State<Api<S>>,
    BlobAccess { tenant, .. }: BlobAccess,
    Origin(origin): Origin,
    Item(id): Item,
) -> Result<Json<UploadView>, Problem> {
    let upload = find(&api, tenant, &id).await?;
    let upload = uploads::commit(&api.artifacts, &api.engine, upload).await?;
    Ok(Json(view(&api, upload, &origin).await?))
}

async fn find<S: Store>(api: &Api<S>, tenant: TenantId, id: &str) -> Result<Upload, Problem> {
    Ok(uploads::find(&api.engine, tenant, id_of(id)?).await?)
}

fn id_of(text: &str) -> Result<wire::UploadId, Problem> {
    text.parse().map_err(|_| Refusal::UploadNotFound.into())
}

fn of_bytes(error: store::blobs::BlobError) -> Problem {
    crate::artifacts::Trouble::from(error).into()
}

/// What the sender says that it will send.
pub fn content_length(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get(CONTENT_LENGTH) else { return Ok(None) };
    let length = value.to_str().ok().and_then(|text| text.parse().ok());
    length.map(Some).ok_or_else(|| Problem::invalid("Content-Length", "expected a number of bytes"))
}

pub async fn view<S: Store>(api: &Api<S>, upload: Upload, origin: &str) -> Result<UploadView, Problem> {
    let received = match upload.state.get() {
        upload::State::Initiated => {
            api.artifacts.blobs.staged(&Staging::new(upload.id)).await.map_err(of_bytes)?
        }
        upload::State::PendingCommit => upload.measured.map_or(upload.length, |measured| measured.length),
        upload::State::Committed => upload.length,
        upload::State::PartsUploading | upload::State::Aborted => 0,
    };
    let parts = parts::addresses(&api.artifacts, &upload, origin, api.engine.clock().now()).await?;
    Ok(UploadView {
        id: upload.id,
        state: upload.state.get().as_str().into(),
        digest: upload.digest,
        length: upload.length,
        received,
        parts,
        blob_id: upload.got,
        expires_at: upload.expires_at,
        created_at: upload.created_at,
    })
}
