//! Mirrors of repositories elsewhere: one folder for each, filled as it is needed, shared by all runs.

mod address;
mod fetch;
mod prepare;
mod remote;
pub(crate) mod tree;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use pipeline::facts::Difference;
use pipeline::tree::{File, Kind, Tree};
use sha2::{Digest, Sha256};

use crate::Error;
use crate::folder::{merge_base, resolve};
use crate::git::{Batch, Content, Doors, Git};
use crate::hash::{self, Format};
use crate::names;
use crate::paths;
use address::Place;

/// A first fetch brings the whole history.
const FETCH_TIME_MAX: Duration = Duration::from_secs(10 * 60);

#[derive(Debug, Clone)]
pub struct Mirrors {
    folder: PathBuf,
    allow_local: bool,
    fetch_time_max: Duration,
}

/// One repository. Nothing is there before the first fetch.
#[derive(Debug)]
pub struct Mirror {
    address: String,
    folder: PathBuf,
    lock: PathBuf,
    git: Git,
    doors: Doors,
    fetch_time_max: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The full id.
    pub commit: String,
    /// Without `refs/heads/`; none for a tag, or for a commit that came without a name.
    pub branch: Option<String>,
}

impl Mirrors {
    pub fn new(folder: impl Into<PathBuf>) -> Mirrors {
        Mirrors { folder: folder.into(), allow_local: false, fetch_time_max: FETCH_TIME_MAX }
    }

    /// Also repositories on this machine's disk. Not where several tenants share it.
    pub fn allow_local(self, allow_local: bool) -> Mirrors {
        Mirrors { allow_local, ..self }
    }

    pub fn fetch_time_max(self, fetch_time_max: Duration) -> Mirrors {
        Mirrors { fetch_time_max, ..self }
    }

    pub fn mirror(&self, address: &str) -> Result<Mirror, Error> {
        let doors = match address::check(address, self.allow_local)? {
            Place::Network => Doors::Network,
            Place::Disk => Doors::NetworkAndDisk,
        };
        let name: String =
            Sha256::digest(address.as_bytes())[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        // Git is started in other folders than ours.
        let place = std::path::absolute(&self.folder).map_err(Error::io("find the folder", &self.folder))?;
        let folder = place.join(&name);
        let git = Git::bare(folder.clone());
        let lock = place.join(name + ".lock");
        Ok(Mirror { address: address.into(), folder, lock, git, doors, fetch_time_max: self.fetch_time_max })
    }
}

impl Mirror {
    /// Sees to it that a commit is here: that commit if one is given, else where the ref stands, else the head of the
    /// repository. Asks the other side only for what is not here yet.
    pub fn fetch(&self, reference: Option<&str>, commit: Option<&str>) -> Result<Found, Error> {
        let reference = reference.map(names::reference).transpose()?;
        let commit = commit.map(names::commit).transpose()?;
        fetch::fetch(self, reference, commit)
    }

    /// The files of a commit that was fetched.
    pub fn tree(&self, commit: &str) -> Result<Tree, Error> {
        let words = ["ls-tree", "-r", "-z", "--full-tree", names::commit(commit)?];
        self.git.stream(&words, |answer| tree::read(answer))?.or_fail("cannot read the files of the commit")
    }

    /// What changed since the commit left the base: a branch or tag as it is now on the other side, or a commit.
    pub fn difference(&self, base: &str, commit: &str) -> Difference {
        match self.since(base, commit) {
            Ok(difference) => difference,
            Err(error) => Difference::Unknown { why: error.in_full() },
        }
    }

    fn since(&self, base: &str, commit: &str) -> Result<Difference, Error> {
        let commit = names::commit(commit)?;
        let found = match names::is_commit(base) {
            true => self.fetch(None, Some(base))?,
            false => self.fetch(Some(base), None)?,
        };
        let Some(start) = merge_base(&self.git, &found.commit, commit)? else {
            let shallow =
                self.git.must("cannot read the mirror", &["rev-parse", "--is-shallow-repository"])?;
            let why = match shallow.as_slice() {
                b"true" => "the repository is a shallow clone, and does not reach back to where they parted",
                _ => "they have no history in common",
            };
            return Ok(Difference::Unknown { why: format!("`{base}` and {commit}: {why}") });
        };
        let words =
            ["diff-tree", "-r", "-z", "--no-renames", "--name-only", "--no-ext-diff", "--no-textconv"];
        let words: Vec<&str> = words.into_iter().chain([start.as_str(), commit]).collect();
        let changed = self.git.ask(&words)?.or_fail("cannot compare the commits")?;
        let paths = changed.split(|letter| *letter == 0).filter(|path| !path.is_empty());
        let changed = paths.map(Into::into).collect();
        Ok(Difference::Since { base: start, changed })
    }

    /// What is in a file of a commit; nothing if there is none. For many files, `reader` is quicker.
    pub fn read(&self, commit: &str, path: &[u8], bytes_max: u64) -> Result<Option<Vec<u8>>, Error> {
        paths::check(path)?;
        let words = ["ls-tree", "-z", "--full-tree", names::commit(commit)?, "--"].map(OsStr::new);
        let words: Vec<&OsStr> = words.into_iter().chain([OsStr::from_bytes(path)]).collect();
        let found = self.git.ask(&words)?.or_fail("cannot read the files of the commit")?;
        let folder = b"040000 ";
        if found.is_empty() || found.starts_with(folder) {
            return Ok(None);
        }
        match tree::read(&mut &*found)?.get(path) {
            Some(file) => self.reader()?.read(file, bytes_max).map(Some),
            None => Ok(None),
        }
    }

    pub fn reader(&self) -> Result<Reader, Error> {
        Ok(Reader { batch: self.git.batch()?, format: self.format()? })
    }

    /// Packs what many fetches left behind, when there is enough of it. Best after the answer is out.
    pub fn tidy(&self) -> Result<(), Error> {
        prepare::tidy(self)
    }

    fn format(&self) -> Result<Format, Error> {
        match self.git.must("cannot read the mirror", &["rev-parse", "--show-object-format"])?.as_slice() {
            b"sha256" => Ok(Format::Sha256),
            _ => Ok(Format::Sha1),
        }
    }

    fn has(&self, commit: &str) -> Result<bool, Error> {
        Ok(resolve(&self.git, commit)?.is_some())
    }
}

/// Reads files of commits that were fetched, one after the other.
pub struct Reader {
    batch: Batch,
    format: Format,
}

impl Reader {
    /// The bytes of a file of a tree. A link is not followed.
    pub fn read(&mut self, file: &File, bytes_max: u64) -> Result<Vec<u8>, Error> {
        let unreadable =
            |why: String| Err(Error::Unreadable { path: file.path.escape_ascii().to_string(), why });
        match file.kind {
            Kind::Plain | Kind::Executable => {}
            Kind::Link => return unreadable("it is a link; put the file itself there".into()),
            Kind::Submodule => return unreadable("it is a submodule".into()),
        }
        match self.batch.read(&hash::print(self.format, &file.content), bytes_max)? {
            Content::Bytes(bytes) => Ok(bytes),
            Content::TooLarge(length) => {
                unreadable(format!("it is {length} bytes long, more than the {bytes_max} that are read"))
            }
            Content::Missing => unreadable("the mirror does not have it".into()),
        }
    }
}
