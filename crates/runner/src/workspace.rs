//! Folders: one per agent, locked while it lives, and in it one per execution, removed when that is over, or kept for the
//! next copy of the same files.
//!
//! What a killed agent left behind is removed by the next that starts on the same work directory. Only folders that hold
//! a lock file of ours are touched.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const LOCK: &str = "lock";
/// Held while folders of agents come and go, so that nobody sweeps a folder whose lock is about to be taken.
const DOOR: &str = ".door";
const REMOVE_TRIES_MAX: u32 = 3;
/// A tree deeper than this is left to the operator.
const DEPTH_MAX: u32 = 200;

/// The agent's own folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    executions: AtomicU64,
    /// Of executions that are over. Nothing but their workspaces is left of them.
    used: Mutex<Vec<Place>>,
    _lock: File,
}

/// An execution's folder. Gone when `remove` was called, or at the disposal of another after `hand_on`.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
}

impl Folder {
    /// Takes the folder `name` in the work directory and removes those whose agents are dead.
    pub fn claim(work_dir: &Path, name: &str) -> io::Result<Folder> {
        fs::create_dir_all(work_dir)?;
        let work_dir = work_dir.canonicalize()?;
        let door = File::options().create(true).append(true).open(work_dir.join(DOOR))?;
        door.lock()?;
        sweep(&work_dir);
        let path = work_dir.join(name);
        private_folder(&path).map_err(|error| in_use(name, &path, error))?;
        repo::copy::spread(&path);
        let lock = File::create(path.join(LOCK))?;
        lock.lock()?;
        Ok(Folder { path, executions: AtomicU64::new(0), used: Mutex::default(), _lock: lock })
    }

    /// A fresh folder for one execution.
    pub fn place(&self) -> io::Result<Place> {
        let number = self.executions.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(number.to_string());
        private_folder(&path)?;
        private_folder(&path.join("workspace"))?;
        Ok(Place { path })
    }

    /// A folder whose workspace may hold what an earlier execution left; whoever fills it has to see to that.
    pub fn used_place(&self) -> io::Result<Place> {
        let used = self.used().pop();
        used.map_or_else(|| self.place(), Ok)
    }

    /// The execution is over, no process of it is left, and nobody wants to know what it left.
    pub fn hand_on(&self, place: Place) -> io::Result<()> {
        let workspace = place.workspace();
        for entry in fs::read_dir(&place.path)? {
            let entry = entry?;
            if entry.path() == workspace {
                continue;
            }
            if entry.file_type()?.is_dir() { remove(&entry.path())? } else { fs::remove_file(entry.path())? }
        }
        fs::set_permissions(workspace, fs::Permissions::from_mode(0o700))?;
        self.used().push(place);
        Ok(())
    }

    fn used(&self) -> MutexGuard<'_, Vec<Place>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent leaves. What cannot be removed is left to the next.
    pub fn leave(self) {
        let _ = remove(&self.path);
    }
}

impl Place {
    pub fn workspace(&self) -> PathBuf {
        self.path.join("workspace")
    }

    /// For the job's home and temporary folder: beside the workspace, so that a checkout holds nothing of ours.
    pub fn scratch(&self) -> PathBuf {
        self.path.join("scratch")
    }

    pub fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// For archives, while the job is under way; not made yet.
    pub fn caches(&self) -> PathBuf {
        self.path.join("caches")
    }

    pub fn remove(self) -> io::Result<()> {
        remove(&self.path)
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)
}

fn in_use(name: &str, path: &Path, error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::AlreadyExists {
        return error;
    }
    let path = path.display();
    io::Error::other(format!(
        "{path} is in use: is another runner called {name}? Give this one another --name"
    ))
}

/// Removes the folders of agents that are dead: their locks can be taken. Failing is no reason not to start.
fn sweep(work_dir: &Path) {
    let Ok(entries) = fs::read_dir(work_dir) else { return };
    for folder in entries.flatten().map(|entry| entry.path()) {
        let Ok(lock) = File::open(folder.join(LOCK)) else { continue };
        match lock.try_lock() {
            Ok(()) => {
                if let Err(error) = remove(&folder) {
                    tracing::warn!(folder = %folder.display(), %error, "cannot remove what a dead runner left");
                }
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}

/// Removes a tree, also one with folders that may not be written. A process that is just dying may still add to it.
fn remove(path: &Path) -> io::Result<()> {
    let mut result = Ok(());
    for _ in 0..REMOVE_TRIES_MAX {
        result = match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.exists() => Ok(()),
            other => other,
        };
        if result.is_ok() {
            break;
        }
        open_up(path, 0);
    }
    result
}

/// Makes every folder of the tree writable. Links are not followed: they may lead out of the tree.
fn open_up(path: &Path, depth: u32) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    if !is_folder || depth > DEPTH_MAX {
        return;
    }
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        open_up(&entry.path(), depth + 1);
    }
}
