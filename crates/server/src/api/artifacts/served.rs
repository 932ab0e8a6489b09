//! Bytes as an answer: whole or a part, or not at all when the caller has them.

use axum::body::Body;
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH, IF_RANGE,
    RANGE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use store::Store;
use store::blobs::BlobKey;
use wire::{BlobId, Digest};

use crate::api::artifacts::ranges::{Wanted, wanted};
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::artifacts::bytes::{self, Whole};

/// What is behind a digest never changes.
pub const FOR_EVER: &str = "private, max-age=31536000, immutable";

/// What is behind a name may be withdrawn: ask again, with the digest.
pub const ASK_AGAIN: &str = "private, no-cache";

/// What there is to be served.
pub struct Content {
    pub digest: Digest,
    pub blob: BlobId,
    pub length: u64,
    pub cache: &'static str,
}

pub async fn serve<S: Store>(
    api: &Api<S>,
    content: Content,
    method: &Method,
    asked: &HeaderMap,
) -> Result<Response, Problem> {
    let etag = format!("\"{}\"", content.digest);
    let mut headers = HeaderMap::new();
    let mut set = |name: HeaderName, value: &str| {
        headers.insert(name, HeaderValue::from_str(value).expect("it is plain ASCII"));
    };
    set(ETAG, &etag);
    set(CACHE_CONTROL, content.cache);
    set(ACCEPT_RANGES, "bytes");
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    if text(asked, &IF_NONE_MATCH).is_some_and(|given| names(given, &etag)) {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    // A range of something else than the caller thinks would be of no use to it.
    let same = text(asked, &IF_RANGE).is_none_or(|given| given.trim() == etag);
    let range = text(asked, &RANGE).filter(|_| same && *method == Method::GET);
    let (status, range) = match wanted(range, content.length) {
        Wanted::Whole => (StatusCode::OK, 0..content.length),
        Wanted::Part(range) => {
            set(CONTENT_RANGE, &format!("bytes {}-{}/{}", range.start, range.end - 1, content.length));
            (StatusCode::PARTIAL_CONTENT, range)
        }
        Wanted::Nothing => return Ok(nothing(content.length)),
    };
    set(CONTENT_TYPE, "application/octet-stream");
    set(CONTENT_LENGTH, &(range.end - range.start).to_string());
    if *method == Method::HEAD || range.is_empty() {
        return Ok((status, headers).into_response());
    }
    let whole = Whole { key: BlobKey::new(&content.digest, content.blob), length: content.length };
    let bytes = bytes::read(api.engine.store(), &api.artifacts.blobs, &whole, range).await?;
    Ok((status, headers, Body::from_stream(bytes)).into_response())
}

fn nothing(length: u64) -> Response {
    let detail = format!("there are {length} bytes, and none of them was asked for");
    let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range_not_satisfiable", detail);
    let mut response = problem.into_response();
    let value = HeaderValue::from_str(&format!("bytes */{length}")).expect("it is plain ASCII");
    response.headers_mut().insert(CONTENT_RANGE, value);
    response
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether a list of tags has this one, or all.
fn names(list: &str, etag: &str) -> bool {
    list.split(',').map(str::trim).any(|given| given == "*" || given.trim_start_matches("W/") == etag)
}
