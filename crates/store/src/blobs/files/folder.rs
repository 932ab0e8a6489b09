//! The folder of one upload below `staging/`: what is in it, and whose turn it is to write there.
//!
//! `bytes` grows by the proxied path, and `synced-<count>` says how many of them are on the disk: more may be there, but
//! a power cut can tear them. `part-<number>-<etag>` came through signed URLs; `whole-<digest>` is complete, durable, has
//! this digest, and is not written any more. Only the last may be placed.
//!
//! Everything is opened relative to the folder, so a writer whose upload was discarded cannot write into a later one.

use std::fs::File;
use std::os::fd::{OwnedFd, RawFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Dir, FlockOperation, IFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use wire::Digest;

use crate::blobs::BlobError;

/// A request whose sender went away may still be writing its last batch.
const TURN_TRIES_MAX: u32 = 100;
const TURN_PAUSE: Duration = Duration::from_millis(10);
/// Somebody may discard the upload while we make its folder.
const MAKE_TRIES_MAX: u32 = 10;

pub const BYTES: &str = "bytes";
const SYNCED: &str = "synced-";
pub const READ_WRITE: OFlags = OFlags::RDWR.union(OFlags::CREATE).union(OFlags::CLOEXEC);
const FILE_MODE: Mode = Mode::from_raw_mode(0o640);

/// An open folder, and after [`Folder::turn`] the only writer in it. The turn ends when it is dropped.
pub struct Folder(OwnedFd);

pub fn whole_name(digest: Digest) -> String {
    format!("whole-{}", digest.hex())
}

/// Makes durable which names there are beside this one, and whether it is among them.
pub fn sync_above(path: &Path) -> Result<(), BlobError> {
    Folder::open(path.parent().expect("below the store's folder"))?.sync()
}

impl Folder {
    pub fn open(path: &Path) -> Result<Folder, BlobError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Makes the folder if it is not there, and waits for the turn in it.
    pub fn make(path: &Path) -> Result<Folder, BlobError> {
        Folder::make_and(path, Folder::turn)
    }

    /// Makes the folder if it is not there; others may write in it too.
    pub fn make_shared(path: &Path) -> Result<Folder, BlobError> {
        Folder::make_and(path, Ok)
    }

    fn make_and(
        path: &Path,
        then: impl Fn(Folder) -> Result<Folder, BlobError>,
    ) -> Result<Folder, BlobError> {
        for _ in 0..MAKE_TRIES_MAX {
            match rustix::fs::mkdir(path, Mode::from_raw_mode(0o750)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            match Folder::open(path).and_then(&then) {
                Ok(folder) if folder.is_there()? => return Ok(folder),
                Ok(_) | Err(BlobError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Err(BlobError::Busy)
    }

    pub fn turn(self) -> Result<Folder, BlobError> {
        for _ in 0..TURN_TRIES_MAX {
            match rustix::fs::flock(&self.0, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(self),
                Err(Errno::WOULDBLOCK) => std::thread::sleep(TURN_PAUSE),
                Err(error) => return Err(error.into()),
            }
        }
        Err(BlobError::Busy)
    }

    /// A removed folder can still be held open.
    fn is_there(&self) -> Result<bool, BlobError> {
        Ok(rustix::fs::fstat(&self.0)?.st_nlink > 0)
    }

    pub fn file(&self, name: &str, flags: OFlags) -> Result<File, BlobError> {
        Ok(File::from(rustix::fs::openat(&self.0, name, flags | OFlags::CLOEXEC, FILE_MODE)?))
    }

    pub fn rename(&self, from: &str, to: &str) -> Result<(), BlobError> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    pub fn remove(&self, name: &str) -> Result<(), BlobError> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves a file out of the folder, and never onto another: what lies there is then taken for the same file, moved
    /// before. File systems that know no such rename have links.
    pub fn move_out(&self, name: &str, to: &Path) -> Result<(), BlobError> {
        let moved = match rustix::fs::renameat_with(&self.0, name, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::linkat(&self.0, name, CWD, to, AtFlags::empty()),
            moved => moved,
        };
        match moved {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives an unnamed file its name. What has it already is the same.
    pub fn link(&self, file: RawFd, name: &str) -> Result<(), BlobError> {
        let itself = format!("/proc/self/fd/{file}");
        match rustix::fs::linkat(CWD, itself, &self.0, name, AtFlags::SYMLINK_FOLLOW) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Asks for the folders in it to be laid far from each other. ext4 looks, for each new file, at every file that was
    /// removed nearby in the last minutes: after a collection, or beside a neighbour that removes much, that is most of
    /// the cost of a small blob. A refusal costs time and nothing else.
    pub fn spread(&self) {
        let flags = rustix::fs::ioctl_getflags(&self.0);
        let _ = flags.and_then(|found| rustix::fs::ioctl_setflags(&self.0, found | IFlags::TOPDIR));
    }

    pub fn sync(&self) -> Result<(), BlobError> {
        Ok(rustix::fs::fsync(&self.0)?)
    }

    /// The names in the folder.
    pub fn names(&self) -> Result<Vec<String>, BlobError> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    pub fn length(&self, name: &str) -> Result<Option<u64>, BlobError> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found.st_size as u64)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// How many of `bytes` are on the disk.
    pub fn synced(&self) -> Result<u64, BlobError> {
        Ok(self.noted()?.min(self.length(BYTES)?.unwrap_or(0)))
    }

    fn noted(&self) -> Result<u64, BlobError> {
        Ok(self.note()?.and_then(|(_, bytes)| bytes).unwrap_or(0))
    }

    /// So many of `bytes` are on the disk now. A power cut may bring the note before it back, which said less.
    pub fn note_synced(&self, bytes: u64) -> Result<(), BlobError> {
        let name = format!("{SYNCED}{bytes}");
        match self.note()? {
            Some((before, _)) => self.rename(&before, &name),
            None => self.file(&name, READ_WRITE).map(drop),
        }
    }

    /// Cuts `bytes` off after so many. The note says so first: it must not speak for what is written there next. It may say more
    /// than there is: a write failed and all was cut off, while a sync of what came before was still on its way.
    pub fn cut(&self, file: &File, bytes: u64) -> Result<(), BlobError> {
        if self.noted()? > bytes {
            self.note_synced(bytes)?;
            self.sync()?;
        }
        Ok(file.set_len(bytes)?)
    }

    fn note(&self) -> Result<Option<(String, Option<u64>)>, BlobError> {
        let mut names = self.names()?.into_iter();
        Ok(names.find(|name| name.starts_with(SYNCED)).map(|name| {
            let bytes = name[SYNCED.len()..].parse().ok();
            (name, bytes)
        }))
    }

    /// The complete file, if there is one.
    pub fn whole(&self) -> Result<Option<String>, BlobError> {
        Ok(self.names()?.into_iter().find(|name| name.starts_with("whole-")))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_note_that_came_too_late_does_not_speak_for_what_is_written_next() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let mut file = folder.file(BYTES, READ_WRITE).unwrap();
        folder.note_synced(1_000).unwrap();
        folder.cut(&file, 0).unwrap();
        file.write_all(b"not synced").unwrap();
        assert_eq!(folder.synced().unwrap(), 0);
    }
}
