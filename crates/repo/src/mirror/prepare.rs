//! Makes a mirror ready: one process at a time, whatever the one before left.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::Mirror;
use crate::Error;
use crate::git::{Doors, Git};
use crate::hash::Format;

const TIDY_TIME_MAX: Duration = Duration::from_secs(15 * 60);
/// Deeper than any ref that we make.
const DEPTH_MAX: usize = 8;

/// Waits until nobody else fills this mirror. Git gets the lock too: should we be killed, it is held until git has ended.
pub fn lock(mirror: &Mirror) -> Result<File, Error> {
    let failed = || Error::io("lock the mirror", &mirror.lock);
    if let Some(folder) = mirror.lock.parent() {
        fs::create_dir_all(folder).map_err(Error::io("make the folder of mirrors", folder))?;
    }
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&mirror.lock);
    let file = file.map_err(failed())?;
    flock(&file, FlockOperation::LockExclusive).map_err(|errno| failed()(errno.into()))?;
    Ok(file)
}

/// Under the lock: makes the repository if there is none, and clears away what a killed git left.
pub fn prepare(mirror: &Mirror, lock: &File) -> Result<(), Error> {
    if mirror.folder.join("HEAD").is_file() {
        return clear(mirror);
    }
    renew(mirror, lock, Format::default())
}

/// Under the lock: starts again with nothing.
pub fn renew(mirror: &Mirror, lock: &File, format: Format) -> Result<(), Error> {
    let mut fresh = mirror.folder.clone().into_os_string();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    for folder in [&fresh, &mirror.folder] {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove the mirror", folder)(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    fs::create_dir_all(&fresh).map_err(Error::io("make the mirror", &fresh))?;
    let format = match format {
        Format::Sha1 => "--object-format=sha1",
        Format::Sha256 => "--object-format=sha256",
    };
    let words = ["init", "--quiet", "--bare", "--template=", format];
    let lock = lock.try_clone().map_err(Error::io("lock the mirror", &mirror.lock))?;
    let git = Git::bare(fresh.clone()).open(Doors::Closed, TIDY_TIME_MAX, Some(lock));
    git.must("cannot make the mirror", &words)?;
    // It has its name only when it is whole.
    fs::rename(&fresh, &mirror.folder).map_err(Error::io("make the mirror", &mirror.folder))
}

/// Locks of refs, and packs that were not finished. Nobody else writes here, so whatever lies there is dead.
fn clear(mirror: &Mirror) -> Result<(), Error> {
    let is_lock = |name: &str| name.ends_with(".lock");
    remove(&mirror.folder, 1, &is_lock)?;
    remove(&mirror.folder.join("refs"), DEPTH_MAX, &is_lock)?;
    remove(&mirror.folder.join("objects/pack"), 1, &|name| name.starts_with("tmp_"))
}

fn remove(folder: &Path, depth: usize, is_left: &dyn Fn(&str) -> bool) -> Result<(), Error> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let entry = entry.map_err(Error::io("list", folder))?;
        let is_folder = entry.file_type().map_err(Error::io("look at", folder))?.is_dir();
        if is_folder && depth > 1 {
            remove(&entry.path(), depth - 1, is_left)?;
        } else if !is_folder && is_left(&entry.file_name().to_string_lossy()) {
            fs::remove_file(entry.path()).map_err(Error::io("remove", &entry.path()))?;
        }
    }
    Ok(())
}

pub fn tidy(mirror: &Mirror) -> Result<(), Error> {
    let lock = lock(mirror)?;
    if !mirror.folder.join("HEAD").is_file() {
        return Ok(());
    }
    clear(mirror)?;
    let mut git = mirror.git.open(Doors::Closed, TIDY_TIME_MAX, Some(lock));
    // Only if there is much to pack; what no ref holds stays for two weeks.
    git.set("gc.auto", "6700".as_ref());
    git.must("cannot pack the mirror", &["gc", "--auto", "--quiet"]).map(drop)
}
