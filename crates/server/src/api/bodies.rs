//! Room for large bodies: what callers may make us hold in memory at a time, from before a body is read until its request is
//! answered. The queue of commands bounds how many wait, this how large they are together.
//!
//! Only JSON, which is read whole; streams of bytes pass through.

use std::time::Duration;

use axum::http::{HeaderMap, header};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::api::input::PLAN_BYTES_MAX;
use crate::api::problem::Problem;

/// For all of them together.
const ROOM_KIB: usize = 256 * 1024;

/// Up to here a body takes no room: as many as there are connections fit beside the large ones.
const SMALL_BYTES: u64 = 16 * 1024;

/// How long a body waits for room.
const WAIT_MAX: Duration = Duration::from_secs(10);

pub struct Bodies(Semaphore);

impl Default for Bodies {
    fn default() -> Bodies {
        Bodies(Semaphore::new(ROOM_KIB))
    }
}

impl Bodies {
    /// Keep what it returns until the request is answered.
    pub async fn room(&self, headers: &HeaderMap) -> Result<Option<SemaphorePermit<'_>>, Problem> {
        let bytes = bytes_of(headers);
        if bytes <= SMALL_BYTES {
            return Ok(None);
        }
        let kib = bytes.div_ceil(1024) as u32;
        let room = timeout(WAIT_MAX, self.0.acquire_many(kib)).await;
        let room = room.map_err(|_| {
            Problem::unavailable("busy", "too many large requests at once: try again in a moment")
        })?;
        Ok(Some(room.expect("it is never closed")))
    }
}

/// As announced; the most there may be, when nothing was.
fn bytes_of(headers: &HeaderMap) -> u64 {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_json = text(header::CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
    let most = PLAN_BYTES_MAX as u64;
    match text(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok()) {
        _ if !is_json => 0,
        Some(length) => length.min(most),
        None if headers.contains_key(header::TRANSFER_ENCODING) => most,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(words: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        words.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    const JSON: (header::HeaderName, &str) = (header::CONTENT_TYPE, "application/json");

    #[test]
    fn a_body_takes_what_it_announces() {
        let length = |value| (header::CONTENT_LENGTH, value);
        for (words, bytes) in [
            (vec![JSON, length("5000000")], 5_000_000),
            (vec![JSON, length("99999999999")], PLAN_BYTES_MAX as u64),
            (vec![JSON, (header::TRANSFER_ENCODING, "chunked")], PLAN_BYTES_MAX as u64),
            (vec![JSON], 0),
            (vec![length("99999999999")], 0),
        ] {
            assert_eq!(bytes_of(&headers(&words)), bytes, "{words:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_fit_waits_and_is_then_sent_away() {
        let bodies = Bodies(Semaphore::new(100));
        let large = headers(&[JSON, (header::CONTENT_LENGTH, "92160")]);
        let small = headers(&[JSON, (header::CONTENT_LENGTH, "16384")]);
        let first = bodies.room(&large).await.expect("it fits");
        assert!(bodies.room(&small).await.expect("it takes none").is_none());
        let refused = bodies.room(&large).await.expect_err("it does not fit");
        assert_eq!((refused.status.as_u16(), refused.code), (503, "busy"));
        drop(first);
        assert!(bodies.room(&large).await.expect("it fits again").is_some());
    }
}
