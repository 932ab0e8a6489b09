//! `PUT /v1/parts/…`: one part, to whoever holds its signed address. Only where bytes are files; a bucket has its own.

use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::ETAG;
use axum::response::{IntoResponse, Response};
use store::Store;
use wire::api::Problem as ProblemBody;

use crate::api::artifacts::uploads::content_length;
use crate::api::document::Routes;
use crate::api::input::Asked;
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::artifacts::parts::{self, Signed};
use crate::artifacts::stream::incoming;

pub const ROUTE: &str = "/v1/parts/{upload}/{number}";

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes.add::<__path_put, _, _>(put::<S>)
}

#[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct PartQuery {
    /// As the address has it.
    #[param(nullable = false)]
    expires: Option<String>,
    /// As the address has it.
    #[param(nullable = false)]
    signature: Option<String>,
}

/// Send a part, to an address that `…/parts` gave out
///
/// It may be sent again; the last one counts.
#[utoipa::path(put, path = "/v1/parts/{upload}/{number}", tag = "uploads",
    params(("upload" = String, Path, description = "An upload's id"),
        ("number" = String, Path, description = "The part's number, from 1"), PartQuery),
    request_body(content = String, content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "Kept, durably; the `ETag` is what `complete` wants"),
        (status = 403, description = "Not an address of ours, or it has run out", body = ProblemBody,
            content_type = "application/problem+json"),
        (status = 409, description = "The upload takes no parts now", body = ProblemBody,
            content_type = "application/problem+json"),
        (status = 422, description = "Not as long as was said (`length_mismatch`): nothing of it was kept",
            body = ProblemBody, content_type = "application/problem+json"),
    ))]
async fn put<S: Store>(State(api): State<Api<S>>, request: Request) -> Result<Response, Problem> {
    let (mut head, body) = request.into_parts();
    let no = || {
        let detail = "no address of ours, or it has run out: look at the upload for a fresh one";
        Problem::new(StatusCode::FORBIDDEN, "bad_signature", detail)
    };
    let Path((upload, number)): Path<(String, String)> =
        Path::from_request_parts(&mut head, &()).await.map_err(|_| no())?;
    let Asked(query) = Asked::<PartQuery>::from_request_parts(&mut head, &()).await?;
    let signed = Signed {
        upload: upload.parse().map_err(|_| no())?,
        number: number.parse().map_err(|_| no())?,
        expires: query.expires.and_then(|text| text.parse().ok()).ok_or_else(no)?,
        signature: query.signature.as_deref().unwrap_or_default(),
    };
    let (upload, length) = parts::opened(&api.artifacts, &api.engine, &signed).await?.ok_or_else(no)?;
    if let Some(found) = content_length(&head.headers)?.filter(|found| *found != length) {
        let detail = format!("the part has {length} bytes, not {found}: send exactly those");
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "length_mismatch", detail));
    }
    let etag = parts::write(&api.artifacts, &upload, signed.number, length, incoming(body)).await?;
    Ok((StatusCode::OK, [(ETAG, format!("\"{etag}\""))]).into_response())
}
