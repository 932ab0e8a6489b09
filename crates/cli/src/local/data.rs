//! The data directory: what is where in it, and who may work on it.
//!
//! One `deltaci run` at a time, or any number of servers: each would take the other's jobs for its own.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};
use wire::{Digest, RunId};

use crate::database::FILE;
use crate::output::{Exit, Problem};

/// Within the folder of the pipeline.
pub const FOLDER: &str = ".deltaci";
/// Within the data directory.
pub const BLOBS: &str = "blobs";
const LOCK: &str = "run.lock";
/// Enough to tell the data directories of one person apart.
const NAME_LETTERS: usize = 16;

/// Everything in it is ours and of no interest to git.
const IGNORE: &str = "*\n";

/// Held until it is dropped; the system drops it with the process.
pub struct Data {
    folder: PathBuf,
    work: PathBuf,
    _lock: File,
}

impl Data {
    /// Makes the directory if need be, and keeps everybody else out of it.
    pub fn claim(folder: &Path) -> Result<Data> {
        let mut lock = lock_file(folder)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(folder, &mut lock)),
            Err(TryLockError::Error(error)) => return Err(error).context("cannot lock the data directory"),
        }
        lock.set_len(0)?;
        write!(lock, "{}", std::process::id())?;
        let ignore = folder.join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, IGNORE).with_context(|| format!("cannot write {}", ignore.display()))?;
        }
        let folder = fs::canonicalize(folder)?;
        Ok(Data { work: work_of(&folder), folder, _lock: lock })
    }

    /// For servers, which share their records with each other.
    pub fn share(folder: &Path) -> Result<File> {
        let mut lock = lock_file(folder)?;
        match lock.try_lock_shared() {
            Ok(()) => Ok(lock),
            Err(TryLockError::WouldBlock) => Err(in_use(folder, &mut lock)),
            Err(TryLockError::Error(error)) => Err(error).context("cannot lock the data directory"),
        }
    }

    pub fn database(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    pub fn blobs(&self) -> PathBuf {
        self.folder.join(BLOBS)
    }

    /// Where the runner has the folders of its jobs.
    pub fn work(&self) -> PathBuf {
        self.work.clone()
    }

    /// Where the files of runs are kept while these are not over.
    pub fn snapshots(&self) -> PathBuf {
        self.work.join("snapshots")
    }

    pub fn snapshot(&self, run: RunId) -> PathBuf {
        self.snapshots().join(run.to_string())
    }
}

/// Among the caches of whoever runs it, not inside the project: git, node and others look for what they need in the
/// folders above, and would find the project itself instead of the job's copy.
fn work_of(data: &Path) -> PathBuf {
    let named = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
    let digest = Digest::from_bytes(Sha256::digest(data.as_os_str().as_encoded_bytes()).into()).to_string();
    let short = digest.trim_start_matches("sha256:").chars().take(NAME_LETTERS).collect::<String>();
    caches.map_or_else(|| data.join("work"), |caches| caches.join("deltaci").join(short))
}

/// With every folder above it that is missing. Their names are on the disk before anything in them is promised to anybody:
/// whoever keeps files in them syncs the folder, not its name.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|path| !is_there(path)).collect();
    fs::create_dir_all(folder)?;
    for made in missing {
        File::open(made.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new(".")))?
            .sync_all()?;
    }
    Ok(())
}

/// The empty path is where we are.
fn is_there(path: &Path) -> bool {
    path.as_os_str().is_empty() || path.exists()
}

fn lock_file(folder: &Path) -> Result<File> {
    make_folder(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join(LOCK);
    let opened = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    opened.with_context(|| format!("cannot open {}", path.display()))
}

/// The file holds the number of the last `deltaci run`; if that is gone, a server has the lock.
fn in_use(folder: &Path, lock: &mut File) -> anyhow::Error {
    let mut text = String::new();
    let _ = lock.rewind().and_then(|()| lock.read_to_string(&mut text)); // without it, less is said
    let process = text.trim().parse::<u32>().ok();
    let alive = process.filter(|process| Path::new(&format!("/proc/{process}")).exists());
    let folder = folder.display();
    let message = match alive {
        Some(process) => format!(
            "process {process} (`deltaci run`) is at work on {folder}; wait for it, or give this one another --data"
        ),
        None => format!(
            "a `deltaci server` is at work on {folder}; send it the run with `deltaci trigger`, or give another --data"
        ),
    };
    Problem { exit: Exit::Infrastructure, message }.into()
}
