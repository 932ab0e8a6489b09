//! Opening a database file: refuse what is not ours, is damaged or is newer than we are, before anything is touched.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use crate::OpenError;
use crate::sqlite::wal::{self, log_of};

mod embedded {
    refinery::embed_migrations!("migrations/sqlite");
}

/// Below this size the whole file is checked on opening; above it, what is damaged shows when it is read.
const CHECKED_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How long a writer waits for another process's transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

const LOOKS_AT_THE_LOCK_MAX: u32 = 500;

/// Of several that open a new file at once, one makes it; the others come after that. SQLite knows no such order: who finds the
/// file half made is told that it is busy, or that the tables are there. For as long as what this returns is held.
///
/// The folder is locked, not the file: letting go of that would let go of SQLite's locks too. Whoever cannot have it in time
/// goes on without.
pub fn wait_for_others(path: &Path) -> Option<File> {
    let folder = File::open(folder_of(&followed(path))).ok()?;
    for _ in 0..LOOKS_AT_THE_LOCK_MAX {
        match folder.try_lock() {
            Ok(()) => return Some(folder),
            Err(TryLockError::WouldBlock) => thread::sleep(BUSY_TIMEOUT / LOOKS_AT_THE_LOCK_MAX),
            Err(TryLockError::Error(_)) => return None,
        }
    }
    None
}

/// Looks at an existing file without changing it, except that what was interrupted before it was committed is undone.
pub fn check(path: &Path) -> Result<(), OpenError> {
    let path = &followed(path);
    if length_of(path)? == 0 {
        is_without_log(path)?;
    }
    if journal_of(path).exists() {
        undo_interrupted(path).map_err(unreadable)?;
    }
    let length = length_of(path)?;
    if length == 0 {
        return Ok(()); // made, but never written: a first start was interrupted
    }
    let connection = connect_read_only(path).map_err(unreadable)?;
    let version = check_version(&connection);
    if matches!(version, Err(OpenError::Newer { .. })) {
        return version;
    }
    let pages = if length <= CHECKED_BYTES_MAX { check_pages(&connection) } else { Ok(()) };
    // A damaged page may be what makes it look like somebody else's.
    if matches!(pages, Err(OpenError::Corrupt(_))) { pages } else { version.and(pages) }
}

/// Of a file that is not there: nothing.
fn length_of(path: &Path) -> Result<u64, OpenError> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(OpenError::Unreachable(format!("{} is a folder, not a file", path.display())))
        }
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(OpenError::Unreachable(error.to_string())),
    }
}

/// Beside a file without a byte SQLite removes the log, and with it everything that was committed since it was put away last.
/// A first start of ours brings the file to the disk before the log's first byte.
fn is_without_log(path: &Path) -> Result<(), OpenError> {
    let log = log_of(path);
    if length_of(&log)? == 0 {
        return Ok(());
    }
    Err(OpenError::LogAlone { log: log.display().to_string(), database: path.display().to_string() })
}

fn check_pages(connection: &Connection) -> Result<(), OpenError> {
    let verdict: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(unreadable)?;
    if verdict == "ok" { Ok(()) } else { Err(OpenError::Corrupt(verdict)) }
}

/// The file itself, if the path leads to a link: SQLite keeps what belongs to a file beside the file.
pub fn followed(path: &Path) -> PathBuf {
    let of_a_link_to_nothing = || {
        let target = std::fs::read_link(path).ok()?;
        Some(path.parent()?.join(target))
    };
    path.canonicalize().ok().or_else(of_a_link_to_nothing).unwrap_or_else(|| path.into())
}

/// Where SQLite notes how to undo a change of a file that has no write-ahead log: only while it gets one, at the first start.
fn journal_of(path: &Path) -> PathBuf {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    journal.into()
}

/// A first start that ended in the middle of its first write. Whoever may only read could not even look at the file.
fn undo_interrupted(path: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match Connection::open_with_flags(path, flags) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => return Ok(()), // a journal without a file
        connection => connection?,
    };
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0)).map(drop)
}

fn check_version(connection: &Connection) -> Result<(), OpenError> {
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0))
        .map_err(unreadable)?;
    if tables == 0 {
        return Ok(()); // the first migration was interrupted
    }
    let found: Option<i64> = connection
        .query_row("SELECT max(version) FROM refinery_schema_history", [], |row| row.get(0))
        .optional()
        .map_err(|error| foreign(error, "it has tables, but none that say which version"))?
        .flatten();
    let known = known_version();
    match found {
        Some(found) if found > known => Err(OpenError::Newer { found, known }),
        Some(_) => check_history(connection),
        None if tables == 1 => Ok(()),
        None => Err(OpenError::Foreign("its migration history is empty".into())),
    }
}

/// Every line is one of our migrations, unchanged: others use the same library for theirs. It would notice too, but only
/// after the file was opened for writing, and it panics over a line that it cannot read.
fn check_history(connection: &Connection) -> Result<(), OpenError> {
    let foreign = |error| foreign(error, "its migration history is not one of ours");
    let sql = "SELECT version, name, applied_on, checksum FROM refinery_schema_history";
    let mut statement = connection.prepare(sql).map_err(foreign)?;
    let mut lines = statement.query([]).map_err(foreign)?;
    while let Some(line) = lines.next().map_err(foreign)? {
        let (version, name): (i32, String) = (line.get(0).map_err(foreign)?, line.get(1).map_err(foreign)?);
        let (applied_on, checksum): (String, String) =
            (line.get(2).map_err(foreign)?, line.get(3).map_err(foreign)?);
        let is_same = |migration: &refinery::Migration| {
            (migration.version(), migration.name()) == (version, &name)
                && migration.checksum().to_string() == checksum
        };
        let is_time = applied_on.parse::<jiff::Timestamp>().is_ok();
        if !is_time || !embedded::migrations::runner().get_migrations().iter().any(is_same) {
            return Err(OpenError::Foreign(format!(
                "version {version} of its schema is not the one we know"
            )));
        }
    }
    Ok(())
}

fn known_version() -> i64 {
    let versions =
        embedded::migrations::runner().get_migrations().iter().map(|migration| migration.version()).max();
    i64::from(versions.unwrap_or(0))
}

/// For the one writer.
pub fn connect_and_migrate(path: &Path) -> Result<Connection, OpenError> {
    let mut connection = Connection::open(path).map_err(unreadable)?;
    // SQLite opens such a file all the same, and says so with the first write.
    if connection.is_readonly("main").map_err(unreadable)? {
        return Err(OpenError::WriteProtected(path.display().to_string()));
    }
    configure(&connection).map_err(unreadable)?;
    let path = &followed(path);
    let of_the_disk = |error: std::io::Error| OpenError::Unreachable(error.to_string());
    wal::write_anew(&connection, &log_of(path)).map_err(unreadable)?.map_err(of_the_disk)?;
    // The names of the file and of its log, before there is anything in the log. SQLite asks for it too, but passes over a
    // failure.
    File::open(folder_of(path)).and_then(|folder| folder.sync_all()).map_err(of_the_disk)?;
    migrate(&mut connection)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(unreadable)?;
    leave_syncs_to_us(&mut connection).map_err(unreadable)?;
    Ok(connection)
}

/// All migrations and their lines in the history are one transaction, so a kill in the middle leaves the version before.
/// Ungrouped, refinery writes a migration and its line in two.
fn migrate(connection: &mut Connection) -> Result<(), OpenError> {
    let migrated = embedded::migrations::runner().set_grouped(true).run(connection);
    migrated.map(drop).map_err(|error| not_migrated(&error))
}

fn not_migrated(error: &refinery::Error) -> OpenError {
    let told = format!("its schema cannot be brought up to date: {}", chain(error));
    match std::error::Error::source(error).and_then(|source| source.downcast_ref()) {
        Some(cause) if is_of_the_world(cause) => OpenError::Unreachable(told),
        Some(_) | None => OpenError::Corrupt(told),
    }
}

/// It is not the database that is wrong.
fn is_of_the_world(error: &rusqlite::Error) -> bool {
    use ErrorCode::*;
    let code = error.sqlite_error_code();
    code.is_some_and(|code| !matches!(code, Unknown | NotADatabase | DatabaseCorrupt | ConstraintViolation))
}

/// Of refinery's errors, the reason is in the source.
fn chain(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |told, source| format!("{told}: {source}"))
}

/// Twice SQLite's default: rows of ours are long, and a commit touches fewer pages.
const PAGE_BYTES: i32 = 8_192;

/// The log is written over from its start when it is so long: soon, because that costs the disk less than growing.
const LOG_PAGES_MAX: i32 = 1_000;

/// From here on the syncer brings each commit to the disk. SQLite still syncs around the log's way into the file, but would
/// pass over a failure there and try again, when the system has forgotten what it could not write: that stops the writer.
fn leave_syncs_to_us(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.wal_hook(Some(|log: &mut Wal, pages| {
        let moved = if pages < LOG_PAGES_MAX { Ok(()) } else { log.checkpoint() };
        match moved.as_ref().err().and_then(rusqlite::Error::sqlite_error_code) {
            // Everything is in the log, and the next commit tries again.
            Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Ok(()),
            Some(_) | None => moved,
        }
    }))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// For a store that is only read; no schema is made.
pub fn connect_existing(path: &Path) -> Result<Connection, OpenError> {
    let connection = connect_read_only(path).map_err(unreadable)?;
    let ours: bool = connection
        .query_row("SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'event_groups'", [], |row| row.get(0))
        .map_err(unreadable)?;
    if ours { Ok(connection) } else { Err(OpenError::Unfinished(path.display().to_string())) }
}

pub fn connect_read_only(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    keep_plans(&connection)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// For the few words that are written beside the one writer.
pub fn connect_beside(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    configure(&connection)?;
    Ok(connection)
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    keep_plans(connection)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?; // of a file that is not made yet
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        return Err(without_log(&mode)); // SQLite keeps the old mode when it cannot change it, and says no more than that
    }
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "cache_size", -8_192)?; // KiB; SQLite walks all of it after a commit that split a page
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES_MAX)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    wal::put_away_on_close(connection, false)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

/// A statement's plan does not depend on what is bound to it. Otherwise SQLite prepares a statement anew whenever it might
/// gain from the value of a parameter.
fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// A commit without the log may be undone by a power cut: the removal of the journal is not synced.
fn without_log(mode: &str) -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR);
    rusqlite::Error::SqliteFailure(
        code,
        Some(format!("it gets no write-ahead log, its journal mode is {mode}")),
    )
}

fn unreadable(error: rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => OpenError::Corrupt(error.to_string()),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly) => OpenError::Unreachable(format!(
            "{error}; SQLite keeps files that end in -wal and -shm beside it, so the folder must be there and may be written \
             to: copy the database and its -wal to such a folder to look at them"
        )),
        Some(_) | None => OpenError::Unreachable(error.to_string()),
    }
}

/// An error that says whose the file is, if it is not about the file or the disk.
fn foreign(error: rusqlite::Error, what: &str) -> OpenError {
    match error.sqlite_error_code() {
        Some(ErrorCode::Unknown) | None => OpenError::Foreign(what.into()),
        Some(_) => unreadable(error),
    }
}
