//! Opening what lies beneath a folder, and nothing else: no link is followed anywhere on the way, so nobody can swap one in
//! between a look and an open.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, statat, unlinkat};
use rustix::io::Errno;

/// The kernel, or a filter around us, does not know the newer call.
static OLD_KERNEL: AtomicBool = AtomicBool::new(false);

/// A folder that is held, whatever becomes of its name.
#[derive(Debug)]
pub struct Root(OwnedFd);

impl Root {
    pub fn open(path: &Path) -> io::Result<Root> {
        Ok(Root(openat(CWD, path, folder_flags(), Mode::empty())?))
    }

    /// A folder beneath; the empty path is the root itself.
    pub fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        self.resolve(path, folder_flags())
    }

    /// A regular file beneath. Opening neither waits for a pipe's writer nor touches a device.
    pub fn file(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(self.resolve(path, flags)?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        Ok(file)
    }

    /// A folder beneath, made if need be, as are those on the way to it.
    pub fn make_folder(&self, path: &Path) -> io::Result<OwnedFd> {
        let mut at = self.folder(Path::new(""))?;
        for part in path.components() {
            let Component::Normal(name) = part else {
                return Err(io::Error::other("the path leads out of its folder"));
            };
            match mkdirat(&at, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => at = openat(&at, name, folder_flags(), Mode::empty())?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(at)
    }

    /// Takes away what has this name in a folder, unless it is a folder itself. A link goes, and not what it leads to.
    pub fn clear(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
        match unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A new file in a folder.
    pub fn make_file(folder: &OwnedFd, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NOCTTY;
        Ok(File::from(openat(folder, name, flags, Mode::from_raw_mode(0o600))?))
    }

    /// Why a file that may not be read is not ours to read.
    pub fn not_ours(&self, path: &str) -> String {
        let us = rustix::process::geteuid().as_raw();
        match statat(&self.0, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if stat.st_uid != us => {
                let them = stat.st_uid;
                format!("`{path}` may not be read: it belongs to user {them}, and the runner is user {us}")
            }
            Ok(_) | Err(_) => format!("`{path}` may not be read: its permissions do not allow it"),
        }
    }

    fn resolve(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        if !OLD_KERNEL.load(Ordering::Relaxed) {
            let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            match openat2(&self.0, path, flags, Mode::empty(), how) {
                Err(Errno::NOSYS | Errno::PERM) => OLD_KERNEL.store(true, Ordering::Relaxed),
                other => return Ok(other?),
            }
        }
        step_by_step(&self.0, path, flags)
    }
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// As the newer call does it: each part of the path from the folder before it.
fn step_by_step(root: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut parts = path.components().peekable();
    let mut at: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let name = match part {
            Component::Normal(name) => name,
            Component::CurDir => ".".as_ref(),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(io::Error::other("the path leads out of its folder"));
            }
        };
        let flags = if parts.peek().is_some() { folder_flags() } else { flags };
        let folder = at.as_ref().map_or(root.as_fd(), AsFd::as_fd);
        at = Some(openat(folder, name, flags, Mode::empty())?);
    }
    at.ok_or_else(|| io::Error::other("the path is empty"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn both_ways_open_what_is_beneath_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("in");
        fs::create_dir_all(inside.join("a/b")).unwrap();
        fs::write(inside.join("a/b/file"), "x").unwrap();
        fs::write(place.path().join("secret"), "s").unwrap();
        symlink("../secret", inside.join("out")).unwrap();
        symlink("a", inside.join("folder")).unwrap();
        symlink("a/b/file", inside.join("within")).unwrap();
        let root = Root::open(&inside).unwrap();
        assert!(Root::open(&inside.join("folder")).is_err(), "not even the root is a link");
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
        for path in ["a/b/file", "a/./b/file"] {
            assert!(root.file(Path::new(path)).is_ok(), "{path}");
            assert!(step_by_step(&root.0, Path::new(path), flags).is_ok(), "{path}");
        }
        for path in
            ["out", "within", "folder/b/file", "../secret", "/etc/passwd", "a/../../secret", "none", ""]
        {
            assert!(root.file(Path::new(path)).is_err(), "{path}");
            assert!(step_by_step(&root.0, Path::new(path), flags).is_err(), "{path}");
        }
        assert!(root.file(Path::new("a")).is_err(), "a folder is no file");
        assert!(root.folder(Path::new("folder")).is_err() && root.folder(Path::new("")).is_ok());
    }
}
