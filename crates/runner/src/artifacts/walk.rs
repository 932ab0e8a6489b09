//! Looks through a workspace for the files that the patterns name. Regular files only; links are reported, not followed.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rustix::fs::{Dir, FileType};

use super::beneath::Root;
use super::globs::Globs;
use super::notes::{Notes, shown};

/// Deeper than any honest build goes.
const DEPTH_MAX: usize = 128;
/// Looked at in one workspace.
const ENTRIES_MAX: u64 = 2_000_000;

#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub files: usize,
    pub total_bytes: u64,
}

/// By path, sorted: which patterns it matches.
pub type Found = BTreeMap<String, Vec<usize>>;

/// More than a job may leave, or than we look at.
#[derive(Debug, thiserror::Error)]
pub enum TooMuch {
    #[error("the job's artifacts are more than {0} files; name fewer, or pack them into an archive")]
    Files(usize),
    #[error(
        "the job's artifacts are larger than {0} bytes together, which is the most that this runner takes"
    )]
    Bytes(u64),
    #[error("the workspace holds more than {ENTRIES_MAX} files; name the artifacts' folder in their pattern")]
    Entries,
    /// Not the job's fault.
    #[error("the workspace cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("stopped")]
    Stopped,
}

/// Not on a thread that others wait for. `go_on` is asked now and then.
pub fn walk(
    root: &Root,
    globs: &Globs,
    files_max: usize,
    notes: &mut Notes,
    go_on: impl Fn() -> bool,
) -> Result<Found, TooMuch> {
    let mut found = Found::new();
    let mut folders = vec![String::new()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        if !go_on() {
            return Err(TooMuch::Stopped);
        }
        let entries = match root.folder(Path::new(&folder)).and_then(|held| Ok(Dir::read_from(held)?)) {
            Ok(entries) => entries,
            Err(error) if folder.is_empty() => return Err(error.into()),
            Err(error) => {
                notes.add(format!("artifacts: the folder `{}` cannot be read: {error}", shown(&folder)));
                continue;
            }
        };
        for entry in entries {
            let entry = entry.map_err(io::Error::from)?;
            seen += 1;
            if seen > ENTRIES_MAX {
                return Err(TooMuch::Entries);
            }
            let name = entry.file_name();
            if [c".", c".."].contains(&name) {
                continue;
            }
            let Ok(name) = name.to_str() else {
                let name = shown(&name.to_string_lossy());
                notes.add(format!("artifacts: `{name}` is left out: its name is no UTF-8"));
                continue;
            };
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            let kind = match entry.file_type() {
                FileType::Unknown => kind_of(root, &path), // some file systems do not say
                kind => kind,
            };
            if let Some(deeper) = look(&path, kind, globs, &mut found, notes) {
                folders.push(deeper);
            }
            if found.len() > files_max {
                return Err(TooMuch::Files(files_max));
            }
        }
    }
    Ok(found)
}

/// Notes a file that matches; returns a folder that is to be entered.
fn look(path: &str, kind: FileType, globs: &Globs, found: &mut Found, notes: &mut Notes) -> Option<String> {
    let below = || globs.may_be_below(path);
    match kind {
        FileType::Directory if below() && path.split('/').count() < DEPTH_MAX => return Some(path.into()),
        FileType::Directory if below() => {
            notes.add(format!("artifacts: folders deeper than {DEPTH_MAX} are left out"));
        }
        FileType::Directory => {}
        FileType::RegularFile => {
            let numbers: Vec<usize> = globs.matching(path).collect();
            if !numbers.is_empty() {
                found.insert(path.into(), numbers);
            }
        }
        FileType::Symlink => {
            if globs.matching(path).next().is_some() || globs.names_folder(path) {
                notes.add(format!("artifacts: `{}` is left out: it is a symbolic link", shown(path)));
            }
        }
        _ => {
            if globs.matching(path).next().is_some() {
                notes.add(format!("artifacts: `{}` is left out: it is no regular file", shown(path)));
            }
        }
    }
    None
}

fn kind_of(root: &Root, path: &str) -> FileType {
    let path = Path::new(path);
    if root.folder(path).is_ok() {
        FileType::Directory
    } else if root.file(path).is_ok() {
        FileType::RegularFile
    } else {
        FileType::Symlink
    }
}
