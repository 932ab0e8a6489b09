//! The connection itself.

use std::error::Error;
use std::pin::pin;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_RANGE, CONTENT_TYPE, HeaderName, HeaderValue, RANGE};
use hyper::{Method, Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Builder, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::inside::{Connect, Inside};
use super::{Body, Token};

/// An answer larger than this is none of ours.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer than a heartbeat interval, so that heartbeats find their connection open.
const IDLE_MAX: Duration = Duration::from_secs(60);
const IDLE_CONNECTIONS_MAX: usize = 16;
/// What a connection buffers; the largest request body is handed over whole and not copied into it.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

type Plain = hyper_util::client::legacy::Client<HttpConnector, Body>;
type Secured = hyper_util::client::legacy::Client<HttpsConnector<HttpConnector>, Body>;
type Within = hyper_util::client::legacy::Client<Inside, Body>;

/// A request must name a host; this one is nowhere.
const BASE_INSIDE: &str = "http://inside";

pub type Header = (HeaderName, HeaderValue);

/// The header of a JSON body.
pub fn json() -> Header {
    (CONTENT_TYPE, HeaderValue::from_static("application/json"))
}

#[derive(Clone)]
pub struct Client {
    transport: Transport,
    /// Without a slash at its end.
    base: String,
    authorization: HeaderValue,
}

/// Certificates take memory, so they are read only for a server that has one.
#[derive(Clone)]
enum Transport {
    Plain(Plain),
    Secured(Secured),
    /// A server in this very process.
    Inside(Within),
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub body: Bytes,
}

/// No answer came.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Lost {
    pub problem: String,
    /// Nobody was reached. Otherwise whether the request arrived is not known.
    pub is_unsent: bool,
}

impl Lost {
    pub fn unsent(problem: String) -> Lost {
        Lost { problem, is_unsent: true }
    }

    pub fn perhaps_arrived(problem: String) -> Lost {
        Lost { problem, is_unsent: false }
    }
}

impl Client {
    /// The error says what is wrong with the address or the machine's certificates.
    pub fn new(server: &str, token: &Token) -> Result<Client, String> {
        let base = server.trim_end_matches('/');
        let uri: Uri = base.parse().map_err(|_| format!("`{server}` is no URL"))?;
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.set_nodelay(true);
        connector.enforce_http(false);
        let transport = match (uri.scheme_str(), uri.host()) {
            (Some("http"), Some(_)) => Transport::Plain(builder().build(connector)),
            (Some("https"), Some(_)) => {
                let provider = rustls::crypto::ring::default_provider();
                let secured = HttpsConnectorBuilder::new()
                    .with_provider_and_native_roots(provider)
                    .map_err(|error| format!("the machine's certificates cannot be read: {error}"))?
                    .https_only()
                    .enable_http1()
                    .wrap_connector(connector);
                Transport::Secured(builder().build(secured))
            }
            _ => return Err(format!("`{server}` must begin with http:// or https:// and a host")),
        };
        Ok(Client { transport, base: base.into(), authorization: authorization(token) })
    }

    /// To a server in this process, through whatever opens a stream to it.
    pub fn inside(connect: Connect, token: &Token) -> Client {
        let transport = Transport::Inside(builder().build(Inside(connect)));
        Client { transport, base: BASE_INSIDE.into(), authorization: authorization(token) }
    }

    pub async fn post_json(&self, path: &str, body: Vec<u8>, timeout: Duration) -> Result<Reply, Lost> {
        self.post(path, &[json()], body, timeout).await
    }

    pub async fn post(
        &self,
        path: &str,
        headers: &[Header],
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Reply, Lost> {
        let request = self.request(Method::POST, path, headers, Body::whole(body))?;
        within(timeout, self.exchange(request)).await
    }

    pub async fn put_json(&self, path: &str, body: Vec<u8>, timeout: Duration) -> Result<Reply, Lost> {
        let json = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = self.request(Method::PUT, path, &[json], Body::whole(body))?;
        within(timeout, self.exchange(request)).await
    }

    pub async fn get(&self, path: &str, timeout: Duration) -> Result<Reply, Lost> {
        self.get_with(path, &[], timeout).await
    }

    pub async fn get_with(&self, path: &str, headers: &[Header], timeout: Duration) -> Result<Reply, Lost> {
        let request = self.request(Method::GET, path, headers, Body::whole(Bytes::new()))?;
        within(timeout, self.exchange(request)).await
    }

    pub async fn delete(&self, path: &str, timeout: Duration) -> Result<Reply, Lost> {
        let request = self.request(Method::DELETE, path, &[], Body::whole(Bytes::new()))?;
        within(timeout, self.exchange(request)).await
    }

    /// Sends a body of any length. There is no limit on the whole of it: only, with `patience`, on a connection that
    /// takes nothing more and gives no answer.
    pub async fn put(
        &self,
        path: &str,
        headers: &[Header],
        body: Body,
        patience: Duration,
    ) -> Result<Reply, Lost> {
        let taken = body.taken();
        let mut answer = pin!(self.exchange(self.request(Method::PUT, path, headers, body)?));
        let mut before = taken.bytes();
        loop {
            if let Ok(answer) = tokio::time::timeout(patience, &mut answer).await {
                return answer;
            }
            let now = taken.bytes();
            if now == before {
                let problem = format!("nothing moved within {} s", patience.as_secs_f64());
                return Err(Lost::perhaps_arrived(problem));
            }
            before = now;
        }
    }

    /// Asks for a body that is read as it comes. The time limit is on the answer's head; `after` is the id of the last
    /// server-sent event that was seen.
    pub async fn open(
        &self,
        path: &str,
        accept: &'static str,
        after: Option<&str>,
        timeout: Duration,
    ) -> Result<Stream, Lost> {
        let mut headers = vec![(ACCEPT, HeaderValue::from_static(accept))];
        if let Some(after) = after.and_then(|after| HeaderValue::from_str(after).ok()) {
            headers.push((LAST_EVENT_ID, after));
        }
        self.stream(path, &headers, timeout).await
    }

    /// Asks for bytes from `offset` on. An answer of 206 begins there, one of 200 at the beginning.
    pub async fn open_from(&self, path: &str, offset: u64, timeout: Duration) -> Result<Stream, Lost> {
        self.open_from_with(path, &[], offset, timeout).await
    }

    pub async fn open_from_with(
        &self,
        path: &str,
        headers: &[Header],
        offset: u64,
        timeout: Duration,
    ) -> Result<Stream, Lost> {
        let range = (offset > 0).then(|| format!("bytes={offset}-"));
        let range = range.and_then(|range| HeaderValue::from_str(&range).ok());
        let mut headers = headers.to_vec();
        headers.extend(range.map(|range| (RANGE, range)));
        self.stream(path, &headers, timeout).await
    }

    async fn stream(&self, path: &str, headers: &[Header], timeout: Duration) -> Result<Stream, Lost> {
        let request = self.request(Method::GET, path, headers, Body::whole(Bytes::new()))?;
        let response = within(timeout, self.send(request)).await?;
        let begins_at = response.headers().get(CONTENT_RANGE).and_then(first_byte);
        Ok(Stream { status: response.status().as_u16(), begins_at, body: response.into_body() })
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[Header],
        body: Body,
    ) -> Result<Request<Body>, Lost> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = format!("{}{path}", self.base).parse().map_err(|error| lost(&error))?;
        request.headers_mut().extend(headers.iter().map(|(name, value)| (Some(name.clone()), value.clone())));
        request.headers_mut().insert(AUTHORIZATION, self.authorization.clone());
        Ok(request)
    }

    async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, Lost> {
        match &self.transport {
            Transport::Plain(client) => client.request(request).await,
            Transport::Secured(client) => client.request(request).await,
            Transport::Inside(client) => client.request(request).await,
        }
        .map_err(|error| Lost { is_unsent: error.is_connect(), ..lost(&error) })
    }

    async fn exchange(&self, request: Request<Body>) -> Result<Reply, Lost> {
        let response = self.send(request).await?;
        let status = response.status().as_u16();
        let body = whole(response.into_body()).await?;
        Ok(Reply { status, body })
    }
}

/// An answer whose body is still coming.
#[derive(Debug)]
pub struct Stream {
    pub status: u16,
    /// Where it begins, when it is a part of something.
    pub begins_at: Option<u64>,
    body: Incoming,
}

impl Stream {
    /// The next bytes; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes, Lost>> {
        loop {
            let frame = self.body.frame().await?;
            match frame.map(|frame| frame.into_data()) {
                Ok(Ok(bytes)) => return Some(Ok(bytes)),
                Ok(Err(_)) => {} // trailers: none of ours
                Err(error) => return Some(Err(lost(&error))),
            }
        }
    }

    /// The whole of it, such as the text of an error.
    pub async fn reply(self) -> Result<Reply, Lost> {
        Ok(Reply { status: self.status, body: whole(self.body).await? })
    }
}

/// The 5 of `bytes 5-9/10`.
fn first_byte(range: &HeaderValue) -> Option<u64> {
    range.to_str().ok()?.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

async fn whole(body: Incoming) -> Result<Bytes, Lost> {
    let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
    Ok(body.map_err(|error| lost(&*error))?.to_bytes())
}

async fn within<T>(timeout: Duration, answer: impl Future<Output = Result<T, Lost>>) -> Result<T, Lost> {
    match tokio::time::timeout(timeout, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(Lost::perhaps_arrived(format!("no answer within {} s", timeout.as_secs_f64()))),
    }
}

fn authorization(token: &Token) -> HeaderValue {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
        .expect("a token is made of letters that a header can carry");
    value.set_sensitive(true);
    value
}

fn builder() -> Builder {
    let mut builder = hyper_util::client::legacy::Client::builder(TokioExecutor::new());
    builder
        .pool_idle_timeout(IDLE_MAX)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .pool_timer(TokioTimer::new())
        .http1_max_buf_size(BUFFER_BYTES_MAX);
    builder
}

/// The error and its causes in one line.
fn lost(error: &dyn Error) -> Lost {
    let mut problem = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        problem.push_str(&format!(": {error}"));
        cause = error.source();
    }
    Lost::perhaps_arrived(problem)
}
