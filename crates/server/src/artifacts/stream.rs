//! A body as a stream of bytes that is given up when nothing comes any more.

use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream::{BoxStream, StreamExt, unfold};

/// How long the next bytes of a stream may take.
pub const IDLE_TIME_MAX: Duration = Duration::from_secs(30);

/// Why a body ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("the connection broke")]
    Off,
    #[error("nothing came for a while")]
    Idle,
}

pub type Incoming = BoxStream<'static, Result<Bytes, Broken>>;

pub fn incoming(body: Body) -> Incoming {
    unfold(Some(body.into_data_stream()), async |rest| {
        let mut rest = rest?;
        match tokio::time::timeout(IDLE_TIME_MAX, rest.next()).await {
            Ok(Some(Ok(bytes))) => Some((Ok(bytes), Some(rest))),
            Ok(Some(Err(_))) => Some((Err(Broken::Off), None)),
            Ok(None) => None,
            Err(_) => Some((Err(Broken::Idle), None)),
        }
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stalls_is_given_up() {
        let some = futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"some"))]);
        let body = Body::from_stream(some.chain(futures_util::stream::pending()));
        let heard: Vec<_> = incoming(body).collect().await;
        assert_eq!(heard, [Ok(Bytes::from_static(b"some")), Err(Broken::Idle)]);
    }
}
