//! Fills the workspace from a folder of this machine, as a runner's operator may want it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Component, Path};

use super::order::CopyOf;
use super::{Places, Problem};

/// Beside the keeper's one thread, which goes on to hear what the agent says.
pub async fn run(copy: &CopyOf, places: &Places) -> Result<(), Problem> {
    let (copy, workspace) = (copy.clone(), places.workspace.clone());
    let failed = |error| Problem::during("cannot copy the files for the job", error);
    match tokio::task::spawn_blocking(move || copy_listed(&copy, &workspace)).await {
        Ok(copied) => copied.map_err(failed),
        Err(error) => Err(failed(io::Error::other(error))),
    }
}

fn copy_listed(copy: &CopyOf, to: &Path) -> io::Result<()> {
    let named = |path: &Path, error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let list = fs::read(&copy.list).map_err(|error| named(&copy.list, error))?;
    let mut made = Path::new("");
    for path in list.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        let path = Path::new(OsStr::from_bytes(path));
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(named(path, io::Error::other("not a path below the folder")));
        }
        // Paths are in order, so that files of one folder follow each other.
        let folder = path.parent().unwrap_or(Path::new(""));
        if folder != made {
            fs::create_dir_all(to.join(folder)).map_err(|error| named(folder, error))?;
            made = folder;
        }
        copy_one(&copy.folder.join(path), &to.join(path)).map_err(|error| named(path, error))?;
    }
    Ok(())
}

/// Files with their permissions, links as they are.
fn copy_one(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from)?.is_symlink() {
        symlink(fs::read_link(from)?, to)
    } else {
        fs::copy(from, to).map(|_| ())
    }
}
