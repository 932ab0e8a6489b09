//! Artifacts over HTTP: both ways in, over files and a bucket; what is read; what is published; and every way to be told
//! no, after which nothing is stored and nothing is lost.

mod blobs;
mod bucket;
mod jobs;
mod packages;
mod parts;
mod policy;
mod runners;
mod small;
mod streams;

use std::sync::Arc;

use decisions::Policy;
use serde_json::{Value, json};
use server::artifacts::Judge;
use sha2::{Digest, Sha256};
use store::blobs::Blobs;
use store::{Memory, Store};

use crate::api::site::{Reply, Site, Tenant};
use bucket::Bucket;

pub fn digest_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_string(), |text, byte| text + &format!("{byte:02x}"))
}

/// A server whose bytes are in a bucket.
pub async fn with_bucket() -> (Site<Memory>, Bucket) {
    let bucket = Bucket::serve().await;
    let blobs = Blobs::open_with("s3://artifacts/delta", bucket.variables()).await.expect("a bucket");
    let store = Arc::new(Memory::default());
    (Site::open_with(store, Policy::default(), None, Judge::Absent, Some(blobs)).await, bucket)
}

/// A server whose bytes are in a folder.
pub async fn with_files() -> (Site<Memory>, ()) {
    (crate::api::site::in_memory().await, ())
}

/// Runs each test over a folder and over a bucket.
macro_rules! on_each_place {
    ($($name:ident),+ $(,)?) => {
        mod files {
            $( #[tokio::test]
            async fn $name() {
                let (site, _place) = crate::api::artifacts::with_files().await;
                super::$name(&site).await;
            } )+
        }
        mod s3 {
            $( #[tokio::test]
            async fn $name() {
                let (site, _place) = crate::api::artifacts::with_bucket().await;
                super::$name(&site).await;
            } )+
        }
    };
}
pub(crate) use on_each_place;

/// What tests say over and over.
impl<S: Store> Site<S> {
    pub async fn announce(&self, tenant: &Tenant, bytes: &[u8]) -> Value {
        let announced = json!({"digest": digest_of(bytes), "length": bytes.len()});
        self.post(&tenant.tenant, &format!("{}/uploads", tenant.path), announced).await.expect(201)
    }

    pub async fn look(&self, tenant: &Tenant, id: &str) -> Value {
        self.get(&tenant.tenant, &format!("{}/uploads/{id}", tenant.path)).await.expect(200)
    }

    pub async fn stream(&self, tenant: &Tenant, id: &str, bytes: &[u8]) -> Reply {
        self.put(&tenant.tenant, &format!("{}/uploads/{id}/content", tenant.path), &[], bytes).await
    }

    /// `commit`, `complete`, `parts`.
    pub async fn step(&self, tenant: &Tenant, id: &str, step: &str, body: Value) -> Reply {
        self.post(&tenant.tenant, &format!("{}/uploads/{id}/{step}", tenant.path), body).await
    }

    /// A blob, in one request; its digest.
    pub async fn bring(&self, tenant: &Tenant, bytes: &[u8]) -> String {
        let digest = digest_of(bytes);
        let reply = self.put(&tenant.tenant, &format!("{}/blobs/{digest}", tenant.path), &[], bytes).await;
        assert!([200, 201].contains(&reply.status), "{}", reply.text());
        digest
    }

    pub async fn read(&self, tenant: &Tenant, digest: &str) -> Reply {
        self.get(&tenant.tenant, &format!("{}/blobs/{digest}", tenant.path)).await
    }

    /// A request to an absolute address, as a client follows it.
    pub async fn follow(&self, url: &str, bytes: &[u8]) -> (u16, String) {
        let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
        let address = host.replace("localhost", &self.address().to_string()).parse().expect("an address");
        let body = bytes.to_vec().into();
        let host = [("host", host)];
        let reply = crate::api::site::open_at(address, "PUT", &format!("/{path}"), &host, body).await;
        let etag = reply.headers().get("etag").and_then(|value| value.to_str().ok()).unwrap_or_default();
        (reply.status().as_u16(), etag.to_string())
    }
}

pub fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_string()
}
