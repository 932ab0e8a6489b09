//! Where a measurement keeps its files: below the current folder, where data would be in real life, on a disk and not in
//! memory. It is gone with the measurement, also when that is interrupted.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

use crate::database::block_on;
use crate::output::{Exit, progress};

/// Servers of the measurement were interrupted too, and may still write while they stop.
const REMOVALS_MAX: u32 = 50;
const REMOVE_AGAIN: Duration = Duration::from_millis(100);

pub struct Folder(TempDir);

impl Folder {
    /// From now on, Ctrl-C and SIGTERM remove it and end the process.
    pub fn make() -> Result<Folder> {
        let folder = tempfile::Builder::new()
            .prefix("deltaci-bench-")
            .tempdir_in(".")
            .context("a folder for the benchmark")?;
        let path = folder.path().to_owned();
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let asked = block_on(async {
                let (mut interrupt, mut terminate) =
                    (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
                let _ = ready.send(()); // nobody listens when the measurement is over
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                Ok(())
            });
            if asked.is_ok() {
                leave(&path);
            }
        });
        is_ready.recv().context("signals cannot be heard")?;
        Ok(Folder(folder))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

fn leave(folder: &Path) -> ! {
    for _ in 0..REMOVALS_MAX {
        if std::fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            break;
        }
        std::thread::sleep(REMOVE_AGAIN);
    }
    progress("");
    eprintln!("interrupted; nothing was measured");
    std::process::exit(Exit::Canceled.code().into())
}
