//! Names of bytes: the key where a generation of a blob lies, and the place where an upload gathers.

use std::fmt;

use wire::{BlobId, Digest, UploadId};

/// `blobs/<2 digits>/<64 digits>.<26 letters>`: written once, deleted at most once, never used again, because the
/// letters are those of the one generation. Whatever lies here has the digest that the key names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobKey {
    digest: Digest,
    blob: BlobId,
    text: String,
}

impl BlobKey {
    pub fn new(digest: &Digest, blob: BlobId) -> BlobKey {
        let text = format!("{}/{}.{}", BlobKey::folder_of(digest), digest.hex(), blob.letters());
        BlobKey { digest: *digest, blob, text }
    }

    /// Where all generations of these bytes lie.
    pub(super) fn folder_of(digest: &Digest) -> String {
        format!("blobs/{}", &digest.hex()[..2])
    }

    pub fn digest(&self) -> Digest {
        self.digest
    }

    pub fn blob(&self) -> BlobId {
        self.blob
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The folder within the store, and the name within the folder.
    pub(super) fn folder_and_name(&self) -> (&str, &str) {
        self.text.rsplit_once('/').expect("a key has a folder")
    }
}

impl fmt::Display for BlobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `staging/<26 letters>`: where the bytes of one upload gather until they are known to be right.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Staging(String);

impl Staging {
    pub fn new(upload: UploadId) -> Staging {
        Staging(format!("staging/{}", upload.letters()))
    }

    /// Where a small body waits on a file system without unnamed files.
    pub(super) fn of_small(key: &BlobKey) -> Staging {
        Staging(format!("staging/{}.small", key.blob().letters()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
