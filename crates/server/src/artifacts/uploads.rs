//! An upload step by step: its record says what may happen next, then bytes move, then the record does.

use std::collections::BTreeMap;
use std::sync::Arc;

use decisions::records::{Measured, Upload};
use decisions::uploads::{
    AbortUpload, CommitUpload, CompleteParts, ContentReceived, PutBlob, StartParts, StartUpload,
};
use decisions::{Answer, Command, Refusal};
use machines::upload;
use store::Store;
use store::blobs::{BlobError, BlobKey, Blobs, Part, Staging};
use wire::{Digest, ExecId, TenantId, UploadId};

use crate::artifacts::stream::Incoming;
use crate::artifacts::{Artifacts, Trouble};
use crate::engine::Engine;
use crate::mint::Mint;

/// What a caller announces.
#[derive(Debug, Clone, Copy)]
pub struct Announced {
    pub tenant: TenantId,
    pub digest: Digest,
    pub length: u64,
    /// The job whose runner brings it.
    pub execution: Option<ExecId>,
    /// The bytes are here already, and have no name yet.
    pub measured: Option<Measured>,
}

/// Which bytes of the whole a request brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub first: u64,
    /// One past the last.
    pub end: u64,
}

pub fn key(upload: &Upload) -> BlobKey {
    BlobKey::new(&upload.digest, upload.blob)
}

pub async fn start<S: Store>(engine: &Engine<S>, announced: Announced) -> Result<Upload, Trouble> {
    perform(engine, begun(engine, announced)).await
}

/// From its first word to its blob in one commit.
pub async fn put_inline<S: Store>(
    engine: &Engine<S>,
    announced: Announced,
    bytes: Arc<[u8]>,
) -> Result<Upload, Trouble> {
    perform(engine, PutBlob { start: begun(engine, announced), bytes }).await
}

fn begun<S: Store>(engine: &Engine<S>, announced: Announced) -> StartUpload {
    let Announced { tenant, digest, length, execution, measured } = announced;
    let now = engine.clock().now();
    let (id, blob) = (Mint.upload(now), Mint.blob(now));
    StartUpload { id, blob, tenant, digest, length, execution, measured }
}

/// The tenant's upload, ended or not.
pub async fn find<S: Store>(engine: &Engine<S>, tenant: TenantId, id: UploadId) -> Result<Upload, Trouble> {
    let upload = engine.store().upload(id).await?;
    upload.filter(|upload| upload.tenant == tenant).ok_or_else(|| Refusal::UploadNotFound.into())
}

/// The one stream, or more of it. When it has come to its end the upload waits for its commit.
pub async fn content<S: Store>(
    artifacts: &Artifacts,
    engine: &Engine<S>,
    upload: Upload,
    span: Span,
    bytes: Incoming,
) -> Result<Upload, Trouble> {
    let (at, key) = (Staging::new(upload.id), key(&upload));
    let staged = artifacts.blobs.stage(&at, &key, span.first, span.end, bytes).await;
    let staged = match staged.map_err(Trouble::from) {
        Ok(staged) => staged,
        Err(Trouble::Bytes(BlobError::TooLong { .. })) if span.end == upload.length => {
            return Err(mismatched(engine, &upload, span.end.saturating_add(1)).await);
        }
        Err(trouble) => return Err(trouble),
    };
    if span.end < upload.length {
        return Ok(upload); // more is to come
    }
    let measured = Measured { digest: staged.digest, length: staged.length };
    let received = ContentReceived { tenant: upload.tenant, upload: upload.id, measured };
    let received = perform(engine, received).await;
    if let Err(Trouble::Failed(crate::Failure::Refused(Refusal::UploadEnded { .. }))) = &received {
        // Sent twice at once, and the other one was committed: nobody looks for what this one left.
        if let Err(error) = artifacts.blobs.discard_staging(&at).await {
            tracing::warn!(upload = %upload.id, %error, "bytes that came too late are left behind");
        }
        sweep_up(artifacts, engine, &upload).await;
    }
    received
}

/// Ends an upload of which it is known, before all of it has come, that its length is another one.
pub async fn mismatched<S: Store>(engine: &Engine<S>, upload: &Upload, length: u64) -> Trouble {
    let measured = Measured { digest: upload.digest, length };
    let received = ContentReceived { tenant: upload.tenant, upload: upload.id, measured };
    if let Err(trouble) = perform(engine, received).await {
        return trouble;
    }
    match committed(engine, upload, Some(measured)).await {
        Ok(_) => Trouble::Mistake,
        Err(trouble) => trouble,
    }
}

/// Refuses what the record rules out, before a byte is read.
pub fn require_stream(upload: &Upload, now: wire::Time) -> Result<(), Refusal> {
    use machines::Machine;
    if !upload.is_open() {
        return Err(Refusal::UploadEnded { state: upload.state.get().as_str() });
    }
    if upload.expires_at <= now {
        return Err(Refusal::UploadEnded { state: "expired" });
    }
    if !upload.parts.is_empty() { Err(Refusal::UploadInParts) } else { Ok(()) }
}

pub async fn begin_parts<S: Store>(
    artifacts: &Artifacts,
    engine: &Engine<S>,
    upload: Upload,
    lengths: Vec<u64>,
) -> Result<Upload, Trouble> {
    let mut command = StartParts { tenant: upload.tenant, upload: upload.id, lengths, multipart: None };
    let is_new = upload.state.get() == upload::State::Initiated;
    if is_new && upload.expires_at > engine.clock().now() {
        command.check(upload.length, artifacts.parts_max)?;
        command.multipart = artifacts.blobs.begin_parts(&Staging::new(upload.id), &key(&upload)).await?;
    }
    perform(engine, command).await
}

pub async fn complete<S: Store>(
    artifacts: &Artifacts,
    engine: &Engine<S>,
    upload: Upload,
    parts: Vec<(u32, String)>,
) -> Result<Upload, Trouble> {
    let here = match &artifacts.blobs {
        Blobs::Files(_) => {
            let here = artifacts.blobs.parts(&Staging::new(upload.id)).await?;
            let by_number = here.into_iter().map(|part| (part.number, (part.length, part.etag)));
            Some(by_number.collect::<BTreeMap<_, _>>())
        }
        Blobs::S3(_) => None, // a bucket says so when they are joined
    };
    perform(engine, CompleteParts { tenant: upload.tenant, upload: upload.id, parts, here }).await
}

/// What came is looked at, brought to its key, and then made visible.
pub async fn commit<S: Store>(
    artifacts: &Artifacts,
    engine: &Engine<S>,
    upload: Upload,
) -> Result<Upload, Trouble> {
    let ready =
        upload.state.get() == upload::State::PendingCommit && upload.expires_at > engine.clock().now();
    if !ready {
        return committed(engine, &upload, None).await; // which says why not
    }
    let (at, key) = (Staging::new(upload.id), key(&upload));
    let measured = match upload.measured {
        Some(measured) => measured,
        None => joined(artifacts, &upload).await?,
    };
    if measured.digest == upload.digest && measured.length == upload.length {
        match artifacts.blobs.place(&at, &key).await {
            // Somebody has begun to send it again, and it is not whole yet.
            Err(BlobError::NotFound) => return not_placed(engine, &upload).await,
            placed => placed?,
        }
    }
    let answer = committed(engine, &upload, Some(measured)).await;
    if let Err(Trouble::Failed(crate::Failure::Refused(Refusal::UploadEnded { .. }))) = &answer {
        sweep_up(artifacts, engine, &upload).await;
    }
    answer
}

/// The parts, in order and read back.
async fn joined(artifacts: &Artifacts, upload: &Upload) -> Result<Measured, Trouble> {
    let parts: Vec<Part> =
        (1..).zip(&upload.etags).map(|(number, etag)| Part { number, etag: etag.clone() }).collect();
    let at = Staging::new(upload.id);
    match artifacts.blobs.join(&at, &key(upload), upload.multipart.as_deref(), &parts).await {
        Ok(staged) => Ok(Measured { digest: staged.digest, length: staged.length }),
        Err(BlobError::PartMissing { number }) => Err(Refusal::PartsMissing { number }.into()),
        Err(error) => Err(error.into()),
    }
}

/// Another request was faster, or it is being sent again.
async fn not_placed<S: Store>(engine: &Engine<S>, upload: &Upload) -> Result<Upload, Trouble> {
    use machines::Machine;
    let now = find(engine, upload.tenant, upload.id).await?;
    let state = now.state.get().as_str();
    Err(if now.is_open() { Refusal::UploadNotReady { state } } else { Refusal::UploadEnded { state } }.into())
}

/// An upload that was ended while its bytes were placed: what was placed after it was swept up is swept up here.
async fn sweep_up<S: Store>(artifacts: &Artifacts, engine: &Engine<S>, upload: &Upload) {
    let ended = find(engine, upload.tenant, upload.id).await;
    let aborted = ended.is_ok_and(|upload| upload.state.get() == upload::State::Aborted && !upload.litter);
    if aborted {
        let (at, key) = (Staging::new(upload.id), key(upload));
        if let Err(error) = artifacts.blobs.discard(&at, &key, upload.multipart.as_deref()).await {
            tracing::warn!(upload = %upload.id, %error, "bytes of an aborted upload are left behind");
        }
    }
}

pub async fn abort<S: Store>(
    engine: &Engine<S>,
    tenant: TenantId,
    upload: UploadId,
) -> Result<Upload, Trouble> {
    perform(engine, AbortUpload { tenant, upload }).await
}

/// The commit itself.
pub async fn committed<S: Store>(
    engine: &Engine<S>,
    upload: &Upload,
    measured: Option<Measured>,
) -> Result<Upload, Trouble> {
    let (tenant, digest) = (upload.tenant, upload.digest);
    perform(engine, CommitUpload { tenant, upload: upload.id, measured, digest }).await
}

async fn perform<S: Store>(engine: &Engine<S>, command: impl Into<Command>) -> Result<Upload, Trouble> {
    match engine.perform(command).await? {
        Answer::UploadIs(upload) => Ok(*upload),
        Answer::UploadMismatched { field } => Err(Trouble::Mismatched { field }),
        _ => Err(Trouble::Mistake),
    }
}
