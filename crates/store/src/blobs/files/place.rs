//! From staging to the key: what is whole becomes visible, once, and stays.

use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use bytes::Bytes;
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use super::Files;
use super::folder::{BYTES, Folder, READ_WRITE, whole_name};
use crate::blobs::hashing::digest_of;
use crate::blobs::{BlobError, BlobKey, Staged, Staging, blocking};

impl Files {
    pub async fn place(&self, at: &Staging, key: &BlobKey) -> Result<(), BlobError> {
        let (files, from, key) = (self.clone(), self.path(at.as_str()), key.clone());
        blocking::run(move || {
            let to = files.path(key.as_str());
            let moved = Folder::open(&from)
                .and_then(Folder::turn)
                .and_then(|folder| folder.move_out(&whole_name(key.digest()), &to));
            match moved {
                Err(BlobError::NotFound) if to.exists() => {}
                moved => moved?,
            }
            files.sync_folder_of(&key)?;
            remove_folder(&from)
        })
        .await
    }

    /// A small body in one go. It becomes visible only if it is what the key names.
    pub async fn put(&self, key: &BlobKey, bytes: Bytes) -> Result<Staged, BlobError> {
        let (files, key) = (self.clone(), key.clone());
        blocking::run(move || {
            let digest = digest_of(Sha256::new_with_prefix(&bytes));
            let staged = Staged { digest, length: bytes.len() as u64 };
            if digest == key.digest() {
                if files.unnamed {
                    files.put_unnamed(&key, &bytes)?
                } else {
                    files.put_named(&key, &bytes)?
                }
            }
            Ok(staged)
        })
        .await
    }

    /// A file without a name leaves nothing behind, whenever the process ends.
    fn put_unnamed(&self, key: &BlobKey, bytes: &[u8]) -> Result<(), BlobError> {
        let (folder, name) = key.folder_and_name();
        let folder = Folder::open(&self.path(folder))?;
        let mut file = folder.file(".", OFlags::TMPFILE | OFlags::WRONLY)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        folder.link(file.as_raw_fd(), name)?;
        folder.sync()
    }

    fn put_named(&self, key: &BlobKey, bytes: &[u8]) -> Result<(), BlobError> {
        let from = self.path(Staging::of_small(key).as_str());
        let folder = Folder::make(&from)?;
        let put = put_in(&folder, bytes).and_then(|()| folder.move_out(BYTES, &self.path(key.as_str())));
        let removed = remove_folder(&from);
        put.and(removed)?;
        self.sync_folder_of(key)
    }

    pub(super) fn sync_folder_of(&self, key: &BlobKey) -> Result<(), BlobError> {
        Folder::open(&self.path(key.folder_and_name().0))?.sync()
    }
}

fn put_in(folder: &Folder, bytes: &[u8]) -> Result<(), BlobError> {
    let mut file = folder.file(BYTES, READ_WRITE | OFlags::TRUNC)?;
    file.write_all(bytes)?;
    Ok(file.sync_data()?)
}

pub fn remove_folder(path: &Path) -> Result<(), BlobError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}
