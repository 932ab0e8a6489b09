//! The user's cache folder: nothing in it is missed when it is gone.

use std::path::PathBuf;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use wire::{Digest, UploadId};

/// `$XDG_CACHE_HOME/deltaci`, or in the home folder; none without a home.
pub fn folder() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    Some(cache.or_else(home)?.join("deltaci"))
}

/// The session of an upload that did not end, so that the same command can go on with it. Best effort: without a cache an
/// upload begins anew.
pub struct Remembered(Option<PathBuf>);

impl Remembered {
    pub fn upload(server: &str, tenant: &str, digest: &Digest) -> Remembered {
        let name = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let place =
            |folder: PathBuf| folder.join("uploads").join(name(server)).join(name(tenant)).join(digest.hex());
        Remembered(folder().map(place))
    }

    pub fn get(&self) -> Option<UploadId> {
        std::fs::read_to_string(self.0.as_ref()?).ok()?.trim().parse().ok()
    }

    pub fn set(&self, upload: UploadId) {
        if let Some(path) = &self.0 {
            let made = path.parent().map(std::fs::create_dir_all);
            let _ = made.map(|_| std::fs::write(path, upload.to_string()));
        }
    }

    pub fn clear(&self) {
        let _ = self.0.as_ref().map(std::fs::remove_file);
    }
}
