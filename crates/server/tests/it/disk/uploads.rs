//! The two long ways into the store: one stream that comes in two pieces, and two parts that are joined.

use std::sync::LazyLock;

use bytes::Bytes;
use decisions::records::Upload;
use decisions::uploads::StartUpload;
use futures_util::StreamExt;
use machines::upload::State;
use server::artifacts::stream::Incoming;
use server::artifacts::uploads::{Span, begin_parts, commit, complete, content as receive};
use server::artifacts::{Trouble, parts};
use store::Store;
use store::blobs::Staging;
use wire::{BlobId, UploadId};

use super::site::{Said, Site, words};
use super::story::{BORN, Step, has_blob, tenant};
use crate::artifacts::yard::digest;

/// An upload of the story.
pub struct Way {
    name: &'static str,
    /// Made once: every verdict looks for it, several times.
    content: LazyLock<Vec<u8>>,
    /// Where the second piece begins.
    border: usize,
}

pub static STREAM: Way =
    Way { name: "stream", content: LazyLock::new(|| content(b't', 30_000)), border: 13_000 };
pub static PARTS: Way =
    Way { name: "parts", content: LazyLock::new(|| content(b'p', 24_000)), border: 10_000 };

pub fn content(letter: u8, length: usize) -> Vec<u8> {
    (0..length).map(|number| letter.wrapping_add((number as u8).wrapping_mul(31))).collect()
}

fn incoming(bytes: &[u8]) -> Incoming {
    futures_util::stream::iter([Ok(Bytes::copy_from_slice(bytes))]).boxed()
}

impl Way {
    pub fn bytes(&self) -> &[u8] {
        &self.content
    }

    fn length(&self) -> usize {
        self.content.len()
    }

    fn id(&self) -> UploadId {
        UploadId::derived(BORN, "story", self.name)
    }

    async fn upload(&self, site: &Site) -> Said<Option<Upload>> {
        site.store().upload(self.id()).await.map_err(words)
    }

    async fn open(&self, site: &Site) -> Said<()> {
        let (id, blob) = (self.id(), BlobId::derived(BORN, "story", self.name));
        let (digest, length) = (digest(self.bytes()), self.length() as u64);
        let start =
            StartUpload { id, blob, tenant: tenant(), digest, length, execution: None, measured: None };
        site.perform(start).await.map(drop)
    }

    pub async fn perform(&self, site: &Site, step: Step) -> Said<()> {
        if let Step::StreamOpened | Step::PartsOpened = step {
            self.open(site).await?;
        }
        let upload = self.upload(site).await?.ok_or("the upload is gone")?;
        match step {
            Step::StreamOpened => Ok(()),
            Step::StreamBegun => self.send(site, upload, 0..self.border).await,
            Step::StreamReceived => {
                let staged = self.staged(site).await?;
                let first = if staged == self.border { staged } else { 0 };
                self.send(site, upload, first..self.length()).await
            }
            Step::PartsOpened => {
                let lengths = vec![self.border as u64, (self.length() - self.border) as u64];
                done(begin_parts(&site.artifacts, &site.engine, upload, lengths).await)
            }
            Step::FirstPart => self.part(site, &upload, 1).await,
            Step::SecondPart => self.part(site, &upload, 2).await,
            Step::PartsComplete => {
                let here = site.artifacts.blobs.parts(&Staging::new(self.id())).await.map_err(words)?;
                let list = here.into_iter().map(|part| (part.number, part.etag)).collect();
                done(complete(&site.artifacts, &site.engine, upload, list).await)
            }
            Step::StreamCommitted | Step::PartsCommitted => {
                done(commit(&site.artifacts, &site.engine, upload).await)
            }
            other => panic!("{other:?} is no step of an upload"),
        }
    }

    async fn send(&self, site: &Site, upload: Upload, range: std::ops::Range<usize>) -> Said<()> {
        let span = Span { first: range.start as u64, end: range.end as u64 };
        let bytes = incoming(&self.bytes()[range]);
        done(receive(&site.artifacts, &site.engine, upload, span, bytes).await)
    }

    async fn part(&self, site: &Site, upload: &Upload, number: u32) -> Said<()> {
        let (first, second) = self.bytes().split_at(self.border);
        let bytes = if number == 1 { first } else { second };
        let length = bytes.len() as u64;
        parts::write(&site.artifacts, upload, number, length, incoming(bytes)).await.map(drop).map_err(words)
    }

    async fn staged(&self, site: &Site) -> Said<usize> {
        let staged = site.artifacts.blobs.staged(&Staging::new(self.id())).await.map_err(words)?;
        Ok(staged as usize)
    }

    /// Once the upload is committed its bytes are a blob, and what led to it is gone.
    pub async fn is_done(&self, site: &Site, step: Step) -> Said<bool> {
        let Some(upload) = self.upload(site).await? else { return Ok(false) };
        if upload.state.get() == State::Committed {
            return has_blob(site, self.bytes()).await;
        }
        // Brought to its key, but not yet committed: from there it can be.
        let key = server::artifacts::uploads::key(&upload);
        if site.artifacts.blobs.length(&key).await.map_err(words)? == Some(upload.length) {
            return Ok(!matches!(step, Step::StreamCommitted | Step::PartsCommitted));
        }
        let received = upload.state.get() == State::PendingCommit;
        Ok(match step {
            Step::StreamOpened => true,
            Step::PartsOpened => !upload.parts.is_empty(),
            Step::StreamBegun => self.staged(site).await? >= self.border,
            Step::StreamReceived => received && self.staged(site).await? == self.length(),
            Step::FirstPart => self.has_parts(site, 1).await?,
            Step::SecondPart => self.has_parts(site, 2).await?,
            Step::PartsComplete => received && self.has_parts(site, 2).await?,
            Step::StreamCommitted | Step::PartsCommitted => false,
            other => panic!("{other:?} is no step of an upload"),
        })
    }

    async fn has_parts(&self, site: &Site, count: usize) -> Said<bool> {
        let here = site.artifacts.blobs.parts(&Staging::new(self.id())).await.map_err(words)?;
        let lengths = [self.border, self.length() - self.border];
        let expected = (1..).zip(lengths).take(count);
        Ok(expected.into_iter().all(|(number, length)| {
            here.iter().any(|part| part.number == number && part.length == length as u64)
        }))
    }
}

fn done<T>(answer: Result<T, Trouble>) -> Said<()> {
    answer.map(drop).map_err(|trouble| format!("{trouble:?}"))
}
