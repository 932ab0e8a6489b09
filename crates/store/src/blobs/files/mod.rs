//! Bytes as files below one folder: `blobs/<2 digits>/` for what is placed, `staging/` for what is on its way.
//!
//! Nothing is visible under a key before it is whole and on the disk; all folders of keys are made at the start, so a
//! new blob costs the sync of its file and of one folder. Several servers may share the folder.
//!
//! Start at `stage.rs`, then `place.rs`; `folder.rs` says what may lie in staging.

mod folder;
mod list;
mod parts;
mod place;
mod read;
mod sink;
mod stage;
mod uncached;
mod writer;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use super::{BlobError, BlobKey, BlobsOpenError, Staging, blocking};
use folder::Folder;

#[derive(Debug, Clone)]
pub struct Files {
    root: Arc<Path>,
    /// Whether the file system knows files without a name.
    unnamed: bool,
    /// From which length on a file does without the page cache.
    uncached_from: u64,
}

impl Files {
    /// Opens the folder, or makes it.
    pub async fn open(root: &Path) -> Result<Files, BlobsOpenError> {
        let root: Arc<Path> = root.into();
        let opened = blocking::run(move || {
            make_folders(&root)?;
            let unnamed =
                Folder::open(&root.join("staging"))?.file(".", OFlags::TMPFILE | OFlags::WRONLY).is_ok()
                    && Path::new("/proc/self/fd").exists();
            Ok(Files { root, unnamed, uncached_from: uncached::FROM_BYTES })
        });
        opened.await.map_err(|error| BlobsOpenError::Unreachable(error.to_string()))
    }

    pub async fn length(&self, key: &BlobKey) -> Result<Option<u64>, BlobError> {
        let path = self.path(key.as_str());
        blocking::run(move || match std::fs::metadata(path) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        })
        .await
    }

    pub async fn delete(&self, key: &BlobKey) -> Result<(), BlobError> {
        let path = self.path(key.as_str());
        blocking::run(move || remove_file(&path)).await
    }

    pub async fn discard(&self, at: &Staging, key: &BlobKey) -> Result<(), BlobError> {
        let folders = [at, &Staging::of_small(key)].map(|it| self.path(it.as_str()));
        let path = self.path(key.as_str());
        blocking::run(move || {
            folders.iter().try_for_each(|folder| place::remove_folder(folder))?;
            remove_file(&path)
        })
        .await
    }

    pub async fn discard_staging(&self, at: &Staging) -> Result<(), BlobError> {
        let folder = self.path(at.as_str());
        blocking::run(move || place::remove_folder(&folder)).await
    }

    fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }
}

/// Gone for good: whoever deletes notes it afterwards, and what a power cut brought back then would lie there for ever.
/// Gone already may mean that the sync failed the last time.
fn remove_file(path: &Path) -> Result<(), BlobError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => folder::sync_above(path),
    }
}

fn make_folders(root: &Path) -> Result<(), BlobError> {
    let (blobs, staging) = (root.join("blobs"), root.join("staging"));
    for folder in [&blobs, &staging] {
        std::fs::create_dir_all(folder)?;
        Folder::open(folder)?.spread();
    }
    let there = folders_in(&blobs)?;
    for name in (0..=u8::MAX).map(|prefix| format!("{prefix:02x}")).filter(|name| !there.contains(name)) {
        std::fs::create_dir_all(blobs.join(name))?;
    }
    // A folder is there after a crash when the one above it is synced.
    let above = root.canonicalize()?.parent().map(Path::to_path_buf);
    [Some(blobs), Some(root.to_path_buf()), above]
        .into_iter()
        .flatten()
        .try_for_each(|it| Folder::open(&it)?.sync())
}

/// One look at all of them: every start but the first finds them there, and asking for each costs two calls.
fn folders_in(folder: &Path) -> io::Result<HashSet<String>> {
    let mut names = HashSet::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.extend(entry.file_name().into_string());
        }
    }
    Ok(names)
}
