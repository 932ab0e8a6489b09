//! What jobs of a local run stand on: the working folder itself, or a copy of what was in it when the run began.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use pipeline::tree::{Kind, Tree};
use repo::{Folder, Listing};
use runner::agent::Ground;
use runner::keeper::CopyOf;

/// Inside a snapshot: the files, and their names.
const FILES: &str = "files";
const LIST: &str = "list";

/// Keeps the files of a folder as they are now, and says which those are. Written last, the list says that all of them
/// are there.
pub fn take(folder: &Folder, listing: &Listing, snapshot: &Path) -> Result<(Tree, Ground)> {
    let copy = paths(snapshot);
    let failed = || format!("cannot keep the files of the run in {}", snapshot.display());
    if let Some(snapshots) = snapshot.parent() {
        fs::create_dir_all(snapshots).with_context(failed)?;
        repo::copy::spread(snapshots);
    }
    fs::create_dir_all(&copy.folder).with_context(failed)?;
    let tree = folder.snapshot(listing, &copy.folder).with_context(failed)?;
    let mut list = Vec::new();
    for file in tree.files() {
        list.push(match file.kind {
            Kind::Plain => b'f',
            Kind::Executable => b'x',
            Kind::Link => b'l',
            Kind::Submodule => b'm',
        });
        list.extend_from_slice(&file.path);
        list.push(0);
    }
    fs::write(&copy.list, list).with_context(failed)?;
    Ok((tree, Ground::CopyOf(copy)))
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
