//! Bytes as objects in a bucket that speaks S3: below a prefix, under the same keys as files.
//!
//! There is no staging object: bytes go into a multipart upload on the final key, which shows nothing until it is
//! completed, and a proxied one is completed only when its digest is the key's. A killed process leaves the parts of a
//! proxied upload behind; a bucket wants the rule that drops unfinished multipart uploads after some days.
//!
//! Start at `stage.rs`.

mod connector;
mod error;
mod parts;
mod stage;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt, RetryConfig};

use super::{BlobError, BlobKey, BlobsOpenError, ByteStream};
use connector::Connector;

/// A request waits for each of them: better to say soon that the bucket is not there.
const RETRIES_MAX: usize = 4;
const RETRIES_FOR: Duration = Duration::from_secs(20);

#[derive(Debug, Clone)]
pub struct S3 {
    bucket: Arc<AmazonS3>,
    /// Empty, or with a slash at its end.
    prefix: Arc<str>,
}

impl S3 {
    /// `bucket/prefix`, with `AWS_` variables that say how to get in.
    pub async fn open(
        address: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<S3, BlobsOpenError> {
        let (bucket, prefix) = address.split_once('/').unwrap_or((address, ""));
        if bucket.is_empty() {
            return Err(BlobsOpenError::Address(format!("s3://{address} names no bucket")));
        }
        let mut builder = AmazonS3Builder::new();
        for (name, value) in variables.into_iter().filter(|(name, _)| name.starts_with("AWS_")) {
            if let Ok(setting) = name.to_ascii_lowercase().parse() {
                builder = builder.with_config(setting, value);
            }
        }
        // One object at a time is deleted: every bucket can do that, and a missing one is no error.
        let builder = builder.with_bucket_name(bucket).with_disable_bulk_delete(true);
        let retries =
            RetryConfig { max_retries: RETRIES_MAX, retry_timeout: RETRIES_FOR, ..Default::default() };
        let bucket = builder
            .with_http_connector(Connector)
            .with_retry(retries)
            .build()
            .map_err(|error| BlobsOpenError::Address(error.to_string()))?;
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let s3 = S3 { bucket: Arc::new(bucket), prefix: prefix.into() };
        match s3.keys(None, 1).await {
            Ok(_) => Ok(s3),
            Err(error) => Err(BlobsOpenError::Unreachable(error.to_string())),
        }
    }

    pub async fn read(&self, key: &BlobKey, range: Range<u64>) -> Result<ByteStream, BlobError> {
        if range.is_empty() {
            // A bucket refuses an empty range; only whether it is there is asked.
            self.length(key).await?.ok_or(BlobError::NotFound)?;
            return Ok(futures_util::stream::empty().boxed());
        }
        let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
        let found = self.bucket.get_opts(&self.path(key), options).await.map_err(error::of)?;
        if found.range != range {
            return Err(BlobError::Torn { expected: range.end, found: found.meta.size });
        }
        Ok(found.into_stream().map_err(error::of).boxed())
    }

    pub async fn length(&self, key: &BlobKey) -> Result<Option<u64>, BlobError> {
        match self.bucket.head(&self.path(key)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error::of(error)),
        }
    }

    pub async fn delete(&self, key: &BlobKey) -> Result<(), BlobError> {
        match self.bucket.delete(&self.path(key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error::of(error)),
        }
    }

    pub async fn discard(&self, key: &BlobKey, multipart: Option<&str>) -> Result<(), BlobError> {
        if let Some(multipart) = multipart {
            self.abort(key, multipart).await?;
        }
        self.delete(key).await
    }

    pub async fn keys(&self, after: Option<&str>, limit: usize) -> Result<Vec<String>, BlobError> {
        let below = Path::from(self.prefix.as_ref());
        let below = (!self.prefix.is_empty()).then_some(&below);
        let found = match after {
            Some(after) => {
                self.bucket.list_with_offset(below, &Path::from(format!("{}{after}", self.prefix)))
            }
            None => self.bucket.list(below),
        };
        let name = |location: Path| location.as_ref()[self.prefix.len()..].to_owned();
        found.take(limit).map_ok(|object| name(object.location)).try_collect().await.map_err(error::of)
    }

    fn path(&self, key: &BlobKey) -> Path {
        Path::from(format!("{}{key}", self.prefix))
    }
}
