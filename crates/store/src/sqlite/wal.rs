//! SQLite's write-ahead log as a file of ours: where it lies, how it comes to the disk, when it is put away.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

/// Of a database whose path is followed: SQLite keeps it beside the file, not beside a link to it.
pub fn log_of(path: &Path) -> PathBuf {
    let mut log = OsString::from(path);
    log.push("-wal");
    log.into()
}

/// How much of it is written in one go.
const BLOCK_BYTES: usize = 128 * 1024;

/// What the process before us wrote is on the disk when this returns.
///
/// It may be in the system's memory alone, also after a sync that failed: the system then takes it for clean, and says of the
/// next sync that all is well. So it is written once more, byte for byte, and then synced. Moving it into the database
/// instead would put that ahead of the log which the disk holds: after a power cut the first half of the log would be played
/// over the newer database.
pub fn write_anew(connection: &Connection, log: &Path) -> rusqlite::Result<io::Result<()>> {
    connection.execute_batch("BEGIN IMMEDIATE")?; // nobody else adds to it, or starts it over
    let written = copied_onto_itself(log);
    connection.execute_batch("ROLLBACK")?;
    Ok(written.and_then(|file| file.sync_all()))
}

fn copied_onto_itself(log: &Path) -> io::Result<File> {
    let file = File::options().read(true).write(true).open(log)?;
    let (mut block, mut at) = (vec![0; BLOCK_BYTES], 0);
    loop {
        let read = file.read_at(&mut block, at)?;
        if read == 0 {
            return Ok(file);
        }
        file.write_all_at(&block[..read], at)?;
        at += read as u64;
    }
}

/// Moves everything into the database, so that a copy of that one file is a copy. Nobody is waited for, and nothing is lost
/// when it fails: for whoever stops, with all of the log on the disk.
pub fn put_away(connection: &Connection) {
    if connection.is_readonly("main").unwrap_or(true) {
        return;
    }
    let moved = connection.busy_timeout(Duration::ZERO).and_then(|()| {
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
    });
    drop(moved); // the next start finds the log
}
