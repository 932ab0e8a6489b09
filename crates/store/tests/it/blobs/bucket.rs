//! An S3 server in this process, on a folder: it checks signatures and their expiry like a real one.

use std::convert::Infallible;
use std::path::Path;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const ACCESS_KEY: &str = "tester";
const SECRET_KEY: &str = "not-a-secret";

pub struct Bucket {
    address: String,
    serving: JoinHandle<()>,
}

impl Bucket {
    /// Serves the folder, with one bucket `artifacts` in it.
    pub async fn serve(folder: &Path) -> Bucket {
        std::fs::create_dir(folder.join("artifacts")).unwrap();
        let mut service = S3ServiceBuilder::new(s3s_fs::FileSystem::new(folder).unwrap());
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = service.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                let answer = service_fn(move |request| answer(service.clone(), request));
                let connection =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), answer);
                tokio::spawn(connection);
            }
        });
        Bucket { address, serving }
    }

    pub fn variables(&self) -> Vec<(String, String)> {
        self.variables_with(SECRET_KEY)
    }

    pub fn variables_with(&self, secret: &str) -> Vec<(String, String)> {
        let variables = [
            ("AWS_ENDPOINT", self.address.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
            ("AWS_SECRET_ACCESS_KEY", secret),
            ("HOME", "/of/no/interest"),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The server's answers, two of them put right: it says 403 and 500 where S3 has a code of its own.
async fn answer(service: S3Service, request: Request<Incoming>) -> Result<Response<s3s::Body>, Infallible> {
    let of_upload = request.uri().query().is_some_and(|query| query.contains("uploadId="));
    let method = request.method().clone();
    // Read to its end also when it is refused: if the connection closes while a client still sends, it may not hear why.
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return Ok(refusal(StatusCode::BAD_REQUEST, "IncompleteBody"));
    };
    let request = Request::from_parts(head, s3s::Body::from(body.to_bytes()));
    let answer = match service.call(request).await {
        Ok(answer) => answer,
        Err(error) => panic!("{error:?}"),
    };
    Ok(match (method, answer.status()) {
        (Method::DELETE, StatusCode::FORBIDDEN) if of_upload => {
            refusal(StatusCode::NOT_FOUND, "NoSuchUpload")
        }
        (Method::POST, StatusCode::INTERNAL_SERVER_ERROR) if of_upload => {
            refusal(StatusCode::BAD_REQUEST, "InvalidPart")
        }
        _ => answer,
    })
}

fn refusal(status: StatusCode, code: &str) -> Response<s3s::Body> {
    let text = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>no</Message></Error>");
    Response::builder().status(status).body(s3s::Body::from(Bytes::from(text))).unwrap()
}

/// A plain client, with nothing but a URL: what it is answered, and the etag.
pub async fn send(url: &str, bytes: Bytes) -> (StatusCode, Option<String>) {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let request = Request::builder().method(Method::PUT).uri(url).body(Full::new(bytes)).unwrap();
    let answer = client.request(request).await.unwrap();
    let etag = answer.headers().get("etag").map(|etag| etag.to_str().unwrap().to_owned());
    (answer.status(), etag)
}

pub async fn fetch(url: &str) -> (StatusCode, Bytes) {
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let answer = client.get(url.parse().unwrap()).await.unwrap();
    let status = answer.status();
    (status, answer.into_body().collect().await.unwrap().to_bytes())
}
