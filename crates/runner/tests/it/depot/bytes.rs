//! Uploads and blobs.

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::{Fault, ONE_REQUEST_BYTES_MAX, Shared, Upload, digest_of, faulty, id_of, problem, view};

pub async fn put_blob(
    State(depot): Shared,
    Path((_, digest)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let fault = depot.heard("put-blob", &headers);
    assert!(headers.contains_key("content-length"), "{headers:?}");
    if let Some(fault @ (Fault::Status(_) | Fault::Stale | Fault::Hang)) = fault {
        return faulty(fault).await;
    }
    let (bytes, whole) = depot.take(body, fault).await;
    if !whole {
        return faulty(Fault::LoseAnswer).await;
    }
    assert!(bytes.len() <= ONE_REQUEST_BYTES_MAX);
    if digest_of(&bytes) != digest {
        return problem(422, "digest_mismatch");
    }
    let upload = Upload {
        digest: digest.clone(),
        length: bytes.len() as u64,
        state: "committed",
        staged: bytes.clone(),
    };
    depot.with(|inner| inner.blobs.insert(digest, bytes.into()));
    if fault.is_some() {
        return faulty(Fault::LoseAnswer).await;
    }
    (StatusCode::CREATED, Json(view(&id_of("upl", 0), &upload))).into_response()
}

pub async fn start(State(depot): Shared, headers: HeaderMap, Json(wanted): Json<Value>) -> Response {
    if let Some(fault) = depot.heard("start", &headers) {
        return faulty(fault).await;
    }
    let made = depot.with(|inner| {
        let id = id_of("upl", inner.uploads.len() + 1);
        let digest = wanted["digest"].as_str().unwrap().to_string();
        let state = if inner.blobs.contains_key(&digest) { "committed" } else { "initiated" };
        let upload = Upload { digest, length: wanted["length"].as_u64().unwrap(), state, staged: Vec::new() };
        let shown = view(&id, &upload);
        inner.uploads.insert(id, upload);
        shown
    });
    (StatusCode::CREATED, Json(made)).into_response()
}

pub async fn look(
    State(depot): Shared,
    Path((_, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    if let Some(fault) = depot.heard("look", &headers) {
        return faulty(fault).await;
    }
    depot.with(|inner| match inner.uploads.get(&id) {
        Some(upload) => Json(view(&id, upload)).into_response(),
        None => problem(404, "upload_not_found"),
    })
}

pub async fn content(
    State(depot): Shared,
    Path((_, id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let fault = depot.heard("content", &headers);
    if let Some(fault @ (Fault::Status(_) | Fault::Stale | Fault::Hang)) = fault {
        return faulty(fault).await;
    }
    let offset = match headers.get("content-range") {
        None => 0,
        Some(range) => {
            let range = range.to_str().unwrap().strip_prefix("bytes ").expect("bytes");
            let (first, rest) = range.split_once('-').expect("a range");
            let (last, total) = rest.split_once('/').expect("a total");
            assert_eq!(last.parse::<u64>().unwrap() + 1, total.parse::<u64>().unwrap());
            first.parse::<usize>().unwrap()
        }
    };
    let ended = depot.with(|inner| match inner.uploads.get_mut(&id) {
        None => Some(problem(404, "upload_not_found")),
        Some(upload) if ["committed", "aborted"].contains(&upload.state) => {
            Some(problem(409, "upload_ended"))
        }
        Some(upload) if offset != 0 && offset != upload.staged.len() => Some(problem(416, "wrong_offset")),
        Some(upload) => {
            upload.staged.truncate(offset);
            None
        }
    });
    if let Some(ended) = ended {
        return ended;
    }
    let (bytes, whole) = depot.take(body, fault).await;
    let shown = depot.with(|inner| {
        let upload = inner.uploads.get_mut(&id).unwrap();
        upload.staged.extend_from_slice(&bytes);
        if whole {
            upload.state = "pending_commit";
        }
        view(&id, upload)
    });
    if !whole || fault.is_some() { faulty(Fault::LoseAnswer).await } else { Json(shown).into_response() }
}

pub async fn commit(
    State(depot): Shared,
    Path((_, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let fault = depot.heard("commit", &headers);
    if let Some(fault @ (Fault::Status(_) | Fault::Stale)) = fault {
        return faulty(fault).await;
    }
    let answer = depot.with(|inner| {
        let Some(upload) = inner.uploads.get_mut(&id) else { return problem(404, "upload_not_found") };
        if upload.state != "pending_commit" {
            return problem(409, if upload.state == "initiated" { "not_complete" } else { "upload_ended" });
        }
        if digest_of(&upload.staged) != upload.digest {
            upload.state = "aborted";
            return problem(422, "digest_mismatch");
        }
        upload.state = "committed";
        inner.blobs.insert(upload.digest.clone(), upload.staged.clone().into());
        Json(view(&id, upload)).into_response()
    });
    if fault.is_some() { faulty(Fault::LoseAnswer).await } else { answer }
}

pub async fn get_blob(
    State(depot): Shared,
    Path((_, digest)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let fault = depot.heard("get-blob", &headers);
    if let Some(fault @ (Fault::Status(_) | Fault::Hang)) = fault {
        return faulty(fault).await;
    }
    let Some(bytes) = depot.with(|inner| inner.blobs.get(&digest).cloned()) else {
        return problem(404, "blob_not_found");
    };
    let total = bytes.len();
    let range = headers.get("range").map(|range| range.to_str().unwrap().to_string());
    let from = range.as_ref().map(|range| {
        range
            .strip_prefix("bytes=")
            .and_then(|range| range.strip_suffix('-'))
            .unwrap()
            .parse::<usize>()
            .unwrap()
    });
    if from.is_some_and(|from| from >= total) {
        return problem(416, "range_not_satisfiable");
    }
    let wanted = bytes.slice(from.unwrap_or(0)..);
    let length = wanted.len();
    let pieces: Vec<Result<Bytes, std::io::Error>> = match fault {
        Some(Fault::Cut(most)) => {
            vec![Ok(wanted.slice(..most.min(length))), Err(std::io::Error::other("cut"))]
        }
        _ => vec![Ok(wanted)],
    };
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    let response = Response::builder().header("content-length", length);
    match from {
        Some(from) => response
            .status(206)
            .header("content-range", format!("bytes {from}-{}/{total}", total - 1))
            .body(body)
            .unwrap(),
        None => response.body(body).unwrap(),
    }
}
