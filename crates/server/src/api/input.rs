//! What a request brings, read in one way: JSON bodies, raw bytes, path and query. Anything wrong is a deterministic 4xx
//! that names the field.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::{DeserializeOwned, IgnoredAny};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

use crate::api::problem::Problem;

/// The largest body of an ordinary request.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// The largest body of a request that brings a plan: ten thousand jobs with a kilobyte and a half each.
pub const PLAN_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The largest body that may be left out and says nothing: `null`, with some space around it.
const NOTHING_BYTES_MAX: usize = 64;

/// How long a body may take to arrive.
pub const BODY_TIME_MAX: Duration = Duration::from_secs(20);

/// A JSON body.
pub struct Input<T, const BYTES_MAX: usize = BODY_BYTES_MAX>(pub T);

impl<S, T, const BYTES_MAX: usize> FromRequest<S> for Input<T, BYTES_MAX>
where
    S: Sync,
    T: DeserializeOwned,
{
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        require_json(&parts.headers)?;
        decode(&read(&parts.headers, body, BYTES_MAX).await?).map(Input)
    }
}

/// A JSON body that may be left out; `null` says the same.
pub struct Maybe<T>(pub T);

impl<S, T> FromRequest<S> for Maybe<T>
where
    S: Sync,
    T: DeserializeOwned + Default,
{
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        // Without the type nothing may be said, and so little is not worth any room.
        let typed = require_json(&parts.headers);
        let most = if typed.is_ok() { BODY_BYTES_MAX } else { NOTHING_BYTES_MAX };
        let bytes = match (read(&parts.headers, body, most).await, &typed) {
            (Err(more), Err(untyped)) if more.status == StatusCode::PAYLOAD_TOO_LARGE => {
                return Err(untyped.clone());
            }
            (bytes, _) => bytes?,
        };
        if bytes.is_empty() || bytes.trim_ascii() == b"null" {
            return Ok(Maybe(T::default()));
        }
        typed?;
        decode(&bytes).map(Maybe)
    }
}

/// The bytes of a body, as they are.
pub struct Raw<const BYTES_MAX: usize>(pub Bytes);

impl<S: Sync, const BYTES_MAX: usize> FromRequest<S> for Raw<BYTES_MAX> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        read(&parts.headers, body, BYTES_MAX).await.map(Raw)
    }
}

/// Whether the body says that it is JSON.
pub fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = given.split(';').next().unwrap_or("").trim();
    kind.eq_ignore_ascii_case("application/json")
}

fn require_json(headers: &HeaderMap) -> Result<(), Problem> {
    if is_json(headers) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "the body must be JSON: send `Content-Type: application/json`",
    ))
}

async fn read(headers: &HeaderMap, body: Body, bytes_max: usize) -> Result<Bytes, Problem> {
    let too_large = || {
        let detail = format!("the body has more than {bytes_max} bytes: send less");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
    };
    let promised = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if promised.is_some_and(|length: u64| length > bytes_max as u64) {
        return Err(too_large());
    }
    // One byte more than allowed tells a body that is too large from one that broke off.
    match tokio::time::timeout(BODY_TIME_MAX, to_bytes(body, bytes_max + 1)).await {
        Ok(Ok(bytes)) if bytes.len() > bytes_max => Err(too_large()),
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_over_limit(&error) => Err(too_large()),
        Ok(Err(_)) => {
            Err(Problem::new(StatusCode::BAD_REQUEST, "incomplete_body", "the body broke off: send it again"))
        }
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "request_timeout",
            "the body took too long to arrive: send it again",
        )),
    }
}

fn is_over_limit(error: &axum::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if error.is::<http_body_util::LengthLimitError>() {
            return true;
        }
        source = error.source();
    }
    false
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    if let Some(problem) = nul(bytes) {
        return Err(problem);
    }
    wire::decode(bytes).map_err(|bad| match serde_json::from_slice::<IgnoredAny>(bytes) {
        Ok(_) => bad.into(),
        Err(error) => {
            let detail = format!("the body is not JSON (line {}, column {})", error.line(), error.column());
            Problem::new(StatusCode::BAD_REQUEST, "malformed_json", detail)
        }
    })
}

/// JSON can hold a NUL only as an escape. PostgreSQL cannot keep one in a text, so nobody may send one.
fn nul(json: &[u8]) -> Option<Problem> {
    const ESCAPE: &[u8] = b"\\u0000";
    let mut rest = json;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        if rest[at..].starts_with(ESCAPE) {
            let detail = "a text holds a NUL character, which cannot be kept: leave it out";
            return Some(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_input", detail));
        }
        rest = rest.get(at + 2..).unwrap_or_default(); // what a backslash escapes begins no escape of its own
    }
    None
}

/// The `{id}` of a path. What no id can be is left to whoever looks for it: it is not found.
pub struct Item(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Item {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        path_part(parts, state, "id").await.map(Item)
    }
}

/// One named part of the path.
pub async fn path_part<S: Send + Sync>(parts: &mut Parts, state: &S, name: &str) -> Result<String, Problem> {
    let missing = || Problem::not_found("not_found", "thing");
    let params = RawPathParams::from_request_parts(parts, state).await.map_err(|_| missing())?;
    let found = params.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string());
    found.filter(|value| !value.contains('\0')).ok_or_else(missing)
}

/// The query, by its fields.
pub struct Asked<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        query.map(|Query(asked)| Asked(asked)).map_err(|_| {
            let detail = "the query cannot be read: give each parameter once, percent-encoded";
            Problem::new(StatusCode::BAD_REQUEST, "invalid_query", detail)
        })
    }
}

/// The usual query of a list.
#[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// The most items, 100 without it; more than 1,000 is taken as 1,000.
    #[param(schema_with = limit_schema)]
    limit: Option<String>,
    /// `next` of the page before.
    #[param(nullable = false)]
    pub after: Option<String>,
}

/// Any number of items may be asked for, however large: no format of a number says that.
pub fn limit_schema() -> Schema {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).build().into()
}

/// The most items of a page.
pub const LIMIT_MAX: usize = 1_000;
const LIMIT_USUAL: usize = 100;

impl ListQuery {
    pub fn limit(&self) -> Result<usize, Problem> {
        limit(self.limit.as_deref())
    }

    /// Where the page begins.
    pub fn after<T: std::str::FromStr>(&self) -> Result<Option<T>, Problem> {
        parsed("after", self.after.as_deref())
    }
}

/// A number of items, clamped to what a page may hold.
pub fn limit(text: Option<&str>) -> Result<usize, Problem> {
    match text {
        None | Some("") => Ok(LIMIT_USUAL),
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(text.parse().unwrap_or(LIMIT_MAX).clamp(1, LIMIT_MAX)) // too long to be read is too large
        }
        Some(_) => Err(Problem::invalid("limit", "expected a number of items")),
    }
}

pub fn parsed<T: std::str::FromStr>(field: &'static str, text: Option<&str>) -> Result<Option<T>, Problem> {
    match text {
        None | Some("") => Ok(None),
        Some(text) => match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(Problem::invalid(field, "not one of ours: use `next` of the page before")),
        },
    }
}

/// Cuts a list that was asked for with one item more than the page holds; `Some` names the last item that stays.
pub fn cut<T>(items: &mut Vec<T>, limit: usize) -> Option<&T> {
    let more = items.len() > limit;
    items.truncate(limit);
    if more { items.last() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_escape_that_counts_is_a_nul() {
        for (json, found) in [
            (r#""\u0000""#, true),
            (r#""\\u0000""#, false),
            (r#""\\\u0000""#, true),
            (r#""\u00001""#, true),
            (r#""\u0001 u0000""#, false),
            (r#""\"#, false),
        ] {
            assert_eq!(nul(json.as_bytes()).is_some(), found, "{json}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_given_up() {
        let body = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        let problem = read(&HeaderMap::new(), body, BODY_BYTES_MAX).await.expect_err("it never comes");
        assert_eq!((problem.status, problem.code), (StatusCode::REQUEST_TIMEOUT, "request_timeout"));
    }

    #[tokio::test]
    async fn a_body_without_a_type_is_not_read_for_its_content() {
        let endless =
            || futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(b"  ")));
        let maybe = async |body| Maybe::<Option<String>>::from_request(Request::new(body), &()).await;
        let problem = maybe(Body::from_stream(endless())).await.err().expect("it is no JSON");
        assert_eq!(problem.code, "unsupported_media_type");
        for nothing in ["", " null\n"] {
            assert!(maybe(Body::from(nothing)).await.expect("it says nothing").0.is_none());
        }
        let problem = maybe(Body::from("{}")).await.err().expect("it says something");
        assert_eq!(problem.code, "unsupported_media_type");
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_said_to() {
        let broken = futures_util::stream::iter([Err::<Bytes, _>(std::io::Error::other("gone"))]);
        let problem = read(&HeaderMap::new(), Body::from_stream(broken), 10).await.expect_err("it broke");
        assert_eq!((problem.status, problem.code), (StatusCode::BAD_REQUEST, "incomplete_body"));
    }
}
