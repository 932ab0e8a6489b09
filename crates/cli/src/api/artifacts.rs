//! The calls about artifacts: uploads, blobs, versions, collections.

use runner::client::{Lost, Stream};
use runner::transfer::{Journal, Source, Uploaded, Uploads};
use serde_json::json;
use wire::Digest;
use wire::api::{CollectionView, CreateVersion, StartCollection, Tombstone, VersionSummary, VersionView};

use super::connection::{ANSWER_TIME_MAX, escaped};
use super::{ApiError, Server};

impl Server {
    /// Returns when the server has the file.
    pub async fn upload(&self, source: &Source, journal: &dyn Journal) -> Result<Uploaded, ApiError> {
        let uploads = Uploads::new(self.client.clone(), &escaped(&self.tenant));
        uploads.put(source, journal).await.map_err(|error| ApiError::upload(&self.url, &error))
    }

    /// A blob from an offset on, whatever the status of the answer.
    pub async fn open_blob(&self, digest: &Digest, offset: u64) -> Result<Stream, Lost> {
        let path = self.of_tenant(&format!("/blobs/{digest}"));
        self.client.open_from(&path, offset, ANSWER_TIME_MAX).await
    }

    pub async fn create_version(
        &self,
        package: &str,
        version: &CreateVersion,
    ) -> Result<VersionView, ApiError> {
        self.post(&self.of_package(package), version).await
    }

    pub async fn version(&self, package: &str, version: &str) -> Result<VersionView, ApiError> {
        self.get(&self.of_version(package, version, "")).await
    }

    pub async fn publish(&self, package: &str, version: &str) -> Result<VersionView, ApiError> {
        self.post(&self.of_version(package, version, "/publish"), &json!({})).await
    }

    pub async fn tombstone(
        &self,
        package: &str,
        version: &str,
        tombstone: &Tombstone,
    ) -> Result<VersionView, ApiError> {
        self.post(&self.of_version(package, version, "/tombstone"), tombstone).await
    }

    pub async fn restore(&self, package: &str, version: &str) -> Result<VersionView, ApiError> {
        self.post(&self.of_version(package, version, "/restore"), &json!({})).await
    }

    /// Of one package, or of all.
    pub async fn versions(&self, package: Option<&str>) -> Result<Vec<VersionSummary>, ApiError> {
        let path = package.map_or_else(|| self.of_tenant("/packages"), |package| self.of_package(package));
        self.all(&(path + "?")).await
    }

    pub async fn collect(&self, wanted: &StartCollection) -> Result<CollectionView, ApiError> {
        self.post("/v1/admin/gc", wanted).await
    }

    pub async fn collection(&self, id: &str) -> Result<CollectionView, ApiError> {
        self.get(&format!("/v1/admin/gc/{}", escaped(id))).await
    }

    fn of_package(&self, package: &str) -> String {
        self.of_tenant(&format!("/packages/{}/versions", escaped(package)))
    }

    fn of_version(&self, package: &str, version: &str, verb: &str) -> String {
        format!("{}/{}{verb}", self.of_package(package), escaped(version))
    }
}
