//! Finds the repository around a folder. Git's own search asks who owns it; here the person named the folder.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Repository;
use crate::Error;
use crate::git::{self, Git};
use crate::hash::Format;

/// The nearest folder that holds a `.git` worth the name.
pub fn top(root: &Path) -> Option<PathBuf> {
    root.ancestors().find(|folder| has_git(folder)).map(Path::to_path_buf)
}

fn has_git(folder: &Path) -> bool {
    let git = folder.join(".git");
    match fs::metadata(&git) {
        // What HEAD is said to be may lead nowhere, and still be a HEAD.
        Ok(found) if found.is_dir() => fs::symlink_metadata(git.join("HEAD")).is_ok(),
        // A linked working tree, or a submodule.
        Ok(found) if found.is_file() => {
            let mut start = [0; 8];
            fs::File::open(git).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
                && start == *b"gitdir: "
        }
        Ok(_) | Err(_) => false,
    }
}

pub fn is_bare(root: &Path) -> bool {
    let looks_like_it = ["objects", "refs"].iter().all(|name| root.join(name).is_dir())
        && root.join("HEAD").is_file()
        && !root.join(".git").exists();
    looks_like_it || root.components().any(|part| part.as_os_str() == ".git")
}

impl Repository {
    /// Nothing if the repository ignores the folder: then it is a folder of its own.
    pub(super) fn open(top: PathBuf, root: &Path) -> Result<Option<Repository>, Error> {
        let mut git = Git::with_files(top.join(".git"), top.clone(), root.to_path_buf());
        let about = ["rev-parse", "--is-shallow-repository", "--show-object-format", "--git-path", "index"];
        let about = git.must("cannot read the repository", &about)?;
        let mut about = about.splitn(3, |letter| *letter == b'\n');
        let (shallow, format, index) = (about.next(), about.next(), about.next());
        let format = match format {
            Some(b"sha1") => Format::Sha1,
            Some(b"sha256") => Format::Sha256,
            Some(_) | None => return Err(Error::Answer { what: "which hash names its objects" }),
        };
        let index = index.ok_or(Error::Answer { what: "where its index is" })?;
        if root != top && is_ignored(&git)? {
            return Ok(None);
        }
        let mode = git.ask(&["config", "--type=bool", "--get", "core.fileMode"])?;
        if let Some(patterns) = git::persons_excludes() {
            git.set("core.excludesFile", patterns.as_os_str());
        }
        Ok(Some(Repository {
            index: root.join(OsStr::from_bytes(index)),
            git,
            top,
            format,
            is_shallow: shallow == Some(b"true"),
            trust_mode: mode.answer.trim_ascii() != b"false",
        }))
    }
}

/// Whether git would not look into the folder, and tracks nothing in it.
fn is_ignored(git: &Git) -> Result<bool, Error> {
    if git.ask(&["check-ignore", "--quiet", "."])?.code != Some(0) {
        return Ok(false);
    }
    let tracks_some = git.stream(&["ls-files", "-z"], |answer| {
        let start = answer.fill_buf().map_err(Error::io("read the answer of", Path::new("git ls-files")))?;
        Ok(!start.is_empty())
    })?;
    Ok(!tracks_some.answer)
}
