//! Makes an archive of what a job leaves: regular files, folders and links, as they lie there. A link is kept as a link.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use lz4_flex::frame::FrameEncoder;
use rustix::fs::{AtFlags, Dir, FileType, readlinkat, statat};
use tar::{Builder, EntryType, Header};

use super::spots::{Grounds, Spot};
use super::{Amount, ENTRIES_MAX, Trouble};
use crate::artifacts::{Notes, Root, shown};

/// Deeper than any honest build goes.
const DEPTH_MAX: usize = 128;
const PERMISSIONS: u32 = 0o777;

/// Packs what is there of these paths into `archive`, which is there only when it is whole. `None` when nothing is there.
/// Not on a thread that others wait for; `go_on` is asked now and then.
pub fn pack(
    archive: &Path,
    spots: &[Spot],
    grounds: &Grounds,
    bytes_max: u64,
    notes: &mut Notes,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Amount>, Trouble> {
    let part = archive.with_extension("part");
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
    let written = Bounded { inner: BufWriter::new(file), left: bytes_max };
    let mut packer = Packer {
        builder: Builder::new(FrameEncoder::new(written)),
        amount: Amount::default(),
        bytes_max,
        notes,
        go_on,
    };
    packer.spots(spots, grounds).map_err(|trouble| too_large(trouble, bytes_max))?;
    let (builder, amount) = (packer.builder, packer.amount);
    let encoder = builder.into_inner().map_err(|error| too_large(error.into(), bytes_max))?;
    let mut written =
        encoder.finish().map_err(|error| too_large(io::Error::from(error).into(), bytes_max))?;
    written.flush().map_err(|error| too_large(error.into(), bytes_max))?;
    if amount.files == 0 {
        fs::remove_file(&part)?;
        return Ok(None);
    }
    fs::rename(&part, archive)?;
    Ok(Some(amount))
}

type Output = FrameEncoder<Bounded<BufWriter<File>>>;

struct Packer<'a> {
    builder: Builder<Output>,
    amount: Amount,
    bytes_max: u64,
    notes: &'a mut Notes,
    go_on: &'a dyn Fn() -> bool,
}

impl Packer<'_> {
    fn spots(&mut self, spots: &[Spot], grounds: &Grounds) -> Result<(), Trouble> {
        for spot in spots {
            let Some(folder) = grounds.folder(spot.ground) else { continue };
            let root = Root::open(folder)?;
            self.at(&root, spot.ground.name(), &spot.path)?;
        }
        Ok(())
    }

    /// One path of the cache, and all below it.
    fn at(&mut self, root: &Root, ground: &str, path: &Path) -> Result<(), Trouble> {
        if let Ok(file) = root.file(path) {
            return self.file(file, ground, path);
        }
        match root.folder(path) {
            Ok(_) => self.folder(root, ground, path.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()), // the job did not make it
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(unreadable(root, path)),
            Err(error) => {
                self.notes.add(format!("`{}` is left out: {error}", shown(&path.to_string_lossy())));
                Ok(())
            }
        }
    }

    fn folder(&mut self, root: &Root, ground: &str, path: PathBuf) -> Result<(), Trouble> {
        let mut folders = vec![path];
        while let Some(folder) = folders.pop() {
            self.look_up()?;
            let held = root.folder(&folder).map_err(|error| of(root, &folder, error))?;
            let mode = rustix::fs::fstat(&held).map_err(io::Error::from)?.st_mode & PERMISSIONS;
            self.empty(EntryType::Directory, mode, ground, &folder, None)?;
            let mut names: Vec<(OsString, FileType)> = Vec::new();
            for entry in Dir::read_from(&held).map_err(io::Error::from)? {
                let entry = entry.map_err(io::Error::from)?;
                let name = entry.file_name();
                if ![c".", c".."].contains(&name) {
                    names.push((OsString::from_vec(name.to_bytes().to_vec()), entry.file_type()));
                }
            }
            names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
            for (name, kind) in names {
                let path = folder.join(&name);
                let kind = match kind {
                    FileType::Unknown => kind_of(&held, &name)?, // some file systems do not say
                    kind => kind,
                };
                match kind {
                    FileType::RegularFile => {
                        let file = root.file(&path).map_err(|error| of(root, &path, error))?;
                        self.file(file, ground, &path)?;
                    }
                    FileType::Directory if path.components().count() < DEPTH_MAX => folders.push(path),
                    FileType::Symlink => {
                        let target = readlinkat(&held, name, Vec::new()).map_err(io::Error::from)?;
                        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                        self.empty(EntryType::Symlink, PERMISSIONS, ground, &path, Some(&target))?;
                    }
                    _ => self.notes.add(format!("`{}` is left out", shown(&path.to_string_lossy()))),
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, file: File, ground: &str, path: &Path) -> Result<(), Trouble> {
        self.look_up()?;
        let metadata = file.metadata()?;
        self.amount.bytes = self.amount.bytes.saturating_add(metadata.len());
        if self.amount.bytes > self.bytes_max {
            return Err(Trouble::TooLarge(self.bytes_max));
        }
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(metadata.mode() & PERMISSIONS);
        header.set_mtime(u64::try_from(metadata.mtime()).unwrap_or(0));
        header.set_size(metadata.len());
        // As many bytes as were announced: what grew is cut, what shrank fails.
        let exact = Exact { file, left: metadata.len(), go_on: self.go_on };
        self.builder.append_data(&mut header, Path::new(ground).join(path), exact)?;
        Ok(())
    }

    fn empty(
        &mut self,
        kind: EntryType,
        mode: u32,
        ground: &str,
        path: &Path,
        target: Option<&Path>,
    ) -> Result<(), Trouble> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_mtime(0);
        header.set_size(0);
        let path = Path::new(ground).join(path);
        match target {
            Some(target) => self.builder.append_link(&mut header, path, target)?,
            None => self.builder.append_data(&mut header, path, io::empty())?,
        }
        Ok(())
    }

    fn look_up(&mut self) -> Result<(), Trouble> {
        self.amount.files += 1;
        if !(self.go_on)() {
            return Err(Trouble::Stopped);
        }
        if self.amount.files > ENTRIES_MAX { Err(Trouble::TooMany) } else { Ok(()) }
    }
}

fn kind_of(folder: &OwnedFd, name: &OsStr) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode))
}

fn of(root: &Root, path: &Path, error: io::Error) -> Trouble {
    match error.kind() {
        io::ErrorKind::PermissionDenied => unreadable(root, path),
        _ => Trouble::Failed(io::Error::other(format!("`{}`: {error}", shown(&path.to_string_lossy())))),
    }
}

fn unreadable(root: &Root, path: &Path) -> Trouble {
    Trouble::Failed(io::Error::other(root.not_ours(&path.to_string_lossy())))
}

/// A file whose length was announced.
struct Exact<'a> {
    file: File,
    left: u64,
    go_on: &'a dyn Fn() -> bool,
}

impl Read for Exact<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !(self.go_on)() {
            return Err(io::Error::other("stopped"));
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.file.read(&mut buffer[..most])?;
        if read == 0 && most > 0 {
            return Err(io::Error::other("a file changed while it was packed"));
        }
        self.left -= read as u64;
        Ok(read)
    }
}

/// Writes no more than so many bytes.
struct Bounded<W> {
    inner: W,
    left: u64,
}

impl<W: Write> Write for Bounded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let written = self.inner.write(bytes)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn too_large(trouble: Trouble, bytes_max: u64) -> Trouble {
    match trouble {
        Trouble::Failed(error) if error.kind() == io::ErrorKind::FileTooLarge => Trouble::TooLarge(bytes_max),
        other => other,
    }
}
