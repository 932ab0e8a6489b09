//! An engine on a store, a folder of bytes, a collector and upkeep: a server's artifacts without its socket.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use decisions::doctor::{check_blob, check_usage};
use decisions::records::{Blob, Collection, INLINE_BYTES_MAX, Progress, Upload, Version, VersionName};
use decisions::tenants::EnsureTenant;
use decisions::versions::CreateVersion;
use decisions::{Answer, Policy, Refusal};
use futures_util::TryStreamExt;
use server::artifacts::bytes::{self, Whole};
use server::artifacts::collector::Collector;
use server::artifacts::upkeep::Upkeep;
use server::artifacts::{Artifacts, Judge, Trouble, small};
use server::clock::Clock;
use server::{Engine, Failure, Mint};
use sha2::{Digest as _, Sha256};
use store::blobs::{BlobKey, Blobs};
use store::{Sqlite, Store};
use tempfile::TempDir;
use wire::{CollectionId, Digest, TenantId};

pub struct Yard<S = Sqlite> {
    pub engine: Engine<S>,
    pub artifacts: Arc<Artifacts>,
    pub collector: Collector<S>,
    pub tenants: [TenantId; 2],
    pub grace: Duration,
    folder: TempDir,
}

const PAGE: usize = 500;

impl Yard {
    pub async fn open(grace: Duration, upload_ttl: Duration) -> Yard {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Sqlite::open(&folder.path().join("deltaci.db")).unwrap());
        let cache_ttl = Duration::from_secs(3600);
        let policy = Policy { blob_grace: grace, upload_ttl, cache_ttl, ..Policy::default() };
        Yard::over(store, folder, policy).await
    }
}

impl<S: Store> Yard<S> {
    pub async fn over(store: Arc<S>, folder: TempDir, policy: Policy) -> Yard<S> {
        let grace = policy.blob_grace;
        let engine = Engine::start(store, Clock::start(), policy);
        let address = folder.path().join("blobs").display().to_string();
        let blobs = Blobs::open(&address).await.unwrap();
        let artifacts = Arc::new(Artifacts::new(blobs.clone(), Judge::Absent, [7; 32], 100));
        let collector = Collector::new(engine.clone(), blobs);
        let tenants = [tenant(&engine, "one").await, tenant(&engine, "two").await];
        Yard { engine, artifacts, collector, tenants, grace, folder }
    }

    pub fn upkeep(&self) -> Upkeep<S> {
        Upkeep {
            engine: self.engine.clone(),
            blobs: self.artifacts.blobs.clone(),
            collector: self.collector.clone(),
            interval: Duration::from_millis(20),
            collect_every: Duration::from_secs(3600),
            cache_ttl: Duration::from_secs(3600),
            cache_bytes_max: 100,
        }
    }

    pub async fn push(&self, tenant: TenantId, bytes: &[u8]) -> Result<Upload, Trouble> {
        let digest = digest(bytes);
        let put = small::put(&self.artifacts, &self.engine, (tenant, None), digest, bytes.to_vec().into());
        put.await.map(|(_, upload)| upload)
    }

    /// `None` when bytes it needs have gone meanwhile: nobody promised to keep them longer.
    pub async fn draft(&self, name: &VersionName, digests: &[Digest]) -> Option<Version> {
        let id = Mint.version(self.engine.clock().now());
        let entries =
            digests.iter().enumerate().map(|(number, digest)| (format!("f{number}"), *digest)).collect();
        match self.engine.perform(CreateVersion { id, name: name.clone(), entries }).await {
            Ok(Answer::VersionIs { version, .. }) => Some(*version),
            Err(Failure::Refused(Refusal::BlobMissing { .. })) => None,
            other => panic!("a draft was answered with {other:?}"),
        }
    }

    /// Reads every byte of a version and hashes it again.
    pub async fn verify(&self, version: &Version) {
        for entry in version.entries.iter() {
            let key = BlobKey::new(&entry.digest, entry.blob);
            let bytes = self.read(&key, entry.length).await.unwrap_or_else(|error| {
                panic!("{} of {} cannot be read: {error}", entry.path, version.id);
            });
            assert_eq!(digest(&bytes), entry.digest, "{} of {}", entry.path, version.id);
        }
    }

    pub async fn read(&self, key: &BlobKey, length: u64) -> Result<Vec<u8>, Trouble> {
        let whole = Whole { key: key.clone(), length };
        let stream = bytes::read(self.engine.store(), &self.artifacts.blobs, &whole, 0..length).await?;
        let pieces: Vec<_> = stream.try_collect().await?;
        Ok(pieces.concat())
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where an upload's bytes lie.
    pub fn path_of(&self, upload: &Upload) -> PathBuf {
        let key = BlobKey::new(&upload.digest, upload.got.expect("it is committed"));
        self.folder.path().join("blobs").join(key.as_str())
    }

    /// From its start until it is over.
    pub async fn collect(&self) -> Collection {
        let id = self.collector.request(false).await.unwrap().collection.id;
        self.until_over(id).await
    }

    pub async fn until_over(&self, id: CollectionId) -> Collection {
        loop {
            let report = self.collector.find(id).await.unwrap().expect("it was begun");
            if report.collection.state != Progress::Running {
                return report.collection;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Everybody has gone home: what is left when upkeep and collections have nothing more to do.
    pub async fn come_to_rest(&self) {
        tokio::time::sleep(self.grace * 2).await;
        while self.upkeep().round().await.unwrap() {}
        self.collect().await;
        self.upkeep().round().await.unwrap();
    }

    pub async fn blobs(&self) -> Vec<Blob> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = self.engine.store().blob_files_after(after, PAGE).await.unwrap();
            for file in &page {
                assert_eq!(check_blob(file), [], "the doctor finds nothing");
            }
            after = page.last().map(|file| file.blob.id);
            let last = page.len() < PAGE;
            all.extend(page.into_iter().map(|file| file.blob));
            if last {
                return all;
            }
        }
    }

    pub async fn keys(&self) -> Vec<String> {
        let (mut all, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
        loop {
            let page = self.artifacts.blobs.keys(after.as_deref(), PAGE).await.unwrap();
            after = page.last().cloned();
            let last = page.len() < PAGE;
            all.extend(page);
            if last {
                return all;
            }
        }
    }

    /// Where uploads that are still open may have put bytes; they go when those run out.
    pub async fn keys_on_the_way(&self) -> Vec<String> {
        let later = self.engine.clock().now().plus(Duration::from_secs(7 * 24 * 3600));
        let mut keys = Vec::new();
        for id in self.engine.store().artifacts_due(later, PAGE).await.unwrap().uploads {
            let upload = self.engine.store().upload(id).await.unwrap().expect("it was found");
            keys.push(BlobKey::new(&upload.digest, upload.blob).as_str().to_owned());
        }
        keys
    }

    /// Zero lost, zero leaked: the bytes that are there are those of blobs that something refers to, or the journal knows
    /// why they are there.
    pub async fn assert_at_rest(&self) {
        let referred: Vec<Blob> = self.blobs().await.into_iter().filter(|blob| blob.refs > 0).collect();
        let apart = referred.iter().filter(|blob| !blob.inline);
        let mut wanted: Vec<String> =
            apart.map(|blob| BlobKey::new(&blob.digest, blob.id).as_str().to_owned()).collect();
        wanted.sort();
        let on_the_way = self.keys_on_the_way().await;
        let mut there = self.keys().await;
        there.retain(|key| !on_the_way.contains(key));
        there.sort();
        assert_eq!(there, wanted);
        for blob in referred {
            let bytes = self.read(&BlobKey::new(&blob.digest, blob.id), blob.length).await.unwrap();
            assert_eq!(digest(&bytes), blob.digest);
        }
        let usages = self.engine.store().usage_files_after(None, usize::MAX).await.unwrap();
        let problems: Vec<_> = usages.iter().flat_map(check_usage).collect();
        assert!(problems.is_empty(), "{problems:?}");
    }
}

/// Too much for a place among the records: it gets a file.
pub fn large(bytes: &[u8]) -> Vec<u8> {
    bytes.repeat(INLINE_BYTES_MAX as usize / bytes.len() + 1)
}

async fn tenant<S: Store>(engine: &Engine<S>, name: &str) -> TenantId {
    let id = Mint.tenant(engine.clock().now());
    match engine.perform(EnsureTenant { id, name: name.into() }).await {
        Ok(Answer::TenantReady(tenant)) => tenant,
        other => panic!("a tenant was answered with {other:?}"),
    }
}

pub fn digest(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::digest(bytes).into())
}

pub fn name(tenant: TenantId, version: &str) -> VersionName {
    VersionName { tenant, package: "app".into(), version: version.into() }
}
