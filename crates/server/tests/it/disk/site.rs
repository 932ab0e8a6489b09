//! A server's data in one folder: an engine on the real SQLite store, the bytes of artifacts in files, a collector.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use decisions::doctor::check_blob;
use decisions::records::{Blob, Progress};
use decisions::{Answer, Command, Policy};
use futures_util::TryStreamExt;
use server::artifacts::bytes::{self, Whole};
use server::artifacts::collector::Collector;
use server::artifacts::upkeep::Upkeep;
use server::artifacts::{Artifacts, Judge, Trouble};
use server::{Clock, Engine, doctor};
use store::blobs::{BlobKey, Blobs};
use store::{Sqlite, Store};

use crate::artifacts::yard::digest;

/// Why not, in words.
pub type Said<T> = Result<T, String>;

pub fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

pub struct Site {
    pub engine: Engine<Sqlite>,
    pub artifacts: Artifacts,
    pub collector: Collector<Sqlite>,
    folder: PathBuf,
}

const LONG: Duration = Duration::from_secs(24 * 3600);
const PAGE: usize = 100;
/// Far longer than closing a file takes.
const LOOKS_MAX: usize = 2_000;
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Nothing runs out while a story is told, except what waits for a collection.
fn policy() -> Policy {
    Policy {
        lease_ttl: LONG,
        ack_timeout: LONG,
        delivery_claim_ttl: LONG,
        job_timeout: LONG,
        blob_grace: Duration::ZERO,
        collection_hold: Duration::from_millis(250),
        spec_bytes_max: 16 << 20,
        ..Policy::default()
    }
}

/// By this process.
fn is_open(file: &Path) -> bool {
    let handles = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    handles.into_iter().any(|handle| std::fs::read_link(handle.path()).is_ok_and(|leads_to| leads_to == file))
}

impl Site {
    pub async fn open(folder: &Path) -> Said<Site> {
        let store = Arc::new(Sqlite::open(&folder.join("deltaci.db")).map_err(words)?);
        let engine = Engine::start(store, Clock::start(), policy());
        let blobs = Blobs::open(&folder.join("blobs").display().to_string()).await.map_err(words)?;
        let collector = Collector::new(engine.clone(), blobs.clone());
        let artifacts = Artifacts::new(blobs, Judge::Absent, [7; 32], 100);
        Ok(Site { engine, artifacts, collector, folder: folder.to_path_buf() })
    }

    /// As a server that was asked to stop does, until SQLite has let go of the file: its log is then put away, if it could be.
    pub async fn close(self) {
        self.engine.stop().await;
        let database = self.folder.join("deltaci.db");
        drop(self);
        for _ in 0..LOOKS_MAX {
            if !is_open(&database) {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    pub fn store(&self) -> &Sqlite {
        self.engine.store()
    }

    pub async fn perform(&self, command: impl Into<Command>) -> Said<Answer> {
        self.engine.perform(command).await.map_err(words)
    }

    /// A collection from its start to its end; one that was cut short is gone on with.
    pub async fn collect(&self) -> Said<()> {
        let id = self.collector.request(false).await.map_err(words)?.collection.id;
        for _ in 0..LOOKS_MAX {
            let report = self.collector.find(id).await.map_err(words)?.ok_or("it was begun")?;
            match report.collection.state {
                Progress::Done => return Ok(()),
                Progress::Failed => return Err(report.collection.message),
                // As the server does, which ends then: nothing is written any more.
                Progress::Running if self.store().has_stopped() => return Err("the store has stopped".into()),
                Progress::Running => drop(self.collector.take_over().await), // or somebody else just did
            }
            tokio::time::sleep(LOOK_EVERY * 2).await;
        }
        Err("the collection does not come to an end".into())
    }

    /// What upkeep finds to do, until it finds nothing.
    pub async fn tidy_up(&self) -> Said<()> {
        let upkeep = Upkeep {
            engine: self.engine.clone(),
            blobs: self.artifacts.blobs.clone(),
            collector: self.collector.clone(),
            interval: LONG,
            collect_every: LONG,
            cache_ttl: LONG,
            cache_bytes_max: 1 << 40,
        };
        while upkeep.round().await.map_err(words)? {}
        Ok(())
    }

    /// Where uploads that are still open may have put bytes; they go when those run out.
    pub async fn keys_on_the_way(&self) -> Said<Vec<String>> {
        let later = self.engine.clock().now().plus(LONG * 7);
        let mut keys = Vec::new();
        for id in self.store().artifacts_due(later, PAGE).await.map_err(words)?.uploads {
            let upload = self.store().upload(id).await.map_err(words)?.ok_or("it was found")?;
            keys.push(BlobKey::new(&upload.digest, upload.blob).as_str().to_owned());
        }
        Ok(keys)
    }

    pub async fn is_readable(&self, blob: &Blob) -> Said<()> {
        let key = BlobKey::new(&blob.digest, blob.id);
        let at = |error: Trouble| format!("{key} cannot be read: {error}");
        let whole = Whole { key: key.clone(), length: blob.length };
        let stream = bytes::read(self.store(), &self.artifacts.blobs, &whole, 0..blob.length);
        let pieces: Vec<_> =
            stream.await.map_err(at)?.try_collect().await.map_err(|error| at(error.into()))?;
        if digest(&pieces.concat()) == blob.digest { Ok(()) } else { Err(format!("{key} is torn")) }
    }

    /// Every invariant that the records show, and every byte that they promise.
    pub async fn is_sound(&self) -> Said<()> {
        let report = doctor::examine(self.store(), |_| {}).await.map_err(words)?;
        if !report.findings.is_empty() {
            return Err(format!("the doctor finds {:?}", report.findings));
        }
        for file in self.store().blob_files_after(None, PAGE).await.map_err(words)? {
            let findings = check_blob(&file);
            if !findings.is_empty() {
                return Err(format!("the doctor finds {findings:?}"));
            }
            if file.blob.is_here() {
                self.is_readable(&file.blob).await?;
            }
        }
        Ok(())
    }
}
