//! Folders: one per agent, locked while it lives, and in it one per execution, removed when that is over, or kept for the
//! next copy of the same files.
//!
//! What a killed agent left behind is removed by the next that starts on the same work directory. Only folders that hold
//! a lock file of ours are touched, or have a name for what comes and goes: an agent's folder gets its own name when it is
//! whole and loses it before it is taken apart, so whoever is killed in between leaves nothing that nobody may touch.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const LOCK: &str = "lock";
/// Held while folders of agents come and go, so that nobody sweeps a folder whose lock is about to be taken.
const DOOR: &str = ".door";
/// A folder without its lock yet, and one that is being removed.
const COMING: &str = ".new-";
const GOING: &str = ".gone-";
const REMOVE_TRIES_MAX: u32 = 3;
/// Two seconds together: more would only keep a person waiting who has started the same runner twice.
const LOCK_TRIES_MAX: u32 = 40;
const LOCK_PAUSE: Duration = Duration::from_millis(50);
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
        let path = work_dir.join(name);
        wait_for_death(&path);
        let door = File::options().create(true).append(true).open(work_dir.join(DOOR))?;
        door.lock()?;
        sweep(&work_dir);
        if fs::symlink_metadata(&path).is_ok() {
            return Err(in_use(name, &path));
        }
        let coming = work_dir.join(format!("{COMING}{name}"));
        private_folder(&coming)?;
        repo::copy::spread(&coming);
        let lock = File::create(coming.join(LOCK))?;
        lock.lock()?;
        fs::rename(&coming, &path)?;
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
        let _ = remove_agent(&self.path);
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

/// What a killed agent had just begun to start holds its files, and so its lock, until it is a program of its own.
fn wait_for_death(folder: &Path) {
    let Ok(lock) = File::open(folder.join(LOCK)) else { return };
    for _ in 0..LOCK_TRIES_MAX {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Ok(()) | Err(TryLockError::Error(_)) => return,
        }
    }
}

fn in_use(name: &str, path: &Path) -> io::Error {
    let shown = path.display();
    let message = match path.join(LOCK).exists() {
        true => format!("{shown} is in use: is another runner called {name}? Give this one another --name"),
        false => format!("{shown} is not a runner's: remove it, or give this runner another --name"),
    };
    io::Error::other(message)
}

/// Removes the folders of agents that are dead: their locks can be taken. Failing is no reason not to start.
fn sweep(work_dir: &Path) {
    let Ok(entries) = fs::read_dir(work_dir) else { return };
    for entry in entries.flatten() {
        let (folder, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let removed = match File::open(folder.join(LOCK)).map(|lock| lock.try_lock()) {
            _ if name.starts_with(COMING) || name.starts_with(GOING) => remove(&folder),
            Ok(Ok(())) => remove_agent(&folder),
            Ok(Err(TryLockError::WouldBlock | TryLockError::Error(_))) | Err(_) => Ok(()),
        };
        if let Err(error) = removed {
            tracing::warn!(folder = %folder.display(), %error, "cannot remove what a dead runner left");
        }
    }
}

/// Under a name that says what becomes of it: should we be killed meanwhile, the next sweep goes on.
fn remove_agent(folder: &Path) -> io::Result<()> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let going = folder.with_file_name(format!("{GOING}{}-{name}", std::process::id()));
    match fs::rename(folder, &going) {
        Ok(()) => remove(&going),
        Err(_) => remove(folder), // what an earlier one with our number left is in the way
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
