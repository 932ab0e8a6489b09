//! The files of a folder that no repository is around: all of them, within bounds.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::paths::{self, DATA};

const FILES_MAX: usize = 100_000;
const HINT: &str = "make it a git repository that ignores what is built, or name a folder further down";

/// Sorted. Links are not followed; the data directory and git's own are left out.
pub fn paths(root: &Path) -> Result<Vec<Box<[u8]>>, Error> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let here = root.join(&folder);
        for entry in fs::read_dir(&here).map_err(Error::io("list the folder", &here))? {
            let entry = entry.map_err(Error::io("list the folder", &here))?;
            let name = entry.file_name();
            if name.as_bytes() == DATA || name.as_bytes() == b".git" {
                continue;
            }
            let path = folder.join(name);
            let bytes = path.as_os_str().as_bytes();
            paths::check(bytes)?;
            match entry.file_type().map_err(Error::io("look at", &path))? {
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_file() || kind.is_symlink() => found.push(bytes.into()),
                _ => {}
            }
            if found.len() + folders.len() > FILES_MAX {
                let place = root.display().to_string();
                return Err(Error::TooManyFiles { place, files_max: FILES_MAX, hint: HINT });
            }
        }
    }
    found.sort();
    Ok(found)
}
