//! A folder on this machine: its files as they are now, whether a repository is around it or not.
//!
//! The pipeline's root is the folder itself. If it lies inside a repository, paths are relative to it and only files
//! below it count.

mod compare;
mod contents;
mod difference;
mod index;
mod listing;
mod place;
mod snapshot;
mod stamp;
mod walk;

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pipeline::facts::Difference;
use pipeline::tree::Tree;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

pub(crate) use difference::{merge_base, resolve};
pub(crate) use index::kind as kind_of_mode;
pub(crate) use listing::FILES_MAX;
pub use listing::Listing;

use crate::Error;
use crate::git::Git;
use crate::hash::Format;
use crate::paths;
use crate::steps::{Missing, Steps, is_gone};

#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    repository: Option<Repository>,
}

#[derive(Debug)]
struct Repository {
    git: Git,
    top: PathBuf,
    index: PathBuf,
    format: Format,
    is_shallow: bool,
    /// Whether the disk's executable bits mean anything.
    trust_mode: bool,
}

/// Where a repository stands. All empty without one; without a commit before the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    pub commit: Option<String>,
    /// Without `refs/heads/`; none while detached.
    pub branch: Option<String>,
}

impl Folder {
    pub fn open(folder: &Path) -> Result<Folder, Error> {
        let root = folder.canonicalize().map_err(Error::io("open the folder", folder))?;
        let refuse = |why| Err(Error::Folder { folder: root.display().to_string(), why });
        if !root.is_dir() {
            return refuse("it is a file; name the folder it is in");
        }
        if place::is_bare(&root) {
            return refuse(
                "it is a bare repository or a `.git` folder; name a folder with files, or clone it first",
            );
        }
        let repository = match place::top(&root) {
            Some(top) => Repository::open(top, &root)?,
            None => None,
        };
        Ok(Folder { root, repository })
    }

    /// Without links on the way.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The top of the repository around it, if there is one.
    pub fn top(&self) -> Option<&Path> {
        self.repository.as_ref().map(|repository| repository.top.as_path())
    }

    pub fn head(&self) -> Result<Head, Error> {
        let Some(Repository { git, .. }) = &self.repository else { return Ok(Head::default()) };
        let branch = git.ask(&["symbolic-ref", "--quiet", "HEAD"])?;
        let branch = (branch.code == Some(0)).then(|| text(&branch.answer));
        let branch = branch.and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned()));
        let commit = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
        let commit = (commit.code == Some(0)).then(|| text(&commit.answer));
        Ok(Head { commit, branch })
    }

    /// The files that are there now: what git tracks, and what it does not but would not ignore; without a repository,
    /// all of them.
    pub fn listing(&self) -> Result<Listing, Error> {
        match &self.repository {
            Some(repository) => listing::of_repository(repository, &self.root),
            None => listing::of_folder(&self.root),
        }
    }

    /// What changed since HEAD left the base, up to the files of the listing.
    pub fn difference(&self, listing: &Listing, base: &str) -> Difference {
        let why = match &self.repository {
            Some(repository) => match difference::since(repository, listing, base) {
                Ok(difference) => return difference,
                Err(error) => error.in_full(),
            },
            None => "the folder is not in a git repository, so there is nothing to compare it with".into(),
        };
        Difference::Unknown { why }
    }

    /// A copy of the listed files in a folder that is empty. The tree says what is in the copy: files that changed
    /// since they were listed are looked at again, those that vanished are left out.
    pub fn snapshot(&self, listing: &Listing, to: &Path) -> Result<Tree, Error> {
        snapshot::take(&self.root, listing, to)
    }

    /// What is in a file now; nothing if there is none. A link is not followed.
    pub fn read(&self, path: &[u8], bytes_max: u64) -> Result<Option<Vec<u8>>, Error> {
        paths::check(path)?;
        let unreadable = |why: &str| {
            let path = path.escape_ascii().to_string();
            Err(Error::Unreadable { path, why: why.into() })
        };
        let file = match open_file(&self.root, path) {
            Ok(file) => file,
            Err(Errno::LOOP) => return unreadable("it is a link; put the file itself there"),
            Err(error) if is_gone(error) => return Ok(None),
            Err(error) => return Err(Error::at("read", path)(error)),
        };
        if !file.metadata().map_err(Error::io("read", &self.root))?.is_file() {
            return unreadable("it is not a plain file");
        }
        let mut bytes = Vec::new();
        let read = file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(Error::io("read", Path::new(std::ffi::OsStr::from_bytes(path))))?;
        if bytes.len() as u64 > bytes_max {
            return unreadable(&format!("it is longer than {bytes_max} bytes"));
        }
        Ok(Some(bytes))
    }
}

fn open_file(root: &Path, path: &[u8]) -> Result<File, Errno> {
    let mut steps = Steps::new(root, Missing::Stop)?;
    let (folder, name) = match steps.to(path) {
        // A link on the way is no file; only a link at its end is one that could be meant.
        Err(error) if is_gone(error) => return Err(Errno::NOENT),
        other => other?,
    };
    Ok(openat(folder, name, READ, Mode::empty())?.into())
}

/// Without waiting for whoever writes into a pipe.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

fn text(answer: &[u8]) -> String {
    String::from_utf8_lossy(answer).trim_end().to_owned()
}
