//! An S3 server in this process, on a folder of its own: it checks signatures like a real one.

use std::convert::Infallible;

use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const ACCESS_KEY: &str = "tester";
const SECRET_KEY: &str = "not-a-secret";

pub struct Bucket {
    address: String,
    serving: JoinHandle<()>,
    _folder: TempDir,
}

impl Bucket {
    /// With one bucket, `artifacts`.
    pub async fn serve() -> Bucket {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        std::fs::create_dir(folder.path().join("artifacts")).expect("a new folder");
        let system = s3s_fs::FileSystem::new(folder.path()).expect("a folder can be served");
        let mut service = S3ServiceBuilder::new(system);
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = service.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("it listens"));
        let serving = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                let answer = service_fn(move |request| answer(service.clone(), request));
                let http = hyper::server::conn::http1::Builder::new();
                tokio::spawn(http.serve_connection(TokioIo::new(socket), answer));
            }
        });
        Bucket { address, serving, _folder: folder }
    }

    pub fn variables(&self) -> Vec<(String, String)> {
        let variables = [
            ("AWS_ENDPOINT", self.address.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The server's answers, one of them put right: it says 500 where S3 has a code of its own.
async fn answer(service: S3Service, request: Request<Incoming>) -> Result<Response<s3s::Body>, Infallible> {
    let of_upload = request.uri().query().is_some_and(|query| query.contains("uploadId="));
    let method = request.method().clone();
    let answer = service.call(request.map(s3s::Body::from)).await.expect("the server answers");
    Ok(match (method, answer.status()) {
        (Method::DELETE, StatusCode::FORBIDDEN) if of_upload => refusal(404, "NoSuchUpload"),
        (Method::POST, StatusCode::INTERNAL_SERVER_ERROR) if of_upload => refusal(400, "InvalidPart"),
        _ => answer,
    })
}

fn refusal(status: u16, code: &str) -> Response<s3s::Body> {
    let text = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>no</Message></Error>");
    Response::builder().status(status).body(s3s::Body::from(Bytes::from(text))).expect("an answer")
}
