//! A wall clock that can be set for one process: libfaketime stands between it and libc, and a file says how far off it is.
//!
//! Misled is who asks libc for the wall's time, as a server does at its start. The uptime is not moved; runners ask the kernel
//! itself, and neither they nor their jobs get any of this. Never: the machine's own clock.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const LIBRARY: &str = "libfaketimeMT.so.1";

/// Below these, in a folder for the machine's kind or not.
const PLACES: [&str; 5] = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64", "/lib"];

pub struct Wall {
    library: PathBuf,
    file: PathBuf,
}

impl Wall {
    /// A clock that is right until it is set. Nothing where the library is not installed.
    pub fn new(file: &Path) -> io::Result<Option<Wall>> {
        let Some(library) = library() else { return Ok(None) };
        let wall = Wall { library, file: file.into() };
        wall.set(0)?;
        Ok(Some(wall))
    }

    /// So many seconds ahead of the machine's clock, or behind it. Whoever reads finds the old word or the new one.
    pub fn set(&self, seconds: i64) -> io::Result<()> {
        let next = self.file.with_extension("next");
        fs::write(&next, format!("{seconds:+}s\n"))?;
        fs::rename(next, &self.file)
    }

    /// What a process is started with. The name of the switch for the uptime depends on the library's version.
    pub fn variables(&self) -> [(&'static str, String); 6] {
        let text = |path: &Path| path.display().to_string();
        [
            ("LD_PRELOAD", text(&self.library)),
            ("FAKETIME_TIMESTAMP_FILE", text(&self.file)),
            ("FAKETIME_NO_CACHE", "1".into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
            ("DONT_FAKE_MONOTONIC", "1".into()),
            ("NO_FAKE_STAT", "1".into()),
        ]
    }

    /// Once a process has begun: whether it is misled. One that was linked without a libc to stand in front of is not.
    pub fn misleads(&self, process: u32) -> bool {
        forget_names(process);
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        maps.contains(LIBRARY)
    }
}

/// The library names shared memory by its process, and takes the names away unless it is killed. They would stand in the way of
/// the next process with this id; who has the memory needs no name for it.
fn forget_names(process: u32) {
    for name in [format!("faketime_shm_{process}"), format!("sem.faketime_sem_{process}")] {
        let _ = fs::remove_file(Path::new("/dev/shm").join(name)); // there is none without the library
    }
}

fn library() -> Option<PathBuf> {
    let below = |place: &str| fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path());
    let places = PLACES.iter().flat_map(|place| std::iter::once(PathBuf::from(place)).chain(below(place)));
    places.map(|place| place.join("faketime").join(LIBRARY)).find(|path| path.is_file())
}
