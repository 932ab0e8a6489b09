//! Parts: each its own file until all are joined. Any order, any number of times; the last one to arrive counts.

use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::Stream;
use rustix::fs::OFlags;

use super::Files;
use super::folder::{Folder, READ_WRITE, sync_above, whole_name};
use super::read::Source;
use super::sink::{Sink, Taken, Target};
use super::uncached;
use crate::blobs::batch::BATCH_BYTES;
use crate::blobs::hashing::Hashing;
use crate::blobs::{BlobError, BlobKey, Part, PartHere, StageError, Staged, Staging, blocking};

const JOINED: &str = "joined";

impl Files {
    pub async fn write_part<St, E>(
        &self,
        at: &Staging,
        number: u32,
        length: u64,
        mut bytes: St,
    ) -> Result<String, StageError<E>>
    where
        St: Stream<Item = Result<Bytes, E>> + Send + Unpin,
    {
        let path = self.path(at.as_str());
        let incoming = self.incoming(path.clone()).await?;
        let taken = Sink::new(incoming.target.clone(), Hashing::new(), length).take(length, &mut bytes).await;
        match taken {
            Ok(Taken::Durable(staged)) if staged.length == length => {
                let etag = staged.digest.hex();
                let name = part_name(number, &etag);
                blocking::run(move || incoming.file_as(path, number, &name)).await?;
                Ok(etag)
            }
            Ok(Taken::Durable(Staged { length: found, .. })) => {
                incoming.drop_it().await?;
                Err(BlobError::TooShort { expected: length, found }.into())
            }
            Ok(Taken::Broken(error)) => {
                incoming.drop_it().await?;
                Err(StageError::Stream(error))
            }
            Err(error) => {
                incoming.drop_it().await?;
                Err(error)
            }
        }
    }

    pub async fn parts(&self, at: &Staging) -> Result<Vec<PartHere>, BlobError> {
        let path = self.path(at.as_str());
        blocking::run(move || {
            let folder = match Folder::open(&path) {
                Err(BlobError::NotFound) => return Ok(Vec::new()),
                folder => folder?,
            };
            let mut parts = Vec::new();
            for name in folder.names()? {
                let Some((number, etag)) = number_and_etag(&name) else { continue };
                // Gone in between: it was replaced.
                let Some(length) = folder.length(&name)? else { continue };
                parts.push(PartHere { number, length, etag: etag.to_owned() });
            }
            parts.sort_by_key(|part| part.number);
            Ok(parts)
        })
        .await
    }

    pub async fn join(&self, at: &Staging, key: &BlobKey, parts: &[Part]) -> Result<Staged, BlobError> {
        if let Some(length) = self.length(key).await? {
            return Ok(Staged { digest: key.digest(), length });
        }
        let (path, whole) = (self.path(at.as_str()), whole_name(key.digest()));
        let uncached_from = self.uncached_from;
        let before = blocking::run(move || {
            let folder = Folder::make(&path)?;
            if let Some(length) = folder.length(&whole)? {
                return Ok(Err(length));
            }
            let file = folder.file(JOINED, READ_WRITE | OFlags::TRUNC)?;
            Ok(Ok(Arc::new(Target { folder, file, uncached_from })))
        });
        let target = match before.await? {
            Err(length) => return Ok(Staged { digest: key.digest(), length }),
            Ok(target) => target,
        };
        let joined = copy(&target, parts).await;
        let whole =
            joined.as_ref().ok().filter(|it| it.digest == key.digest()).map(|it| whole_name(it.digest));
        blocking::run(move || match whole {
            Some(whole) => target.folder.rename(JOINED, &whole),
            None => target.folder.remove(JOINED),
        })
        .await?;
        joined
    }

    async fn incoming(&self, path: PathBuf) -> Result<Incoming, BlobError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (unnamed, uncached_from) = (self.unnamed, uncached::PART_FROM_BYTES.min(self.uncached_from));
        blocking::run(move || {
            let folder = Folder::make_shared(&path)?;
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = (!unnamed).then(|| format!("incoming-{}-{number}", std::process::id()));
            let file = match &name {
                Some(name) => folder.file(name, READ_WRITE | OFlags::EXCL)?,
                None => folder.file(".", OFlags::RDWR | OFlags::TMPFILE)?,
            };
            Ok(Incoming { target: Arc::new(Target { folder, file, uncached_from }), name })
        })
        .await
    }
}

/// A part on its way, under a name that nobody looks for, or under none.
struct Incoming {
    target: Arc<Target>,
    name: Option<String>,
}

impl Incoming {
    /// Makes it the part of this number. Two that arrive at once take turns, so that one of them stays.
    fn file_as(self, path: PathBuf, number: u32, name: &str) -> Result<(), BlobError> {
        let folder = Folder::open(&path)?.turn()?;
        match &self.name {
            Some(incoming) => folder.rename(incoming, name)?,
            None => folder.link(self.target.file.as_raw_fd(), name)?,
        }
        for other in folder.names()? {
            if other != name && number_and_etag(&other).is_some_and(|(found, _)| found == number) {
                folder.remove(&other)?;
            }
        }
        folder.sync()?;
        sync_above(&path) // the folder itself may be as new as the part
    }

    async fn drop_it(self) -> Result<(), BlobError> {
        blocking::run(move || self.name.map_or(Ok(()), |name| self.target.folder.remove(&name))).await
    }
}

async fn copy(target: &Arc<Target>, parts: &[Part]) -> Result<Staged, BlobError> {
    let mut names = Vec::with_capacity(parts.len());
    for (part, number) in parts.iter().zip(1..) {
        if part.number != number {
            return Err(BlobError::PartMissing { number });
        }
        names.push((number, part_name(number, &part.etag)));
    }
    let within = target.clone();
    let (names, expected) = blocking::run(move || {
        let lengths = names.iter().map(|(number, name)| {
            within.folder.length(name)?.ok_or(BlobError::PartMissing { number: *number })
        });
        let expected = lengths.sum::<Result<u64, _>>()?;
        Ok((names, expected))
    })
    .await?;
    let mut sink = Sink::new(target.clone(), Hashing::new(), expected);
    for (number, name) in names {
        let within = target.clone();
        let opened = blocking::run(move || {
            let file = within.folder.file(&name, OFlags::RDONLY)?;
            let all = 0..file.metadata()?.len();
            Ok(Arc::new(Source::new(file, &all, uncached::PART_FROM_BYTES)?))
        });
        let part = match opened.await {
            Err(BlobError::NotFound) => return Err(BlobError::PartMissing { number }),
            opened => opened?,
        };
        copy_part(&mut sink, part).await?;
    }
    sink.finish().await
}

/// The next piece is read while the last is hashed and written.
async fn copy_part(sink: &mut Sink, part: Arc<Source>) -> Result<(), BlobError> {
    let mut at = 0;
    while at < part.length {
        let (from, piece) = (part.clone(), at..part.length.min(at + BATCH_BYTES as u64));
        at = piece.end;
        let bytes = blocking::run(move || from.piece(&piece)).await?;
        sink.write(vec![bytes]).await?;
    }
    Ok(())
}

fn part_name(number: u32, etag: &str) -> String {
    // An etag is what a client says: it must not lead out of the folder.
    let plain: String = etag.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("part-{number}-{plain}")
}

fn number_and_etag(name: &str) -> Option<(u32, &str)> {
    let (number, etag) = name.strip_prefix("part-")?.split_once('-')?;
    Some((number.parse().ok()?, etag))
}
