//! Copies of files from folder to folder, as cheap as the file system allows; links stay links.

use std::ffi::{CStr, CString};
use std::path::Path;

use pipeline::tree::{Kind, Tree};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, IFlags, Mode, OFlags, SeekFrom, Stat};
use rustix::fs::{copy_file_range, fstat, ftruncate, ioctl_ficlone, ioctl_getflags, ioctl_setflags};
use rustix::fs::{mkdirat, openat, readlinkat, seek, statat, symlinkat};
use rustix::io::{Errno, read, write};

use crate::Error;
use crate::steps::{Missing, Steps};

/// Files up to this length go through our memory: two system calls, where others would take more.
const BUFFER_BYTES: usize = 128 * 1024;
const RANGE_BYTES: usize = 1 << 30;

/// Copies the files of a snapshot, of which nobody writes to, into a folder that is empty or was cleared of all but files
/// to write over.
pub fn copy(from: &Path, tree: &Tree, to: &Path) -> Result<(), Error> {
    let mut copier = Copier::new(from, to)?;
    for file in tree.files() {
        let copied = match file.kind {
            Kind::Submodule => copier.folder(&file.path),
            Kind::Link => {
                copier.read_link(&file.path).and_then(|target| copier.make_link(&file.path, &target))
            }
            Kind::Plain | Kind::Executable => copier.file(&file.path, file.kind),
        };
        copied.map_err(Error::at("copy", &file.path))?;
    }
    Ok(())
}

/// Asks that folders made in this one lie apart on the disk. Where files were removed in the last minutes, ext4 makes new
/// ones at a tenth of its speed. Other file systems need not know what is meant.
pub fn spread(folder: &Path) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = openat(CWD, folder, flags, Mode::empty()) else { return };
    // A refusal costs time and nothing else.
    let _ = ioctl_getflags(&folder).and_then(|found| ioctl_setflags(&folder, found | IFlags::TOPDIR));
}

pub(crate) struct Copier {
    from: Steps,
    to: Steps,
    way: Way,
    pub buffer: Vec<u8>,
}

/// The cheapest way that has not failed yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Both files share their blocks until one is written to.
    Clone,
    /// Inside the kernel.
    Range,
    Memory,
}

pub(crate) enum Poured {
    /// The whole file is at the start of the buffer.
    AtOnce(usize),
    InParts,
}

impl Copier {
    pub fn new(from: &Path, to: &Path) -> Result<Copier, Error> {
        let open = |path: &Path, missing| {
            Steps::new(path, missing).map_err(|errno| Error::io("open the folder", path)(errno.into()))
        };
        let (from, to) = (open(from, Missing::Stop)?, open(to, Missing::Create)?);
        Ok(Copier { from, to, way: Way::Clone, buffer: vec![0; BUFFER_BYTES] })
    }

    fn file(&mut self, path: &[u8], kind: Kind) -> Result<(), Errno> {
        let source = self.open(path)?;
        let copy = self.create(path, kind, OFlags::empty())?;
        let length = match self.pour(&source, &copy)? {
            Poured::AtOnce(length) => length as u64,
            Poured::InParts => fstat(&source)?.st_size as u64,
        };
        // Afterwards and only if need be: ext4 takes a file that was emptied first for one to be written out at once.
        if fstat(&copy)?.st_size as u64 > length { ftruncate(&copy, length) } else { Ok(()) }
    }

    /// A submodule's place: empty, as git leaves it.
    pub fn folder(&mut self, path: &[u8]) -> Result<(), Errno> {
        let (folder, name) = self.to.to(path)?;
        mkdirat(folder, name, Mode::from_raw_mode(0o777))
    }

    pub fn look(&mut self, path: &[u8]) -> Result<Stat, Errno> {
        let (folder, name) = self.from.to(path)?;
        statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    pub fn read_link(&mut self, path: &[u8]) -> Result<CString, Errno> {
        let (folder, name) = self.from.to(path)?;
        let no_longer_one = |error| if error == Errno::INVAL { Errno::LOOP } else { error };
        readlinkat(folder, name, Vec::new()).map_err(no_longer_one)
    }

    /// It leads where it led, also if that is nowhere.
    pub fn make_link(&mut self, path: &[u8], target: &CStr) -> Result<(), Errno> {
        let (folder, name) = self.to.to(path)?;
        symlinkat(target, folder, name)
    }

    pub fn open(&mut self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let (folder, name) = self.from.to(path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        openat(folder, name, flags, Mode::empty())
    }

    /// With [`OFlags::EXCL`] if nothing may be there.
    pub fn create(&mut self, path: &[u8], kind: Kind, also: OFlags) -> Result<OwnedFd, Errno> {
        let mode = if kind == Kind::Executable { 0o777 } else { 0o666 };
        let (folder, name) = self.to.to(path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | also;
        openat(folder, name, flags, Mode::from_raw_mode(mode))
    }

    pub fn pour(&mut self, source: impl AsFd, copy: impl AsFd) -> Result<Poured, Errno> {
        let (source, copy) = (source.as_fd(), copy.as_fd());
        let length = self.fill(source)?;
        if length < BUFFER_BYTES {
            write_all(copy, &self.buffer[..length])?;
            return Ok(Poured::AtOnce(length));
        }
        self.pour_large(source, copy)?;
        Ok(Poured::InParts)
    }

    /// Reads until the buffer is full or the file ends.
    fn fill(&mut self, source: impl AsFd) -> Result<usize, Errno> {
        let mut length = 0;
        while length < BUFFER_BYTES {
            match read(&source, &mut self.buffer[length..])? {
                0 => break,
                count => length += count,
            }
        }
        Ok(length)
    }

    fn pour_large(&mut self, source: impl AsFd, copy: impl AsFd) -> Result<(), Errno> {
        if self.way == Way::Clone {
            if ioctl_ficlone(&copy, &source).is_ok() {
                return Ok(());
            }
            self.way = Way::Range;
        }
        let mut offset = 0;
        if self.way == Way::Range {
            let mut written = 0;
            loop {
                match copy_file_range(&source, Some(&mut offset), &copy, Some(&mut written), RANGE_BYTES) {
                    Ok(0) => return Ok(()),
                    Ok(_) => {}
                    Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) if offset == 0 => break,
                    Err(error) => return Err(error),
                }
            }
            self.way = Way::Memory;
        }
        seek(&source, SeekFrom::Start(0))?;
        loop {
            let length = self.fill(&source)?;
            write_all(&copy, &self.buffer[..length])?;
            if length < BUFFER_BYTES {
                return Ok(());
            }
        }
    }
}

fn write_all(copy: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let count = write(&copy, bytes)?;
        bytes = &bytes[count..];
    }
    Ok(())
}
