//! The HTTP/1.1 client below `object_store`: the one that the runner uses, in place of a second one.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpResponseBody, HttpService,
};

const CONNECT_MAX: Duration = Duration::from_secs(5);
/// From the request to the head of its answer, the bytes of a part included.
const ANSWER_MAX: Duration = Duration::from_secs(120);
/// Between two pieces of an answer, and between two requests on a connection.
const IDLE_MAX: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Connector;

#[derive(Debug)]
struct Service(Client<HttpsConnector<TcpConnector>, HttpRequestBody>);

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let unreadable = |error| object_store::Error::Generic { store: "S3", source: Box::new(error) };
        let mut tcp = TcpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_MAX));
        // Whether plain HTTP is allowed is the store's to say, by its own setting.
        let https = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(rustls::crypto::ring::default_provider())
            .map_err(unreadable)?
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .build(https);
        Ok(HttpClient::new(Service(client)))
    }
}

impl HttpService for Service {
    fn call<'life, 'answer>(
        &'life self,
        request: HttpRequest,
    ) -> BoxFuture<'answer, Result<HttpResponse, HttpError>>
    where
        'life: 'answer,
        Self: 'answer,
    {
        Box::pin(async move {
            let answer = tokio::time::timeout(ANSWER_MAX, self.0.request(request)).await;
            let answer = answer.map_err(|late| HttpError::new(HttpErrorKind::Timeout, late))?;
            let (head, body) = answer.map_err(failed)?.into_parts();
            let frames = stream::unfold(Some(body), next_frame).fuse();
            Ok(HttpResponse::from_parts(head, HttpResponseBody::new(StreamBody::new(frames))))
        })
    }
}

/// The next frame of an answer, or an error and the end if it does not come.
async fn next_frame(body: Option<Incoming>) -> Option<(Result<Frame<Bytes>, HttpError>, Option<Incoming>)> {
    let mut body = body?;
    match tokio::time::timeout(IDLE_MAX, body.frame()).await {
        Err(late) => Some((Err(HttpError::new(HttpErrorKind::Timeout, late)), None)),
        Ok(Some(Ok(frame))) => Some((Ok(frame), Some(body))),
        Ok(Some(Err(error))) => Some((Err(HttpError::new(HttpErrorKind::Interrupted, error)), None)),
        Ok(None) => None,
    }
}

/// What may be tried again.
fn failed(error: hyper_util::client::legacy::Error) -> HttpError {
    let kind = if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Request };
    HttpError::new(kind, error)
}
