//! Upkeep: uploads whose time is over, bytes that no blob names, versions, artifacts and caches that are kept no longer,
//! and collections that nobody works on. It finds them by their index; a hint only makes it look sooner.

use std::time::Duration;

use decisions::Hint;
use decisions::caches::{CacheDue, Reason};
use decisions::records::Upload;
use decisions::uploads::{UploadDue, UploadReaped};
use decisions::versions::{BundleDue, VersionDue};
use store::blobs::{BlobError, BlobKey, Blobs, Staging};
use store::{Store, StoreError};
use tokio::time::timeout;

use crate::artifacts::collector::Collector;
use crate::engine::Engine;

/// Of each kind, in one round.
const ROUND_MAX: usize = 200;

/// All caches are added up for it, so not at every look.
const CACHES_EVERY: Duration = Duration::from_secs(60);

pub struct Upkeep<S> {
    pub engine: Engine<S>,
    pub blobs: Blobs,
    pub collector: Collector<S>,
    /// How often to look without a hint.
    pub interval: Duration,
    /// How often to collect without being asked.
    pub collect_every: Duration,
    /// How long a cache is kept that no job asks for.
    pub cache_ttl: Duration,
    /// What the caches of one tenant may take.
    pub cache_bytes_max: u64,
}

impl<S: Store> Upkeep<S> {
    pub async fn run(self) {
        let mut hints = self.engine.hints();
        let clock = self.engine.clock();
        let mut collect_at = clock.now().plus(self.collect_every);
        let caches_every = (self.cache_ttl / 4).clamp(self.interval, CACHES_EVERY.max(self.interval));
        let mut caches_at = clock.now();
        loop {
            let full = self.round().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the store does not say which artifacts are due; the next round asks again");
                self.engine.metrics().failed("upkeep_failed");
                false
            });
            if clock.now() >= caches_at {
                caches_at = clock.now().plus(caches_every);
                if let Err(error) = self.caches_round().await {
                    tracing::warn!(%error, "the store does not say which caches go; the next round asks again");
                    self.engine.metrics().failed("upkeep_failed");
                }
            }
            if let Err(error) = self.collector.take_over().await {
                tracing::warn!(%error, "a collection waits for somebody to go on with it");
            }
            if clock.now() >= collect_at {
                collect_at = clock.now().plus(self.collect_every);
                if let Err(error) = self.collector.request(false).await {
                    tracing::warn!(%error, "the collection did not begin");
                }
            }
            if !full {
                // Reap at once what an upload left; anything else, and a lost hint, costs an interval.
                let hinted = async { while hints.recv().await.is_ok_and(|hint| hint != Hint::Reap) {} };
                let _ = timeout(self.interval, hinted).await;
            }
        }
    }

    /// Whether there is more than one round can take.
    pub async fn round(&self) -> Result<bool, StoreError> {
        let due = self.engine.store().artifacts_due(self.engine.clock().now(), ROUND_MAX).await?;
        let most = [due.uploads.len(), due.litter.len(), due.versions.len(), due.bundles.len()];
        for upload in due.uploads {
            self.settle(UploadDue { upload }).await;
        }
        for version in due.versions {
            self.settle(VersionDue { version }).await;
        }
        for execution in due.bundles {
            self.settle(BundleDue { execution }).await;
        }
        let mut reaped = true;
        for upload in due.litter {
            match self.reap(&upload).await {
                Ok(()) => self.settle(UploadReaped { upload: upload.id }).await,
                Err(error) => {
                    reaped = false;
                    tracing::warn!(%error, upload = %upload.id, "what an upload left cannot be deleted; tried again");
                    self.engine.metrics().failed("reap_failed");
                }
            }
        }
        Ok(reaped && most.contains(&ROUND_MAX))
    }

    /// Drops the caches that nobody uses, and the longest unused of tenants that have too many. What one round leaves, the
    /// next finds.
    pub async fn caches_round(&self) -> Result<(), StoreError> {
        let (store, now) = (self.engine.store(), self.engine.clock().now());
        let due = store.caches_due(now, self.cache_ttl, self.cache_bytes_max, ROUND_MAX).await?;
        for name in due.unused {
            self.settle(CacheDue { name, because: Reason::Unused }).await;
        }
        for (name, used_at) in due.beyond {
            self.settle(CacheDue { name, because: Reason::Beyond { used_at } }).await;
        }
        Ok(())
    }

    async fn reap(&self, upload: &Upload) -> Result<(), BlobError> {
        let staging = Staging::new(upload.id);
        if upload.got == Some(upload.blob) {
            return self.blobs.discard_staging(&staging).await; // the bytes themselves are a blob
        }
        let key = BlobKey::new(&upload.digest, upload.blob);
        self.blobs.discard(&staging, &key, upload.multipart.as_deref()).await
    }

    async fn settle(&self, command: impl Into<decisions::Command>) {
        if let Err(error) = self.engine.perform(command).await {
            tracing::warn!(%error, "an artifact that is due stays as it is; the next round asks again");
        }
    }
}
