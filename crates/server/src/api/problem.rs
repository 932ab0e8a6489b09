//! Errors as the API says them: every refusal, failure and bad request becomes RFC 9457 `application/problem+json` here.
//!
//! Codes are stable. Details tell what to do next and never hold a secret: what a store or a panic said is logged.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use decisions::Refusal;
use store::StoreError;
use wire::BadMessage;

use crate::perform::{Failure, Unavailable};

/// When a client may try again, in seconds.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// One error on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub status: StatusCode,
    pub code: &'static str,
    pub detail: String,
    pub field: Option<String>,
    pub offset: Option<u64>,
}

/// The code of a problem, left in its response for the metrics.
#[derive(Debug, Clone, Copy)]
pub struct Code(pub &'static str);

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Problem {
        Problem { status, code, detail: detail.into(), field: None, offset: None }
    }

    /// One field of the request is at fault.
    pub fn invalid(field: impl Into<String>, problem: impl AsRef<str>) -> Problem {
        let field = field.into();
        let detail = format!("field `{field}`: {}", problem.as_ref());
        Problem {
            field: Some(field),
            ..Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_input", detail)
        }
    }

    /// There is no such thing here, or it is not the caller's to see; the two look the same.
    pub fn not_found(code: &'static str, what: &str) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, code, format!("no such {what}: check the id"))
    }

    pub fn unauthorized() -> Problem {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "no valid token: send `Authorization: Bearer TOKEN` with one that was not revoked",
        )
    }

    pub fn forbidden(detail: &'static str) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    pub fn internal() -> Problem {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal_error",
            "a mistake of ours, noted in the server's log: please report it",
        )
    }

    /// Try again later.
    pub fn unavailable(code: &'static str, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
    }

    /// The handler took longer than a request may; what it had begun may still happen.
    pub fn took_too_long() -> Problem {
        Problem::unavailable(
            "outcome_unknown",
            "no answer in time, and it is not known whether anything was written: send the same request again",
        )
    }

    pub fn stopping() -> Problem {
        Problem::unavailable("stopping", "the server is stopping: try again in a moment")
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let mut problem = Problem::new(status_of(&refusal), refusal.code(), refusal.to_string());
        if let Refusal::InvalidInput { field, .. } = refusal {
            problem.field = Some(field.into());
        }
        if let Refusal::LogOffset { expected } = refusal {
            problem.offset = Some(expected);
        }
        problem
    }
}

fn status_of(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::TenantNotFound
        | Refusal::RunNotFound
        | Refusal::JobNotFound
        | Refusal::DeliveryNotFound
        | Refusal::WebhookNotFound
        | Refusal::TokenNotFound
        | Refusal::UploadNotFound
        | Refusal::VersionNotFound
        | Refusal::CacheNotFound
        | Refusal::CollectionNotFound => StatusCode::NOT_FOUND,
        Refusal::StaleLease { .. }
        | Refusal::LeaseNotAcknowledged
        | Refusal::CancelRequested
        | Refusal::CancelNotRequested
        | Refusal::TenantNotReady { .. }
        | Refusal::TenantExists
        | Refusal::LogGrows
        | Refusal::RunNotPlanning { .. }
        | Refusal::RunOver { .. }
        | Refusal::RunNotOver { .. }
        | Refusal::RunHasNoPlan
        | Refusal::JobOver { .. }
        | Refusal::JobNotRetryable { .. }
        | Refusal::JobConflict
        | Refusal::AlreadyCommitted
        | Refusal::DeliveryNotDead { .. }
        | Refusal::ClaimLost
        | Refusal::UploadEnded { .. }
        | Refusal::UploadNotReady { .. }
        | Refusal::UploadInParts
        | Refusal::PartsMissing { .. }
        | Refusal::BlobMissing { .. }
        | Refusal::Immutable
        | Refusal::VersionChanged
        | Refusal::VersionNotPublished
        | Refusal::VersionTombstoned
        | Refusal::RetentionOver
        | Refusal::CollectionLost
        | Refusal::MarkNotComplete => StatusCode::CONFLICT,
        // What was announced is too large for what is left.
        Refusal::QuotaExceeded { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Refusal::JobLeased | Refusal::JobNotReady => StatusCode::LOCKED,
        Refusal::PlanInvalid { .. } | Refusal::InvalidInput { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Refusal::LogOffset { .. } => StatusCode::RANGE_NOT_SATISFIABLE,
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Problem {
        let code = failure.code();
        match failure {
            Failure::Refused(refusal) => refusal.into(),
            Failure::Busy => Problem::unavailable(code, "the server is busy: try again in a moment"),
            Failure::Unavailable(Unavailable::Stopping) => Problem::stopping(),
            Failure::Unavailable(Unavailable::Store(what)) => {
                tracing::warn!(%what, "the store is not available");
                Problem::unavailable(code, "the store is not available, nothing was written: try again later")
            }
            Failure::Unknown(what) => {
                tracing::warn!(%what, "the store did not say whether it wrote");
                Problem::unavailable(
                    code,
                    "it is not known whether this was written: send the same request again",
                )
            }
            Failure::Bug(what) => {
                tracing::error!(%what, "a command met a mistake of ours");
                Problem::internal()
            }
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        match error {
            StoreError::Unavailable(what) | StoreError::Unknown(what) | StoreError::Conflict(what) => {
                tracing::warn!(%what, "the store does not answer");
                Problem::unavailable("store_unavailable", "the store does not answer: try again later")
            }
            StoreError::Violation(what) => {
                tracing::error!(%what, "a question met a mistake of ours");
                Problem::internal()
            }
        }
    }
}

impl From<BadMessage> for Problem {
    fn from(bad: BadMessage) -> Problem {
        let bad = BadMessage { problem: in_words_of_json(&bad.problem), ..bad };
        let problem = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_input", bad.to_string());
        Problem { field: (!bad.field.is_empty()).then_some(bad.field), ..problem }
    }
}

/// serde says which type of ours it wanted; whoever sent the message knows those of JSON.
fn in_words_of_json(problem: &str) -> String {
    let Some((found, wanted)) = problem.rsplit_once(", expected ") else { return problem.into() };
    let wanted = match wanted {
        "f32" | "f64" => "a number",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number that is not negative",
        "a sequence" => "a list",
        "a map" => "an object",
        "unit" => "null",
        _ if wanted.starts_with("struct ") => "an object",
        _ => wanted,
    };
    format!("{found}, expected {wanted}")
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = wire::api::Problem {
            kind: format!("urn:deltaci:problem:{}", self.code),
            title: title(self.code),
            status: self.status.as_u16(),
            detail: self.detail,
            code: self.code.into(),
            field: self.field,
            offset: self.offset,
        };
        let mut response = (self.status, Json(body)).into_response();
        response.extensions_mut().insert(Code(self.code));
        let mut set = |name: HeaderName, value: HeaderValue| response.headers_mut().insert(name, value);
        set(header::CONTENT_TYPE, PROBLEM_JSON);
        match self.status {
            StatusCode::UNAUTHORIZED => {
                set(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"deltaci\""));
            }
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::LOCKED => {
                set(header::RETRY_AFTER, RETRY_AFTER);
            }
            _ => {}
        }
        response
    }
}

/// `stale_lease` reads "Stale lease".
fn title(code: &str) -> String {
    let mut title = code.replace('_', " ");
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_expected_is_said_in_words_of_json() {
        for (said, plain) in [
            ("invalid type: string \"x\", expected f64", "invalid type: string \"x\", expected a number"),
            (
                "invalid value: integer `-1`, expected u32",
                "invalid value: integer `-1`, expected a whole number that is not negative",
            ),
            ("invalid type: null, expected struct JobSpec", "invalid type: null, expected an object"),
            ("invalid type: map, expected a sequence", "invalid type: map, expected a list"),
            ("invalid type: map, expected a string", "invalid type: map, expected a string"),
            ("missing", "missing"),
        ] {
            assert_eq!(in_words_of_json(said), plain);
        }
    }
}
