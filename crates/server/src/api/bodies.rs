//! Room for large bodies: what callers may make us hold in memory at a time, from before a body is read until its request is
//! answered. The queue of commands bounds how many wait, this how large they are together.
//!
//! Only JSON, which is read whole; streams of bytes pass through.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::api::input::{BODY_BYTES_MAX, PLAN_BYTES_MAX, is_json};
use crate::api::problem::Problem;

/// For all of them together.
const ROOM_KIB: usize = 256 * 1024;

/// Up to here a body takes no room: as many as there are connections fit beside the large ones.
const SMALL_BYTES: u64 = 16 * 1024;

/// How long a body waits for room.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Routes whose bodies bring a plan, a version or what a job came to. All others take [`BODY_BYTES_MAX`] at most.
const LARGE: [&str; 3] =
    ["/v1/tenants/{tenant}/runs", "/v1/tenants/{tenant}/packages/{name}/versions", "/v1/runner/complete"];

pub struct Bodies(Arc<Semaphore>);

/// Room that one body takes until the last of this is dropped.
#[derive(Debug, Clone)]
pub struct Room {
    _taken: Arc<OwnedSemaphorePermit>,
}

impl Default for Bodies {
    fn default() -> Bodies {
        Bodies::of_kib(ROOM_KIB)
    }
}

impl Bodies {
    pub fn of_kib(kib: usize) -> Bodies {
        Bodies(Arc::new(Semaphore::new(kib)))
    }

    /// Keep what it returns until the request is answered.
    pub async fn room(&self, route: &str, headers: &HeaderMap) -> Result<Option<Room>, Problem> {
        let bytes = bytes_of(route, headers);
        if bytes <= SMALL_BYTES {
            return Ok(None);
        }
        let kib = bytes.div_ceil(1024) as u32;
        let room = timeout(WAIT_MAX, self.0.clone().acquire_many_owned(kib)).await;
        let room = room.map_err(|_| {
            Problem::unavailable("busy", "too many large requests at once: try again in a moment")
        })?;
        Ok(Some(Room { _taken: Arc::new(room.expect("it is never closed")) }))
    }
}

/// As announced; the most that the route takes, when nothing was.
fn bytes_of(route: &str, headers: &HeaderMap) -> u64 {
    let length =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let most = if LARGE.contains(&route) { PLAN_BYTES_MAX } else { BODY_BYTES_MAX } as u64;
    match length {
        _ if !is_json(headers) => 0,
        Some(length) => length.min(most),
        None if headers.contains_key(header::TRANSFER_ENCODING) => most,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;
    use crate::api::runner::lease;

    fn headers(words: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        words.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    const JSON: (header::HeaderName, &str) = (header::CONTENT_TYPE, "application/json");

    #[test]
    fn a_body_takes_what_it_announces_and_no_more_than_its_route() {
        let length = |value| (header::CONTENT_LENGTH, value);
        let chunked = (header::TRANSFER_ENCODING, "chunked");
        let loud = (header::CONTENT_TYPE, "Application/JSON; charset=utf-8");
        let (most, most_of_runs) = (BODY_BYTES_MAX as u64, PLAN_BYTES_MAX as u64);
        for (route, words, bytes) in [
            (LARGE[0], vec![JSON, length("5000000")], 5_000_000),
            (LARGE[0], vec![loud.clone(), length("5000000")], 5_000_000),
            (LARGE[0], vec![JSON, length("99999999999")], most_of_runs),
            (LARGE[0], vec![JSON, chunked.clone()], most_of_runs),
            (lease::ROUTE, vec![JSON, length("99999999999")], most),
            (lease::ROUTE, vec![JSON, chunked.clone()], most),
            (lease::ROUTE, vec![loud, chunked], most),
            (LARGE[0], vec![JSON], 0),
            (LARGE[0], vec![length("99999999999")], 0),
        ] {
            assert_eq!(bytes_of(route, &headers(&words)), bytes, "{route} {words:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_fit_waits_and_is_then_sent_away() {
        let bodies = Bodies::of_kib(100);
        let large = headers(&[JSON, (header::CONTENT_LENGTH, "92160")]);
        let small = headers(&[JSON, (header::CONTENT_LENGTH, "16384")]);
        let first = bodies.room(LARGE[0], &large).await.expect("it fits");
        assert!(bodies.room(LARGE[0], &small).await.expect("it takes none").is_none());
        let refused = bodies.room(LARGE[0], &large).await.expect_err("it does not fit");
        assert_eq!((refused.status.as_u16(), refused.code), (503, "busy"));
        drop(first);
        assert!(bodies.room(LARGE[0], &large).await.expect("it fits again").is_some());
    }
}
