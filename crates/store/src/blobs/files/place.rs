//! From staging to the key: what is whole becomes visible, once, and stays.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};
use wire::Digest;

use super::Files;
use super::folder::{BYTES, Folder, READ_WRITE, sync_above, whole_name};
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
                let file = files.write_unnamed(digest, &bytes)?;
                files.name_small(&key, &bytes, file)?;
            }
            Ok(staged)
        })
        .await
    }

    /// The first half of `put`. Where the file system knows no unnamed files, all of it is left to the second.
    pub async fn write(&self, digest: Digest, bytes: Bytes) -> Result<Option<File>, BlobError> {
        let files = self.clone();
        blocking::run(move || files.write_unnamed(digest, &bytes)).await
    }

    /// The second half.
    pub async fn name(&self, key: &BlobKey, bytes: Bytes, file: Option<File>) -> Result<(), BlobError> {
        let (files, key) = (self.clone(), key.clone());
        blocking::run(move || files.name_small(&key, &bytes, file)).await
    }

    /// A file without a name leaves nothing behind, whenever the process ends.
    fn write_unnamed(&self, digest: Digest, bytes: &[u8]) -> Result<Option<File>, BlobError> {
        if !self.unnamed {
            return Ok(None);
        }
        let folder = Folder::open(&self.path(&BlobKey::folder_of(&digest)))?;
        let file = folder.file(".", OFlags::TMPFILE | OFlags::WRONLY)?;
        file.write_all_at(bytes, 0)?;
        file.sync_data()?;
        Ok(Some(file))
    }

    fn name_small(&self, key: &BlobKey, bytes: &[u8], file: Option<File>) -> Result<(), BlobError> {
        let Some(file) = file else { return self.put_named(key, bytes) };
        let (folder, name) = key.folder_and_name();
        let folder = Folder::open(&self.path(folder))?;
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
    let file = folder.file(BYTES, READ_WRITE | OFlags::TRUNC)?;
    file.write_all_at(bytes, 0)?;
    Ok(file.sync_data()?)
}

/// Gone for good, as a file that is deleted.
pub fn remove_folder(path: &Path) -> Result<(), BlobError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => sync_above(path),
    }
}

#[cfg(test)]
mod tests {
    use wire::BlobId;

    use super::*;

    /// As on a file system without unnamed files.
    #[tokio::test]
    async fn a_small_body_and_a_part_need_no_unnamed_files() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files { unnamed: false, ..Files::open(folder.path()).await.unwrap() };
        let bytes = Bytes::from_static(b"small");
        let key = BlobKey::new(&digest_of(Sha256::new_with_prefix(&bytes)), BlobId::from_u128(1));
        for _ in 0..2 {
            files.put(&key, bytes.clone()).await.unwrap();
            assert_eq!(files.keys(None, 10).await.unwrap(), [key.as_str()]);
        }
        files.delete(&key).await.unwrap();

        let at = Staging::new(wire::UploadId::from_u128(1));
        let stream = || futures_util::stream::iter([Ok::<_, ()>(bytes.clone())]);
        assert!(files.write_part(&at, 1, 6, stream()).await.is_err());
        let etag = files.write_part(&at, 1, 5, stream()).await.unwrap();
        assert_eq!(std::fs::read_dir(folder.path().join(at.as_str())).unwrap().count(), 1);
        files.join(&at, &key, &[crate::blobs::Part { number: 1, etag }]).await.unwrap();
        files.place(&at, &key).await.unwrap();
        assert_eq!(files.keys(None, 10).await.unwrap(), [key.as_str()]);
    }

    /// What a killed process left half-written under the same name is written over, not placed.
    #[tokio::test]
    async fn litter_of_a_small_body_does_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files { unnamed: false, ..Files::open(folder.path()).await.unwrap() };
        let key = BlobKey::new(&Digest::from_bytes(Sha256::digest(b"small").into()), BlobId::from_u128(1));
        let litter = folder.path().join(Staging::of_small(&key).as_str());
        std::fs::create_dir(&litter).unwrap();
        std::fs::write(litter.join(BYTES), "longer than small").unwrap();
        files.put(&key, Bytes::from_static(b"small")).await.unwrap();
        assert_eq!(std::fs::read(folder.path().join(key.as_str())).unwrap(), b"small");
        std::fs::create_dir(&litter).unwrap();
        let at = Staging::new(wire::UploadId::from_u128(1));
        files.discard(&at, &key).await.unwrap();
        assert!(files.keys(None, 10).await.unwrap().is_empty());
    }
}
