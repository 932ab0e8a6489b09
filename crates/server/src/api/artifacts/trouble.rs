//! How trouble with bytes is said.

use axum::http::StatusCode;
use store::blobs::BlobError;

use crate::api::problem::Problem;
use crate::artifacts::Trouble;
use crate::artifacts::stream::Broken;

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Problem {
        match trouble {
            Trouble::Failed(failure) => failure.into(),
            Trouble::Store(error) => error.into(),
            Trouble::Bytes(error) => of_bytes(error),
            Trouble::Body(Broken::Off) => Problem::new(
                StatusCode::BAD_REQUEST,
                "incomplete_body",
                "the body broke off: go on from where it is now, or send it again",
            ),
            Trouble::Body(Broken::Idle) => Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "request_timeout",
                "nothing came for a while: go on from where it is now, or send it again",
            ),
            Trouble::Mismatched { field } => mismatched(field),
            Trouble::Offset { expected } => offset(expected),
            Trouble::Quarantined { reason } => {
                let detail = format!("the policy holds it back ({reason}): an administrator may release it");
                Problem::new(StatusCode::CONFLICT, "quarantined", detail)
            }
            Trouble::NotJudged(why) => {
                tracing::warn!(%why, "the policy gives no verdict");
                Problem::unavailable(
                    "policy_unavailable",
                    "the policy gives no verdict, so nothing was published: try again later",
                )
            }
            Trouble::Mistake => Problem::internal(),
        }
    }
}

pub fn mismatched(field: &'static str) -> Problem {
    let code = if field == "length" { "length_mismatch" } else { "digest_mismatch" };
    let detail = format!("the {field} is not what was announced, so nothing was kept: start a new upload");
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail)
}

pub fn offset(expected: u64) -> Problem {
    let detail = format!("the content goes on at offset {expected}: send what follows from there");
    let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "upload_offset", detail);
    Problem { offset: Some(expected), ..problem }
}

fn of_bytes(error: BlobError) -> Problem {
    match error {
        BlobError::TooLong { .. } | BlobError::TooShort { .. } => Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "length_mismatch",
            format!("{error}, so nothing of it was kept: send it again"),
        ),
        BlobError::Gap { staged } => offset(staged),
        BlobError::PartMissing { .. } | BlobError::PartsRefused(_) => {
            Problem::new(StatusCode::CONFLICT, "parts_missing", format!("{error}: start a new upload"))
        }
        BlobError::Busy => Problem::unavailable(
            "upload_busy",
            "another request is writing to this upload: try again in a moment",
        ),
        BlobError::Full => {
            tracing::error!("there is no room for artifacts");
            Problem::unavailable("blobs_full", "there is no room for these bytes: try again later")
        }
        BlobError::Unavailable(what) => {
            tracing::warn!(%what, "the store of bytes does not answer");
            Problem::unavailable("blobs_unavailable", "the store of bytes does not answer: try again later")
        }
        error @ (BlobError::NotFound | BlobError::Torn { .. }) => {
            tracing::error!(%error, "bytes that are on record are not here");
            Problem::internal()
        }
    }
}
