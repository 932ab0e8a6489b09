//! Parts that clients send straight to the bucket, by URLs that we sign.

use std::time::Duration;

use futures_util::TryStreamExt;
use http::Method;
use object_store::multipart::{MultipartStore, PartId};
use object_store::signer::{SignedUrlOptions, Signer};
use object_store::{Error, ObjectStoreExt};

use super::{S3, error};
use crate::blobs::hashing::Hashing;
use crate::blobs::{BlobError, BlobKey, Part, Staged};

impl S3 {
    pub async fn begin_parts(&self, key: &BlobKey) -> Result<String, BlobError> {
        self.bucket.create_multipart(&self.path(key)).await.map_err(error::of)
    }

    /// The signature holds for this part of this upload only, never for the object itself: a URL that is still valid
    /// when the upload is completed opens nothing.
    pub async fn part_url(
        &self,
        key: &BlobKey,
        multipart: &str,
        number: u32,
        ttl: Duration,
    ) -> Result<String, BlobError> {
        let number = number.to_string();
        let part = [("partNumber", number.as_str()), ("uploadId", multipart)];
        let options = SignedUrlOptions::default().with_query(part);
        let url = self.bucket.signed_url_opts(Method::PUT, &self.path(key), ttl, &options).await;
        Ok(url.map_err(error::of)?.to_string())
    }

    pub async fn join(
        &self,
        key: &BlobKey,
        multipart: Option<&str>,
        parts: &[Part],
    ) -> Result<Staged, BlobError> {
        let multipart = multipart.ok_or(BlobError::NotFound)?;
        if self.length(key).await?.is_none() {
            self.complete(key, multipart, parts).await?;
        }
        let staged = self.read_back(key).await?;
        if staged.digest != key.digest() {
            self.delete(key).await?;
        }
        Ok(staged)
    }

    async fn complete(&self, key: &BlobKey, multipart: &str, parts: &[Part]) -> Result<(), BlobError> {
        if let Some((_, number)) = parts.iter().zip(1..).find(|(part, expected)| part.number != *expected) {
            return Err(BlobError::PartMissing { number });
        }
        if parts.is_empty() {
            return Err(BlobError::PartMissing { number: 1 });
        }
        let ids = parts.iter().map(|part| PartId { content_id: part.etag.clone() }).collect();
        match self.bucket.complete_multipart(&self.path(key), &multipart.to_owned(), ids).await {
            Ok(_) => Ok(()),
            // Somebody else may have joined them while we tried.
            Err(_) if self.length(key).await?.is_some() => Ok(()),
            Err(error) => Err(error::of_joining(error)),
        }
    }

    async fn read_back(&self, key: &BlobKey) -> Result<Staged, BlobError> {
        let object = self.bucket.get(&self.path(key)).await.map_err(error::of)?;
        let mut bytes = object.into_stream();
        let mut hashing = Hashing::new();
        while let Some(piece) = bytes.try_next().await.map_err(error::of)? {
            hashing.feed(vec![piece]).await?;
        }
        hashing.finish().await
    }

    /// One that is not open any more is no error.
    pub async fn abort(&self, key: &BlobKey, multipart: &str) -> Result<(), BlobError> {
        match self.bucket.abort_multipart(&self.path(key), &multipart.to_owned()).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) if error.to_string().contains("NoSuchUpload") => Ok(()),
            Err(error) => Err(error::of(error)),
        }
    }
}
