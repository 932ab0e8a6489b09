//! Unpacks an archive that nobody vouches for: regular files, folders and links, below the paths that the job names, and
//! nothing else. Whatever lies in the way as a link is not followed.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use lz4_flex::frame::FrameDecoder;
use rustix::fs::{Mode, Timespec, Timestamps, fchmod, futimens};
use tar::{Archive, Entry, EntryType};

use super::spots::{Ground, Grounds, Spot};
use super::{Amount, ENTRIES_MAX, PATH_BYTES_MAX, Trouble};
use crate::artifacts::{Notes, Root, shown};

/// Whoever unpacks must be able to read, change and remove what it made.
const FILE_MODE_MIN: u32 = 0o600;
const FOLDER_MODE_MIN: u32 = 0o700;
/// No set-user, set-group or sticky bit.
const PERMISSIONS: u32 = 0o777;
const COPY_BYTES: usize = 256 * 1024;

/// Not on a thread that others wait for; `go_on` is asked now and then. What cannot be unpacked as it is, is left out and
/// noted; only a broken archive, a full disk or a bound ends it early.
pub fn unpack(
    archive: File,
    spots: &[Spot],
    grounds: &Grounds,
    bytes_max: u64,
    notes: &mut Notes,
    go_on: &dyn Fn() -> bool,
) -> Result<Amount, Trouble> {
    // Names and headers count too, so that an archive of nothing but headers has an end.
    let limit = bytes_max.saturating_add(ENTRIES_MAX * 1024);
    let reader = Limited { inner: FrameDecoder::new(BufReader::new(archive)), left: limit };
    let mut unpacker = Unpacker {
        spots,
        grounds,
        bytes_max,
        notes,
        go_on,
        amount: Amount::default(),
        roots: Vec::new(),
        held: None,
    };
    let result = unpacker.all(&mut Archive::new(reader));
    let amount = unpacker.amount;
    result.map(|()| amount).map_err(|trouble| match trouble {
        Trouble::Failed(error) if error.kind() == io::ErrorKind::FileTooLarge => Trouble::TooLarge(bytes_max),
        other => other,
    })
}

struct Unpacker<'a> {
    spots: &'a [Spot],
    grounds: &'a Grounds,
    bytes_max: u64,
    notes: &'a mut Notes,
    go_on: &'a dyn Fn() -> bool,
    amount: Amount,
    roots: Vec<(Ground, Root)>,
    /// The folder that was last unpacked into; its files follow one another.
    held: Option<(Ground, PathBuf, OwnedFd)>,
}

impl Unpacker<'_> {
    /// Long names are read here and not by the library, which would take as much memory as they say they need.
    fn all<R: Read>(&mut self, archive: &mut Archive<R>) -> Result<(), Trouble> {
        let (mut long_name, mut long_link) = (None, None);
        let mut seen = 0;
        for entry in archive.entries()?.raw(true) {
            let mut entry = entry?;
            seen += 1;
            if !(self.go_on)() {
                return Err(Trouble::Stopped);
            }
            if seen > ENTRIES_MAX {
                return Err(Trouble::TooMany);
            }
            match entry.header().entry_type() {
                EntryType::GNULongName => long_name = Some(text(&mut entry)?),
                EntryType::GNULongLink => long_link = Some(text(&mut entry)?),
                kind @ (EntryType::Regular | EntryType::Directory | EntryType::Symlink) => {
                    let name = long_name.take().unwrap_or_else(|| entry.header().path_bytes().into_owned());
                    let link = entry.header().link_name_bytes().map(|bytes| bytes.into_owned());
                    let link = long_link.take().or(link).unwrap_or_default();
                    self.one(kind, &path_of(name), &path_of(link), &mut entry)?;
                }
                _ => {
                    (long_name, long_link) = (None, None);
                    self.leave_out(
                        &path_of(entry.header().path_bytes().into_owned()),
                        "it is neither file, folder nor link",
                    );
                }
            }
        }
        Ok(())
    }

    fn one<R: Read>(
        &mut self,
        kind: EntryType,
        name: &Path,
        link: &Path,
        entry: &mut Entry<'_, R>,
    ) -> Result<(), Trouble> {
        if self.is_out_of_reach(name) {
            return Ok(()); // said already, of all of it
        }
        let Some((ground, path)) = self.wanted(name) else {
            self.leave_out(name, "the job names no such path");
            return Ok(());
        };
        let mode = entry.header().mode().unwrap_or(0) & PERMISSIONS;
        let done = match kind {
            EntryType::Directory => self.folder(ground, &path, mode),
            EntryType::Symlink => self.link(ground, &path, link),
            _ => self.file(ground, &path, mode, entry)?,
        };
        match done {
            Ok(()) => self.amount.files += 1,
            Err(error) if is_the_disks(&error) => return Err(error.into()),
            Err(error) => self.leave_out(name, &error.to_string()),
        }
        Ok(())
    }

    fn is_out_of_reach(&self, name: &Path) -> bool {
        let first = name.components().next();
        let ground = |ground: &Ground| first == Some(Component::Normal(ground.name().as_ref()));
        Ground::ALL.iter().find(|it| ground(it)).is_some_and(|it| self.grounds.folder(*it).is_none())
    }

    /// Where an entry belongs: below a path that the job names.
    fn wanted(&self, name: &Path) -> Option<(Ground, PathBuf)> {
        let mut parts = name.components();
        let Component::Normal(first) = parts.next()? else { return None };
        let ground = Ground::ALL.into_iter().find(|ground| first == ground.name())?;
        let path = parts.as_path();
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        let below = |spot: &Spot| spot.ground == ground && path.starts_with(&spot.path);
        (plain && self.spots.iter().any(below)).then(|| (ground, path.to_owned()))
    }

    fn folder(&mut self, ground: Ground, path: &Path, mode: u32) -> io::Result<()> {
        let folder = self.root(ground)?.make_folder(path)?;
        Ok(fchmod(&folder, Mode::from_raw_mode(mode | FOLDER_MODE_MIN))?)
    }

    fn link(&mut self, ground: Ground, path: &Path, target: &Path) -> io::Result<()> {
        if target.as_os_str().is_empty() || target.as_os_str().len() > PATH_BYTES_MAX {
            return Err(io::Error::other("a link to nowhere"));
        }
        let (folder, name) = self.parent(ground, path)?;
        Root::clear(folder, &name)?;
        Ok(rustix::fs::symlinkat(target, folder, &name)?)
    }

    /// The outer error ends the unpacking: what follows in the archive can no longer be found.
    fn file<R: Read>(
        &mut self,
        ground: Ground,
        path: &Path,
        mode: u32,
        entry: &mut Entry<'_, R>,
    ) -> Result<io::Result<()>, Trouble> {
        let made = self.parent(ground, path).and_then(|(folder, name)| {
            Root::clear(folder, &name)?;
            Root::make_file(folder, &name)
        });
        let mut file = match made {
            Ok(file) => file,
            Err(error) => return Ok(Err(error)),
        };
        let mut buffer = vec![0; COPY_BYTES.min(usize::try_from(entry.size()).unwrap_or(COPY_BYTES)).max(1)];
        while let read @ 1.. = entry.read(&mut buffer)? {
            self.amount.bytes += read as u64;
            if self.amount.bytes > self.bytes_max {
                return Err(Trouble::TooLarge(self.bytes_max));
            }
            if !(self.go_on)() {
                return Err(Trouble::Stopped);
            }
            file.write_all(&buffer[..read])?;
        }
        let seconds = i64::try_from(entry.header().mtime().unwrap_or(0)).unwrap_or(0);
        let moment = Timespec { tv_sec: seconds, tv_nsec: 0 };
        // Build tools compare times; a file system that keeps none is no reason to stop.
        let _ = futimens(&file, &Timestamps { last_access: moment, last_modification: moment });
        Ok(fchmod(&file, Mode::from_raw_mode(mode | FILE_MODE_MIN)).map_err(io::Error::from))
    }

    fn root(&mut self, ground: Ground) -> io::Result<&Root> {
        if !self.roots.iter().any(|(known, _)| *known == ground) {
            let folder = self.grounds.folder(ground).ok_or_else(|| io::Error::other("it is out of reach"))?;
            self.roots.push((ground, Root::open(folder)?));
        }
        let found = self.roots.iter().find(|(known, _)| *known == ground);
        Ok(&found.expect("it was opened just now").1)
    }

    /// The folder that something lies in, made if need be, and its name there.
    fn parent(&mut self, ground: Ground, path: &Path) -> io::Result<(&OwnedFd, OsString)> {
        let name = path.file_name().ok_or_else(|| io::Error::other("it has no name"))?.to_owned();
        let folder = path.parent().unwrap_or(Path::new(""));
        let is_held = self.held.as_ref().is_some_and(|(known, held, _)| *known == ground && held == folder);
        if !is_held {
            let made = self.root(ground)?.make_folder(folder)?;
            self.held = Some((ground, folder.to_owned(), made));
        }
        let (_, _, held) = self.held.as_ref().expect("it was made just now");
        Ok((held, name))
    }

    fn leave_out(&mut self, name: &Path, why: &str) {
        self.notes.add(format!("`{}` is left out: {why}", shown(&name.to_string_lossy())));
    }
}

fn text<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, Trouble> {
    if entry.size() > PATH_BYTES_MAX as u64 + 1 {
        return Err(io::Error::other("a path is longer than any path can be").into());
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes)?;
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    Ok(bytes)
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

/// Nothing that comes later would fare better.
fn is_the_disks(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// Reads no more than so many bytes, however small the archive was that they come from.
struct Limited<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(read)
    }
}
