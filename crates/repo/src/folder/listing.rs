//! The files of a folder, each with git's id of its content: from the index where nothing was touched, from the bytes
//! elsewhere.

use std::io::{BufRead, Read};
use std::path::Path;
use std::thread;

use pipeline::tree::{ContentId, File, Kind, Tree};

use super::compare::Compare;
use super::contents::{self, Touched};
use super::index;
use super::stamp::Stamp;
use super::{Repository, place, text, walk};
use crate::Error;
use crate::git::Git;
use crate::hash::{self, Format};
use crate::paths;

pub const FILES_MAX: usize = 1_000_000;

#[derive(Debug)]
pub struct Listing {
    pub tree: Tree,
    /// For each file of the tree: by what to see that it is still as it was. None where only reading it again tells.
    pub(super) stamps: Vec<Option<Stamp>>,
    /// Files that a sparse checkout leaves out.
    pub(super) left_out: Vec<File>,
    pub(super) format: Format,
    pub(super) trust_mode: bool,
}

pub fn too_many(place: &str) -> Error {
    let hint = "let git ignore what is built, or name a folder further down";
    Error::TooManyFiles { place: place.into(), files_max: FILES_MAX, hint }
}

pub fn of_folder(root: &Path) -> Result<Listing, Error> {
    let paths = walk::paths(root)?.into_iter();
    let all: Vec<_> = paths.map(|path| Touched { path, assumed: None }).collect();
    let format = Format::default();
    let files = contents::of(root, &all, format)?.into_iter().map(|file| (file, None));
    Ok(listing(files.collect(), Vec::new(), format, true))
}

pub fn of_repository(repository: &Repository, root: &Path) -> Result<Listing, Error> {
    let Repository { git, format, trust_mode, .. } = repository;
    let (tracked, untracked) = thread::scope(|scope| {
        let untracked = scope.spawn(|| untracked(git));
        // Looked at before the index is read: if it is replaced meanwhile, more files count as touched, not fewer.
        let written = rustix::fs::stat(&repository.index).ok().map(|stat| Stamp::of(&stat).modified);
        let tracked = index::each(repository, || Compare::new(root, written, *trust_mode));
        (tracked, untracked.join().expect("listing does not panic"))
    });
    let (tracked, untracked) = (tracked?, untracked?);
    let Compare { mut files, mut touched, left_out, submodules, .. } = tracked;
    let (repositories, untracked): (Vec<_>, Vec<_>) =
        untracked.into_iter().partition(|path| path.ends_with(b"/"));
    let assumed = (!trust_mode).then_some(Kind::Plain);
    touched.extend(untracked.into_iter().map(|path| Touched { path, assumed }));
    files.extend(contents::of(root, &touched, *format)?.into_iter().map(|file| (file, None)));
    let nested = repositories.iter().map(|path| (&path[..path.len() - 1], None));
    let submodules = submodules.iter().map(|(path, content)| (path.as_ref(), Some(*content)));
    for (path, content) in submodules.chain(nested) {
        let content = commit_of(root, path).or(content);
        let path = path.into();
        files.extend(content.map(|content| (File { path, kind: Kind::Submodule, content }, None)));
    }
    Ok(listing(files, left_out, *format, *trust_mode))
}

fn listing(
    mut files: Vec<(File, Option<Stamp>)>,
    left_out: Vec<File>,
    format: Format,
    trust_mode: bool,
) -> Listing {
    files.sort_by(|a, b| a.0.path.cmp(&b.0.path));
    files.dedup_by(|a, b| a.0.path == b.0.path);
    let (files, stamps) = files.into_iter().unzip();
    Listing { tree: Tree::new(files), stamps, left_out, format, trust_mode }
}

/// What git neither tracks nor ignores. A repository inside the folder ends with a slash.
fn untracked(git: &Git) -> Result<Vec<Box<[u8]>>, Error> {
    let output = git.stream(&["ls-files", "--others", "--exclude-standard", "-z"], |answer| {
        let mut paths = Vec::new();
        let mut answer = answer.take(u64::MAX);
        loop {
            let mut path = Vec::new();
            let read = answer.read_until(0, &mut path);
            read.map_err(Error::io("read the answer of", Path::new("git ls-files")))?;
            if path.pop().is_none() {
                return Ok(paths);
            }
            if paths.len() >= FILES_MAX {
                return Err(too_many("the folder"));
            }
            if !paths::is_data(&path) {
                paths::check(path.strip_suffix(b"/").unwrap_or(&path))?;
                paths.push(path.into());
            }
        }
    })?;
    output.or_fail("cannot list what git does not track")
}

/// What is checked out in a repository inside this one.
fn commit_of(root: &Path, path: &[u8]) -> Option<ContentId> {
    let top = root.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path));
    if place::top(&top)? != top {
        return None;
    }
    let git = Git::with_files(top.join(".git"), top.clone(), top);
    let commit = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).ok()?;
    hash::parse(text(&commit.answer).as_bytes())
}
