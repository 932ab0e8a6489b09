//! An endpoint that answers like OPA: `{"input":…}` in, `{"result":…}` out.

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::value::RawValue;

use crate::artifacts::judge::PolicyError;

/// The longest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

#[derive(Clone)]
pub struct Remote {
    address: Uri,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

#[derive(serde::Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    result: &'a RawValue,
}

impl Remote {
    pub fn new(address: &str) -> Result<Remote, PolicyError> {
        let address: Uri = address.parse().map_err(|_| PolicyError::Address)?;
        let known = matches!(address.scheme_str(), Some("http" | "https"));
        if !known || address.host().is_none_or(str::is_empty) {
            return Err(PolicyError::Address);
        }
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(rustls::crypto::ring::default_provider())?
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Remote { address, client: Client::builder(TokioExecutor::new()).build(connector) })
    }

    /// The result, as JSON. The caller bounds the time.
    pub async fn ask(&self, input: String) -> Result<String, String> {
        let request = Request::post(&self.address)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(format!(r#"{{"input":{input}}}"#)))
            .map_err(|error| error.to_string())?;
        let response = self.client.request(request).await.map_err(|error| error.to_string())?;
        if response.status() != 200 {
            return Err(format!("it answered {}", response.status()));
        }
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        let answer: Answer<'_> = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        Ok(answer.result.get().into())
    }
}
