//! Goes to files by way of folder handles: no link is followed on the way, and a folder that many files share is opened
//! once. Quickest when paths come in order.

use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::{Errno, Result};

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

pub struct Steps {
    root: OwnedFd,
    /// The folders on the way to where we stand.
    way: Vec<(Box<[u8]>, OwnedFd)>,
    missing: Missing,
}

/// What to do about a folder that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Stop,
    Create,
}

impl Steps {
    pub fn new(root: &Path, missing: Missing) -> Result<Steps> {
        let root = openat(CWD, root, FOLDER, Mode::empty())?;
        Ok(Steps { root, way: Vec::new(), missing })
    }

    /// The folder that a file is in, and the file's name there.
    pub fn to<'p>(&mut self, path: &'p [u8]) -> Result<(BorrowedFd<'_>, &'p [u8])> {
        let (folder, name) = match path.iter().rposition(|letter| *letter == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b""[..], path),
        };
        self.enter(folder)?;
        Ok((self.here(), name))
    }

    fn here(&self) -> BorrowedFd<'_> {
        self.way.last().map_or(self.root.as_fd(), |(_, handle)| handle.as_fd())
    }

    fn enter(&mut self, folder: &[u8]) -> Result<()> {
        let mut common = 0;
        let mut parts = folder.split(|letter| *letter == b'/').filter(|part| !part.is_empty()).peekable();
        while let (Some(part), Some((here, _))) = (parts.peek(), self.way.get(common)) {
            if **part != **here {
                break;
            }
            common += 1;
            parts.next();
        }
        self.way.truncate(common);
        for part in parts {
            let handle = self.open(part)?;
            self.way.push((part.into(), handle));
        }
        Ok(())
    }

    fn open(&self, name: &[u8]) -> Result<OwnedFd> {
        if self.missing == Missing::Create {
            match mkdirat(self.here(), name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        openat(self.here(), name, FOLDER | OFlags::NOFOLLOW, Mode::empty())
    }
}

/// Nothing is there, or no longer, or a link or file stands where a folder was.
pub fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}
