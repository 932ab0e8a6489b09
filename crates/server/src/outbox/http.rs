//! Webhooks over HTTP: one POST, never a redirect, no proxy, and no connection to an address that was not checked.

use std::error::Error;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use hyper::{HeaderMap, Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::OnceCell;

use std::time::Duration;

use crate::outbox::resolve::Resolver;

const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
const IDLE_MAX: Duration = Duration::from_secs(30);
const IDLE_CONNECTIONS_MAX: usize = 4;

/// Read of an answer, so that its connection can be used again; what it says does not matter.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

pub const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
pub const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
pub const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

type Plain = Client<HttpConnector<Resolver>, Full<Bytes>>;
type Secured = Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>;

pub struct Http {
    resolver: Resolver,
    plain: Plain,
    /// Made for the first https address: certificates take memory.
    secured: OnceCell<Secured>,
}

impl Http {
    pub fn new(resolver: Resolver) -> Http {
        let plain = builder().build(connector(resolver));
        Http { resolver, plain, secured: OnceCell::new() }
    }

    /// 2xx, or why not. The address's host, if it is a literal, was checked by whoever made the target.
    pub async fn post(&self, uri: &Uri, headers: HeaderMap, body: &str) -> Result<(), String> {
        let mut request = Request::post(uri).body(Full::from(body.to_owned())).map_err(|_| "not a URL")?;
        *request.headers_mut() = headers;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("deltaci/", env!("CARGO_PKG_VERSION"))));
        let answered = match uri.scheme_str() {
            Some("https") => self.secured().await?.request(request).await,
            _ => self.plain.request(request).await,
        };
        let answer = answered.map_err(|error| explained(&error))?;
        let status = answer.status();
        let _ = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await; // the status is the answer
        judged(status)
    }

    async fn secured(&self) -> Result<&Secured, String> {
        let made = self.secured.get_or_try_init(async || {
            let provider = rustls::crypto::ring::default_provider();
            let connector = HttpsConnectorBuilder::new()
                .with_provider_and_native_roots(provider)
                .map_err(|error| format!("the machine's certificates cannot be read: {error}"))?
                .https_only()
                .enable_http1()
                .wrap_connector(connector(self.resolver));
            Ok(builder().build(connector))
        });
        made.await
    }
}

fn connector(resolver: Resolver) -> HttpConnector<Resolver> {
    let mut connector = HttpConnector::new_with_resolver(resolver);
    connector.set_connect_timeout(Some(CONNECT_TIME_MAX));
    connector.set_nodelay(true);
    connector.enforce_http(false);
    connector
}

fn builder() -> hyper_util::client::legacy::Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_MAX)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX);
    builder
}

fn judged(status: StatusCode) -> Result<(), String> {
    if status.is_success() {
        return Ok(());
    }
    let more = if status.is_redirection() { ", and redirects are not followed" } else { "" };
    Err(format!("answered {}{more}", status.as_u16()))
}

/// What went wrong at the bottom of it.
fn explained(error: &hyper_util::client::legacy::Error) -> String {
    let mut deepest: &dyn Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let what = if error.is_connect() { "cannot connect" } else { "no answer" };
    format!("{what}: {deepest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_2xx_is_taken_as_yes() {
        for (status, expected) in [
            (200, Ok(())),
            (204, Ok(())),
            (301, Err("answered 301, and redirects are not followed".to_owned())),
            (304, Err("answered 304, and redirects are not followed".to_owned())),
            (400, Err("answered 400".to_owned())),
            (503, Err("answered 503".to_owned())),
        ] {
            assert_eq!(judged(StatusCode::from_u16(status).unwrap()), expected);
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_home_is_not_connected_to() {
        let http = Http::new(Resolver { allow_private: false });
        let uri: Uri = "http://localhost:1/".parse().unwrap();
        let refused = http.post(&uri, HeaderMap::new(), "{}").await.expect_err("it is private");
        assert!(refused.contains("private or reserved"), "{refused}");
    }
}
