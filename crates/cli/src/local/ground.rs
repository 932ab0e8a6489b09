//! What jobs of a local run stand on: the working folder itself, or a copy of what was in it when the run began.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use runner::agent::Ground;
use runner::keeper::CopyOf;

use super::data::FOLDER;

/// Inside a snapshot: the files, and their names.
const FILES: &str = "files";
const LIST: &str = "list";

/// A tree deeper than this is not one that anybody made by hand.
const DEPTH_MAX: usize = 200;

/// Keeps the files of a folder as they are now. Written last, the list says that all of them are there.
pub fn take(folder: &Path, snapshot: &Path) -> Result<Ground> {
    let copy = paths(snapshot);
    let failed = || format!("cannot copy {} to {}", folder.display(), snapshot.display());
    fs::create_dir_all(&copy.folder).with_context(failed)?;
    let mut list = Vec::new();
    for path in listed(folder, Path::new(""), 0).with_context(failed)? {
        let (from, to) = (folder.join(&path), copy.folder.join(&path));
        to.parent().map(fs::create_dir_all).transpose().with_context(failed)?;
        list.push(copy_one(&from, &to).with_context(failed)?);
        list.extend_from_slice(path.as_os_str().as_bytes());
        list.push(0);
    }
    fs::write(&copy.list, list).with_context(failed)?;
    Ok(Ground::CopyOf(copy))
}

/// What an earlier process took, if it is whole.
pub fn taken(snapshot: &Path) -> Option<Ground> {
    let copy = paths(snapshot);
    copy.list.exists().then_some(Ground::CopyOf(copy))
}

/// What cannot be removed now is tried again at the next start.
pub fn forget(snapshot: &Path) {
    let _ = fs::remove_dir_all(snapshot);
}

/// Of all runs but those that go on.
pub fn forget_all_but(snapshots: &Path, kept: Option<PathBuf>) {
    let found = fs::read_dir(snapshots).into_iter().flatten().flatten().map(|entry| entry.path());
    found.filter(|path| Some(path) != kept.as_ref()).for_each(|path| forget(&path));
}

fn paths(snapshot: &Path) -> CopyOf {
    CopyOf { folder: snapshot.join(FILES), list: snapshot.join(LIST) }
}

/// Every file below a folder, in order, without git's and our own.
fn listed(root: &Path, below: &Path, depth: usize) -> io::Result<Vec<PathBuf>> {
    if depth > DEPTH_MAX {
        return Err(io::Error::other(format!("{} lies too deep", below.display())));
    }
    let names = fs::read_dir(root.join(below))?.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names = names.collect::<io::Result<Vec<OsString>>>()?;
    names.retain(|name| name != ".git" && name != FOLDER);
    names.sort();
    let mut found = Vec::new();
    for path in names.into_iter().map(|name| below.join(name)) {
        if fs::symlink_metadata(root.join(&path))?.is_dir() {
            found.extend(listed(root, &path, depth + 1)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

/// Its kind, as the list has it.
fn copy_one(from: &Path, to: &Path) -> io::Result<u8> {
    let found = fs::symlink_metadata(from)?;
    if found.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)?;
        return Ok(b'l');
    }
    fs::copy(from, to)?;
    Ok(if found.permissions().mode() & 0o111 == 0 { b'f' } else { b'x' })
}
