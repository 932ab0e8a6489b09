//! The collector: finds what nothing holds, claims it, deletes its bytes. Online: it never stops an upload, a publication
//! or a restore, and it loses every race against them.
//!
//! All of its memory is in the store: whoever takes a collection over goes on from what is there. Never: deletes bytes
//! that a durable claim of the running collection does not name.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use decisions::collections::{
    BlobsSwept, ClaimBlobs, FinishCollection, MarkBlobs, StartCollection, TakeOverCollection, held_by,
};
use decisions::records::{Blob, Collection, Progress};
use decisions::{Answer, Command};
use futures_util::stream::{self, StreamExt};
use store::blobs::{BlobKey, Blobs};
use store::{Store, StoreError};
use wire::{BlobId, CollectionId};

use crate::engine::Engine;
use crate::mint::Mint;
use crate::perform::{Failure, Unavailable};

/// Blobs that are looked at, or claimed, in one commit.
const CHUNK: usize = 500;
/// Deletions under way at a time.
const DELETING_MAX: usize = 8;
/// Rehearsals that are remembered.
const REHEARSALS_MAX: usize = 16;

/// A collection as it is shown. A rehearsal leaves no trace in the store, so it is only known here.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub collection: Collection,
    pub dry_run: bool,
}

/// A handle; cheap to clone.
pub struct Collector<S> {
    engine: Engine<S>,
    blobs: Blobs,
    rehearsals: Arc<Mutex<VecDeque<Collection>>>,
}

impl<S> Clone for Collector<S> {
    fn clone(&self) -> Collector<S> {
        let Collector { engine, blobs, rehearsals } = self;
        Collector { engine: engine.clone(), blobs: blobs.clone(), rehearsals: rehearsals.clone() }
    }
}

impl<S: Store> Collector<S> {
    pub fn new(engine: Engine<S>, blobs: Blobs) -> Collector<S> {
        Collector { engine, blobs, rehearsals: Arc::default() }
    }

    /// Begins a collection, or says which one runs. A rehearsal is over when this returns, and has changed nothing.
    pub async fn request(&self, dry_run: bool) -> Result<Report, Failure> {
        if dry_run {
            return Ok(Report { collection: self.rehearse().await?, dry_run });
        }
        let (id, holder) = (Mint.collection(self.engine.clock().now()), Mint.holder());
        let (collection, existing) = self.perform(StartCollection { id, holder }).await?;
        if !existing {
            tokio::spawn(self.clone().work(collection.clone()));
        }
        Ok(Report { collection, dry_run })
    }

    pub async fn find(&self, id: CollectionId) -> Result<Option<Report>, StoreError> {
        let rehearsed = self.rehearsals().iter().find(|it| it.id == id).cloned();
        if let Some(collection) = rehearsed {
            return Ok(Some(Report { collection, dry_run: true }));
        }
        let found = self.engine.store().collection(id).await?;
        Ok(found.map(|collection| Report { collection, dry_run: false }))
    }

    /// Goes on with a collection whose worker has gone.
    pub async fn take_over(&self) -> Result<(), Failure> {
        let Some(id) = self.engine.store().collector().await.map_err(unavailable)?.running else {
            return Ok(());
        };
        let found = self.engine.store().collection(id).await.map_err(unavailable)?;
        let abandoned = found.is_some_and(|it| it.held_until <= self.engine.clock().now());
        if abandoned {
            let take_over = TakeOverCollection { collection: id, holder: Mint.holder() };
            let (collection, _) = self.perform(take_over).await?;
            tokio::spawn(self.clone().work(collection));
        }
        Ok(())
    }

    async fn work(self, collection: Collection) {
        let outcome = self.run(&collection).await;
        let failure = match outcome {
            Ok(0) => None,
            Ok(left) => Some(format!(
                "the bytes of {left} blobs could not be deleted; the next collection tries again"
            )),
            Err(Failure::Refused(_)) => return, // somebody else has it
            Err(error) => {
                tracing::warn!(%error, collection = %collection.id, "the collection stops here; it is taken over later");
                return;
            }
        };
        let Collection { id, holder, .. } = collection;
        if let Err(error) = self.perform(FinishCollection { collection: id, holder, failure }).await {
            tracing::warn!(%error, collection = %id, "the end of the collection is not on record; it is taken over later");
        }
    }

    /// Returns how many claimed blobs still have their bytes.
    async fn run(&self, collection: &Collection) -> Result<u64, Failure> {
        if collection.mark_completed_at.is_none() {
            self.mark(collection).await?;
        }
        self.sweep(collection).await
    }

    async fn mark(&self, collection: &Collection) -> Result<(), Failure> {
        let mut after = None;
        loop {
            let page = self.page(after).await?;
            let last = page.len() < CHUNK;
            after = page.last().map(|blob| blob.id);
            let blobs = page.iter().map(|blob| blob.id).collect();
            let Collection { id, holder, .. } = *collection;
            self.perform(MarkBlobs { collection: id, holder, blobs, last }).await?;
            if last {
                return Ok(());
            }
        }
    }

    async fn sweep(&self, collection: &Collection) -> Result<u64, Failure> {
        let Collection { id, holder, .. } = *collection;
        let (mut after, mut left) = (None, 0);
        loop {
            let page = self.page(after).await?;
            after = page.last().map(|blob| blob.id);
            let candidates: Vec<BlobId> =
                page.iter().filter(|blob| blob.unmarked_by == Some(id)).map(|blob| blob.id).collect();
            if !candidates.is_empty() {
                let claimed = self.claim(ClaimBlobs { collection: id, holder, blobs: candidates }).await?;
                let gone = self.delete(&claimed).await;
                left += (claimed.len() - gone.len()) as u64;
                self.perform(BlobsSwept { collection: id, holder, blobs: gone }).await?;
            }
            if page.len() < CHUNK {
                return Ok(left);
            }
        }
    }

    /// One that cannot be deleted does not keep the others.
    async fn delete(&self, claimed: &[Blob]) -> Vec<BlobId> {
        // Bytes among the records go with the commit that says so.
        let (inline, apart): (Vec<&Blob>, Vec<&Blob>) = claimed.iter().partition(|blob| blob.inline);
        let mut gone: Vec<BlobId> = inline.iter().map(|blob| blob.id).collect();
        let keys: Vec<(BlobId, BlobKey)> =
            apart.iter().map(|blob| (blob.id, BlobKey::new(&blob.digest, blob.id))).collect();
        let deletions = stream::iter(keys).map(|(id, key)| {
            let blobs = self.blobs.clone();
            async move { (id, blobs.delete(&key).await) }
        });
        let mut deletions = deletions.buffer_unordered(DELETING_MAX);
        while let Some((id, deleted)) = deletions.next().await {
            match deleted {
                Ok(()) => gone.push(id),
                Err(error) => {
                    tracing::warn!(%error, blob = %id, "bytes that were claimed cannot be deleted");
                    self.engine.metrics().failed("blob_delete_failed");
                }
            }
        }
        gone
    }

    async fn rehearse(&self) -> Result<Collection, Failure> {
        let now = self.engine.clock().now();
        let epoch = self.engine.store().collector().await.map_err(unavailable)?.epoch + 1;
        let mut collection = Collection {
            id: Mint.collection(now),
            state: Progress::Done,
            epoch,
            holder: 0,
            held_until: now,
            marked: 0,
            kept: 0,
            deleted: 0,
            bytes: 0,
            message: "nothing was changed".into(),
            started_at: now,
            mark_completed_at: Some(now),
            finished_at: Some(now),
        };
        let mut after = None;
        loop {
            let page = self.page(after).await?;
            for blob in &page {
                collection.marked += 1;
                if held_by(blob, epoch, now).is_some() {
                    collection.kept += 1;
                } else {
                    collection.deleted += 1;
                    collection.bytes += blob.length;
                }
            }
            after = page.last().map(|blob| blob.id);
            if page.len() < CHUNK {
                break;
            }
        }
        let mut rehearsals = self.rehearsals();
        rehearsals.truncate(REHEARSALS_MAX - 1);
        rehearsals.push_front(collection.clone());
        Ok(collection)
    }

    async fn page(&self, after: Option<BlobId>) -> Result<Vec<Blob>, Failure> {
        self.engine.store().blobs_unreferenced(after, CHUNK).await.map_err(unavailable)
    }

    async fn claim(&self, command: ClaimBlobs) -> Result<Vec<Blob>, Failure> {
        match self.engine.perform(command).await? {
            Answer::BlobsClaimed(claimed) => Ok(claimed),
            other => Err(Failure::Bug(format!("a claim was answered with {other:?}"))),
        }
    }

    async fn perform(&self, command: impl Into<Command>) -> Result<(Collection, bool), Failure> {
        match self.engine.perform(command).await? {
            Answer::CollectionIs { collection, existing } => Ok((*collection, existing)),
            other => Err(Failure::Bug(format!("a collection was answered with {other:?}"))),
        }
    }

    fn rehearsals(&self) -> std::sync::MutexGuard<'_, VecDeque<Collection>> {
        self.rehearsals.lock().expect("no panic holds it")
    }
}

fn unavailable(error: StoreError) -> Failure {
    Failure::Unavailable(Unavailable::Store(error.to_string()))
}
