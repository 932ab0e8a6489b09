//! What is in files, read from the disk: no filter is run, no link is followed.

use std::fs::File as OpenFile;
use std::num::NonZero;
use std::path::Path;
use std::thread;

use pipeline::tree::{ContentId, File, Kind};
use rustix::fs::{FileType, Mode, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;

use super::READ;
use crate::Error;
use crate::hash::Format;
use crate::steps::{Missing, Steps, is_gone};

/// Below, another thread would cost more than it saves.
const PER_THREAD: usize = 200;
const THREADS_MAX: usize = 8;

/// A file that must be read to know what is in it.
pub struct Touched {
    pub path: Box<[u8]>,
    /// Where the disk cannot say whether it is executable.
    pub assumed: Option<Kind>,
}

/// The files as they are now; those that are gone are left out.
pub fn of(root: &Path, touched: &[Touched], format: Format) -> Result<Vec<File>, Error> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = touched.len().div_ceil(PER_THREAD).clamp(1, cores.min(THREADS_MAX));
    if threads == 1 {
        return of_some(root, touched, format);
    }
    thread::scope(|scope| {
        let parts = touched.chunks(touched.len().div_ceil(threads));
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || of_some(root, part, format))).collect();
        let mut files = Vec::with_capacity(touched.len());
        for part in parts {
            files.extend(part.join().expect("hashing does not panic")?);
        }
        Ok(files)
    })
}

fn of_some(root: &Path, touched: &[Touched], format: Format) -> Result<Vec<File>, Error> {
    let mut steps = Steps::new(root, Missing::Stop).map_err(Error::at("open the folder", b"."))?;
    let mut files = Vec::with_capacity(touched.len());
    let mut buffer = Vec::new();
    for Touched { path, assumed } in touched {
        match content(&mut steps, path, format, &mut buffer) {
            Ok(Some((kind, content))) => {
                let kind = known_kind(kind, *assumed);
                files.push(File { path: path.clone(), kind, content });
            }
            Ok(None) => {}
            Err(error) if is_gone(error) => {}
            Err(error) => return Err(unreadable(path, error)),
        }
    }
    Ok(files)
}

/// A link is a link; the executable bit is the disk's to say, unless something else is assumed.
pub fn known_kind(found: Kind, assumed: Option<Kind>) -> Kind {
    match (found, assumed) {
        (Kind::Plain | Kind::Executable, Some(assumed @ (Kind::Plain | Kind::Executable))) => assumed,
        (found, _) => found,
    }
}

/// None for what no tree holds: folders, pipes, sockets, devices.
pub fn kind_of(stat: &Stat) -> Option<Kind> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => Some(Kind::Link),
        FileType::RegularFile if stat.st_mode & 0o100 != 0 => Some(Kind::Executable),
        FileType::RegularFile => Some(Kind::Plain),
        _ => None,
    }
}

pub fn unreadable(path: &[u8], error: Errno) -> Error {
    let why = format!("{}; make it readable, or let git ignore it", std::io::Error::from(error));
    Error::Unreadable { path: path.escape_ascii().to_string(), why }
}

fn content(
    steps: &mut Steps,
    path: &[u8],
    format: Format,
    buffer: &mut Vec<u8>,
) -> Result<Option<(Kind, ContentId)>, Errno> {
    let (folder, name) = steps.to(path)?;
    let file = match openat(folder, name, READ, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::LOOP) => {
            let target = readlinkat(folder, name, Vec::new())?;
            return Ok(Some((Kind::Link, format.of_bytes(target.as_bytes()))));
        }
        // A socket.
        Err(Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(kind) = kind_of(&fstat(&file)?) else { return Ok(None) };
    let content = format.of_file(&mut OpenFile::from(file), buffer);
    Ok(Some((kind, content.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::BUSY))?)))
}
