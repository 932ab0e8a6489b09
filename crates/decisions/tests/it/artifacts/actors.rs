//! Callers that do one step at a time, as the server's handlers do.

use decisions::collections::{BlobsSwept, ClaimBlobs, FinishCollection, MarkBlobs, StartCollection};
use decisions::records::{Measured, VersionName};
use decisions::uploads::{AbortUpload, CommitUpload, ContentReceived, PutBlob, StartUpload};
use decisions::versions::{
    CreateVersion, PublishVersion, RestoreVersion, TombstoneVersion, Verdict, VersionDue, content_hash,
};
use decisions::{Answer, Refusal};
use machines::upload;
use wire::{BlobId, CollectionId, TenantId, UploadId, VersionId};

use crate::artifacts::world::{GRACE, RETENTION, World, digest, tenant};

#[derive(Clone, Debug)]
pub struct Actor {
    pub kind: Kind,
    /// How many steps are done.
    pub step: u8,
    pub over: bool,
    /// What the collector has been told and may be stale.
    page: Vec<BlobId>,
    claimed: Vec<BlobId>,
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Brings the bytes, for a tenant.
    Uploader {
        number: u128,
        tenant: u128,
    },
    /// Brings them in one go, among the records.
    Putter {
        number: u128,
        tenant: u128,
    },
    /// Starts, sends, and thinks better of it.
    Quitter {
        number: u128,
        tenant: u128,
    },
    /// Makes a version of the bytes, publishes, withdraws and restores it.
    Publisher {
        number: u128,
        tenant: u128,
    },
    Collector {
        number: u128,
    },
    /// Time passes; versions run out.
    Clock {
        ticks: u8,
    },
}

impl Actor {
    pub fn new(kind: Kind) -> Actor {
        Actor { kind, step: 0, over: false, page: Vec::new(), claimed: Vec::new() }
    }

    /// Does the next step. A refusal ends it: whoever it stands for gives up.
    pub fn act(&mut self, world: &mut World) {
        let done = match self.kind {
            Kind::Uploader { number, tenant: of } => self.upload(world, number, tenant(of)),
            Kind::Putter { number, tenant: of } => Self::put(world, number, tenant(of)),
            Kind::Quitter { number, tenant: of } => self.quit(world, number, tenant(of)),
            Kind::Publisher { number, tenant: of } => self.publish(world, number, tenant(of)),
            Kind::Collector { number } => self.collect(world, number),
            Kind::Clock { ticks } => {
                world.pass(GRACE);
                for version in world.versions.iter().map(|it| it.id).collect::<Vec<_>>() {
                    world.perform(VersionDue { version }).expect("it is there");
                }
                Ok(self.step + 1 == ticks)
            }
        };
        self.step += 1;
        self.over = done.unwrap_or(true);
    }

    fn announced(number: u128, tenant: TenantId) -> StartUpload {
        StartUpload {
            id: UploadId::from_u128(number),
            blob: BlobId::from_u128(number),
            tenant,
            digest: digest(1),
            length: 5,
            execution: None,
            measured: None,
        }
    }

    fn put(world: &mut World, number: u128, tenant: TenantId) -> Result<bool, Refusal> {
        let measured = Some(Measured { digest: digest(1), length: 5 });
        let start = StartUpload { measured, ..Self::announced(number, tenant) };
        let put = PutBlob { start, bytes: (*b"bytes").into() };
        let Answer::UploadIs(upload) = world.perform(put)? else { panic!("an upload") };
        world.promise(upload.got.expect("it is committed"));
        Ok(true)
    }

    fn start(world: &mut World, number: u128, tenant: TenantId) -> Result<bool, Refusal> {
        let start = Self::announced(number, tenant);
        let Answer::UploadIs(upload) = world.perform(start)? else { panic!("an upload") };
        let deduped = upload.state.get() == upload::State::Committed;
        if let Some(blob) = upload.got {
            world.promise(blob);
        }
        Ok(deduped)
    }

    fn upload(&mut self, world: &mut World, number: u128, tenant: TenantId) -> Result<bool, Refusal> {
        let (id, blob) = (UploadId::from_u128(number), BlobId::from_u128(number));
        match self.step {
            0 => Self::start(world, number, tenant),
            1 => {
                world.staged.insert(id);
                let measured = Measured { digest: digest(1), length: 5 };
                world.perform(ContentReceived { tenant, upload: id, measured })?;
                Ok(false)
            }
            2 => {
                if world.staged.remove(&id) {
                    world.write_bytes(blob);
                }
                Ok(false)
            }
            _ => {
                let measured = Some(Measured { digest: digest(1), length: 5 });
                let commit = CommitUpload { tenant, upload: id, measured, digest: digest(1) };
                let Answer::UploadIs(upload) = world.perform(commit)? else { panic!("it matches") };
                world.promise(upload.got.expect("it is committed"));
                Ok(true)
            }
        }
    }

    fn quit(&mut self, world: &mut World, number: u128, tenant: TenantId) -> Result<bool, Refusal> {
        let upload = UploadId::from_u128(number);
        match self.step {
            0 => Self::start(world, number, tenant),
            1 => {
                world.staged.insert(upload);
                Ok(false)
            }
            _ => {
                world.perform(AbortUpload { tenant, upload })?;
                Ok(true)
            }
        }
    }

    fn publish(&mut self, world: &mut World, number: u128, tenant: TenantId) -> Result<bool, Refusal> {
        let name = VersionName { tenant, package: "app".into(), version: number.to_string() };
        match self.step {
            0 => {
                let entries = vec![("file".to_owned(), digest(1))];
                let id = VersionId::from_u128(number);
                world.perform(CreateVersion { id, name, entries })?;
            }
            1 => {
                let version = world.versions.iter().find(|version| version.name == name).expect("its draft");
                let judged = content_hash(&version.entries);
                world.perform(PublishVersion { name, verdict: Verdict::Allow, judged, release: false })?;
            }
            2 => drop(world.perform(TombstoneVersion { name, retention: RETENTION })?),
            _ => {
                world.perform(RestoreVersion { name, verdict: Verdict::Allow })?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn collect(&mut self, world: &mut World, number: u128) -> Result<bool, Refusal> {
        let (collection, holder) = (CollectionId::from_u128(number), number as u64);
        let blobs = |page: &[BlobId]| page.to_vec();
        match self.step {
            0 => {
                let Answer::CollectionIs { existing, .. } =
                    world.perform(StartCollection { id: collection, holder })?
                else {
                    panic!("a collection")
                };
                return Ok(existing);
            }
            1 | 3 => self.page = world.unreferenced().iter().map(|blob| blob.id).collect(),
            2 => {
                let blobs = blobs(&self.page);
                world.perform(MarkBlobs { collection, holder, blobs, last: true })?;
            }
            4 => {
                let blobs = blobs(&self.page);
                let Answer::BlobsClaimed(claimed) =
                    world.perform(ClaimBlobs { collection, holder, blobs })?
                else {
                    panic!("claims")
                };
                self.claimed = claimed.iter().map(|blob| blob.id).collect();
            }
            5 => {
                let inline = |blob: &BlobId| world.blobs.get(blob).is_some_and(|it| it.inline);
                let apart: Vec<BlobId> = self.claimed.iter().copied().filter(|it| !inline(it)).collect();
                apart.into_iter().for_each(|blob| world.delete_bytes(blob));
            }
            6 => {
                let blobs = blobs(&self.claimed);
                world.perform(BlobsSwept { collection, holder, blobs })?;
            }
            _ => {
                world.perform(FinishCollection { collection, holder, failure: None })?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}
