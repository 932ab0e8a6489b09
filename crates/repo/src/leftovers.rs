//! What a job left in its copy of some files: what the next copy may write over stays, all else goes.
//!
//! Written over, because to remove thousands of files and make them anew is what ext4 is worst at: for minutes after a
//! removal each new file in its neighbourhood takes a look at every removed one.
//!
//! Nobody may be at work in the folder.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use pipeline::tree::{Kind, Tree};
use rustix::fs::llistxattr;
use rustix::io::Errno;

const PERMISSIONS: u32 = 0o7777;
/// Enough for the names of a few attributes; a file with more of them goes.
const NAMES_BYTES: usize = 1024;

/// Leaves plain files and folders that the tree has in the same places, as our own and with nothing special about them.
/// Their contents are whatever they are. An error leaves the folder as it may be: not to be used.
pub fn clear(folder: &Path, tree: &Tree) -> io::Result<()> {
    let sweep = Sweep { tree, owner: rustix::process::geteuid().as_raw(), umask: umask()? };
    if fs::symlink_metadata(folder)?.uid() != sweep.owner || !is_bare(folder) {
        return Err(io::Error::other("the folder is no longer what it was"));
    }
    sweep.folder(folder, &mut Vec::new())
}

struct Sweep<'t> {
    tree: &'t Tree,
    owner: u32,
    umask: u32,
}

impl Sweep<'_> {
    /// `path` is that of the folder in the tree, with a `/` at its end; it is left as it was found.
    fn folder(&self, folder: &Path, path: &mut Vec<u8>) -> io::Result<()> {
        let length = path.len();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            path.extend_from_slice(entry.file_name().as_bytes());
            self.entry(&entry, path)?;
            path.truncate(length);
        }
        Ok(())
    }

    fn entry(&self, entry: &DirEntry, path: &mut Vec<u8>) -> io::Result<()> {
        let (place, found) = (entry.path(), entry.metadata()?);
        if found.is_dir() {
            path.push(b'/');
            if self.has_below(path) && self.is_ordinary(&found, 0o777, &place) {
                return self.folder(&place, path);
            }
            return fs::remove_dir_all(&place);
        }
        let wanted = match self.tree.get(path).map(|file| file.kind) {
            Some(Kind::Plain) => Some(0o666),
            Some(Kind::Executable) => Some(0o777),
            Some(Kind::Link | Kind::Submodule) | None => None,
        };
        let stays = found.is_file()
            && found.nlink() == 1
            && wanted.is_some_and(|mode| self.is_ordinary(&found, mode, &place));
        if stays { Ok(()) } else { fs::remove_file(&place) }
    }

    fn has_below(&self, folder: &[u8]) -> bool {
        let files = self.tree.files();
        let next = files.partition_point(|file| *file.path < *folder);
        files.get(next).is_some_and(|file| file.path.starts_with(folder))
    }

    /// Such as we would make it.
    fn is_ordinary(&self, found: &Metadata, mode: u32, place: &Path) -> bool {
        found.uid() == self.owner && found.mode() & PERMISSIONS == mode & !self.umask && is_bare(place)
    }
}

/// Without attributes but those that the system gives to every file.
fn is_bare(place: &Path) -> bool {
    let mut names = [0; NAMES_BYTES];
    match llistxattr(place, &mut names) {
        Ok(length) => {
            let mut names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
            names.all(|name| name.starts_with(b"security."))
        }
        Err(error) => error == Errno::OPNOTSUPP,
    }
}

/// Asked for without setting another, which would be everybody's for a moment.
fn umask() -> io::Result<u32> {
    let status = fs::read_to_string("/proc/self/status")?;
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok())
        .ok_or_else(|| io::Error::other("the system does not say with which permissions files are made"))
}
