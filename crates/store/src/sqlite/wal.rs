//! SQLite's write-ahead log as a file of ours: where it lies, how it comes to the disk, when it is put away.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

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

/// When this connection is closed and nobody else has the file open, SQLite moves everything into the database and removes the
/// log, so that a copy of that one file is a copy. Only for who knows that all of the log is on the disk: after a failed sync
/// the database would be ahead of it.
pub fn put_away_on_close(connection: &Connection, is_allowed: bool) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !is_allowed).map(drop)
}
