//! Opening a file: ours is brought up to date, anything else is refused and left as it was found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;

use rusqlite::Connection;
use store::{OpenError, Sqlite, Store};
use tempfile::TempDir;

use crate::commands::{ack, complete, lease, submit, webhook};
use crate::desk::Desk;
use crate::small_disk::SmallDisk;
use crate::stores::block_on;

struct Place {
    folder: TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deltaci.db");
    Place { folder, path }
}

/// A database of ours with some history, whole in one file.
fn ours() -> Place {
    let place = place();
    let original = place.folder.path().join("original.db");
    block_on(async {
        let desk = Desk::at(Sqlite::open(&original).unwrap()).open().await;
        desk.must(webhook("ops", &["job.finished"])).await;
        desk.must_all((1..=40).map(submit)).await;
        let leases: Vec<_> = (1..=20).map(lease).collect();
        desk.must_all(leases.clone()).await;
        desk.must_all(leases.iter().map(ack)).await;
        desk.must_all(leases.iter().map(complete)).await;
    });
    // A copy made by SQLite itself is complete without a log beside it, whether or not the store has closed by now.
    let raw = Connection::open(&original).unwrap();
    raw.execute("VACUUM INTO ?1", [place.path.to_str().unwrap()]).unwrap();
    place
}

/// As the file itself says.
fn page_bytes(file: &[u8]) -> usize {
    u16::from_be_bytes([file[16], file[17]]).into()
}

fn refused(result: Result<Sqlite, OpenError>) -> OpenError {
    result.map(drop).expect_err("it was opened")
}

/// Both ways to open refuse it, and the file is as it was.
fn refuse_unchanged(path: &Path, what: &str, why: fn(&OpenError) -> bool) {
    let before = fs::read(path).unwrap();
    for refused in [refused(Sqlite::open(path)), refused(Sqlite::open_existing(path))] {
        assert!(why(&refused), "{what}: {refused:?}");
    }
    assert!(fs::read(path).unwrap() == before, "{what} was changed");
}

fn is_damaged(error: &OpenError) -> bool {
    matches!(error, OpenError::Corrupt(_))
}

fn is_foreign(error: &OpenError) -> bool {
    matches!(error, OpenError::Foreign(_))
}

/// What SQLite calls the log of this file.
fn log_of(path: &Path) -> PathBuf {
    path.with_extension("db-wal")
}

#[test]
fn a_missing_file_is_made() {
    let place = place();
    let store = Sqlite::open(&place.path).unwrap();
    block_on(async move {
        assert_eq!(store.tenants().await, Ok(vec![]));
        assert_eq!(store.integrity().await, Ok(vec![]));
        Desk::at(store).open().await.must(submit(1)).await;
    });
    assert!(place.path.is_file());
}

#[test]
fn a_first_start_that_was_interrupted_is_repeated() {
    let empty = place();
    fs::write(&empty.path, b"").unwrap();
    Sqlite::open(&empty.path).unwrap();
    let history_only = place();
    let raw = Connection::open(&history_only.path).unwrap();
    raw.execute_batch(THEIR_HISTORY).unwrap(); // the library makes this table first
    Sqlite::open(&history_only.path).unwrap();
}

#[test]
fn a_folder_that_is_not_there_or_a_folder_instead_of_a_file_is_unreachable() {
    let place = place();
    let nowhere = place.folder.path().join("no/such/folder/deltaci.db");
    for path in [nowhere.as_path(), place.folder.path()] {
        assert!(matches!(Sqlite::open(path), Err(OpenError::Unreachable(_))), "{}", path.display());
        assert!(matches!(Sqlite::open_existing(path), Err(OpenError::Unreachable(_))), "{}", path.display());
    }
}

#[test]
fn a_folder_is_called_a_folder() {
    let place = place();
    for refused in
        [refused(Sqlite::open(place.folder.path())), refused(Sqlite::open_existing(place.folder.path()))]
    {
        assert!(refused.to_string().contains("is a folder, not a file"), "{refused}");
    }
}

/// It is what an interrupted first start leaves, and a copy that somebody made of a server's file without its log.
#[test]
fn who_looks_at_a_file_without_tables_is_told_what_it_may_be() {
    let (empty, copy) = (place(), place());
    fs::write(&empty.path, b"").unwrap();
    block_on(async {
        let at_work = place();
        let desk = Desk::at(Sqlite::open(&at_work.path).unwrap()).open().await;
        desk.must(submit(1)).await;
        fs::copy(&at_work.path, &copy.path).unwrap();
    });
    for place in [empty, copy] {
        let before = fs::read(&place.path).unwrap();
        let told = refused(Sqlite::open_existing(&place.path)).to_string();
        assert!(told.contains("start the server again") && told.contains("ends in -wal"), "{told}");
        assert!(fs::read(&place.path).unwrap() == before);
    }
}

/// What was committed may be there and nowhere else; SQLite would remove it.
#[test]
fn a_log_without_its_database_is_refused_and_left_alone() {
    let (at_work, missing, empty) = (place(), place(), place());
    block_on(async {
        let desk = Desk::at(Sqlite::open(&at_work.path).unwrap()).open().await;
        desk.must(submit(1)).await;
        for place in [&missing, &empty] {
            fs::copy(log_of(&at_work.path), log_of(&place.path)).unwrap();
        }
    });
    fs::write(&empty.path, b"").unwrap();
    for place in [&missing, &empty] {
        let log = fs::read(log_of(&place.path)).unwrap();
        for refused in [refused(Sqlite::open(&place.path)), refused(Sqlite::open_existing(&place.path))] {
            assert!(matches!(refused, OpenError::LogAlone { .. }), "{refused:?}");
        }
        assert!(fs::read(log_of(&place.path)).unwrap() == log, "the log was changed");
        assert!(fs::read(&place.path).unwrap_or_default().is_empty(), "a database was made");
    }
    fs::remove_file(log_of(&empty.path)).unwrap();
    Sqlite::open(&empty.path).unwrap();
}

#[test]
fn several_processes_may_open_a_new_file_at_once() {
    const ROUNDS: usize = 10;
    for _ in 0..ROUNDS {
        let (place, begin) = (place(), Barrier::new(4));
        let open = || {
            begin.wait();
            Sqlite::open(&place.path)
        };
        let stores: Vec<Sqlite> = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(open));
            threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
        });
        let raw = Connection::open(&place.path).unwrap();
        let count = "SELECT count(*), count(DISTINCT version) FROM refinery_schema_history";
        let (lines, versions): (i64, i64) =
            raw.query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(lines, versions);
        block_on(async move { assert_eq!(stores[0].integrity().await, Ok(vec![])) });
    }
}

/// Nothing is damaged, and a backup would not help.
#[test]
fn a_first_start_without_room_says_so_and_is_repeated_when_there_is() {
    let Some(disk) = SmallDisk::mount("size=128k") else { return };
    let file = disk.join("deltaci.db");
    let refused = refused(Sqlite::open(&file));
    assert!(matches!(&refused, OpenError::Unreachable(why) if why.contains("full")), "{refused:?}");
    assert!(mount(&["-o", "remount,size=8m"], &disk.join("")));
    block_on(async { drop(Desk::at(Sqlite::open(&file).unwrap()).open().await.must(submit(1)).await) });
}

fn mount(options: &[&str], on: &Path) -> bool {
    Command::new("mount").args(options).arg(on).status().is_ok_and(|status| status.success())
}

/// SQLite opens it for reading without a word, and then no write ever succeeds. Permission bits do not bind the user who may
/// mount, so the disk says no.
#[test]
fn a_write_protected_file_is_refused() {
    let Some(disk) = SmallDisk::mount("size=8m") else { return };
    let file = disk.join("deltaci.db");
    drop(Sqlite::open(&file).unwrap());
    assert!(mount(&["--bind", file.to_str().unwrap()], &file));
    assert!(mount(&["-o", "remount,bind,ro"], &file));
    let refused = refused(Sqlite::open(&file));
    assert!(matches!(refused, OpenError::WriteProtected(_)), "{refused:?}");
    Sqlite::open_existing(&file).unwrap();
}

#[test]
fn who_looks_at_a_file_in_a_folder_that_is_write_protected_is_told_what_to_do() {
    let Some(disk) = SmallDisk::mount("size=8m") else { return };
    let (place, file) = (ours(), disk.join("deltaci.db"));
    drop(Sqlite::open(&place.path).unwrap());
    fs::copy(&place.path, &file).unwrap();
    assert!(mount(&["-o", "remount,ro"], &disk.join("")));
    let told = refused(Sqlite::open_existing(&file)).to_string();
    assert!(told.contains("copy the database and its -wal"), "{told}");
}

#[test]
fn after_a_stop_in_order_a_copy_of_the_one_file_is_a_copy() {
    let (at_work, copy) = (place(), place());
    block_on(async {
        let desk = Desk::at(Sqlite::open(&at_work.path).unwrap()).open().await;
        desk.must_all((1..=40).map(submit)).await;
        let before = desk.contents().await;
        drop(desk);
        assert_eq!(fs::metadata(log_of(&at_work.path)).map_or(0, |log| log.len()), 0);
        fs::copy(&at_work.path, &copy.path).unwrap();
        assert_eq!(Desk::at(Sqlite::open_existing(&copy.path).unwrap()).contents().await, before);
    });
}

#[test]
fn looking_at_a_file_that_is_not_there_does_not_make_it() {
    let place = place();
    assert!(matches!(Sqlite::open_existing(&place.path), Err(OpenError::Unreachable(_))));
    assert!(!place.path.exists());
}

#[test]
fn opening_again_keeps_everything() {
    let place = ours();
    block_on(async {
        let before = Desk::at(Sqlite::open(&place.path).unwrap()).contents().await;
        assert_eq!(before.jobs.len(), 40);
        assert_eq!(before.problems(), [] as [&str; 0]);
        assert_eq!(Desk::at(Sqlite::open(&place.path).unwrap()).contents().await, before);
        let looking = Desk::at(Sqlite::open_existing(&place.path).unwrap());
        assert_eq!(looking.contents().await, before);
        let refused = looking.perform([submit(99)]).await;
        assert!(
            matches!(refused, Err(store::StoreError::Unavailable(_))),
            "a look writes nothing: {refused:?}"
        );
    });
}

#[test]
fn what_is_no_database_is_refused_and_left_alone() {
    let scrambled: Vec<u8> =
        (0..100_000u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let files: [(&str, &[u8]); 7] = [
        ("two bytes", b"hi"), // one byte is what SQLite itself may leave of an empty file
        ("a text", b"this is my diary, please do not overwrite it\n"),
        ("a page of zeros", &[0; 4096]),
        ("a few bytes", &scrambled[..99]),
        ("a page", &scrambled[..4096]),
        ("many pages", &scrambled),
        ("a magic word and nonsense", &[b"SQLite format 3\0".as_slice(), &scrambled[..8000]].concat()),
    ];
    for (what, bytes) in files {
        let place = place();
        fs::write(&place.path, bytes).unwrap();
        refuse_unchanged(&place.path, what, is_damaged);
    }
}

#[test]
fn a_database_that_was_cut_off_is_refused_and_left_alone() {
    let place = ours();
    let whole = fs::read(&place.path).unwrap();
    let page = page_bytes(&whole);
    let pages = whole.len() / page;
    assert!(pages > 20, "{pages} pages");
    let mut lengths: Vec<usize> = (1..pages).step_by(3).map(|at| at * page).collect();
    lengths.extend([2, 17, 99, 100, 512, 4095, 4097, whole.len() / 2 + 7]);
    for length in lengths {
        fs::write(&place.path, &whole[..length]).unwrap();
        refuse_unchanged(&place.path, &format!("{length} of {} bytes", whole.len()), is_damaged);
    }
    fs::write(&place.path, &whole).unwrap();
    Sqlite::open(&place.path).unwrap();
}

#[test]
fn a_database_with_a_damaged_page_is_refused_and_left_alone() {
    let place = ours();
    let whole = fs::read(&place.path).unwrap();
    let page = page_bytes(&whole);
    for at in 0..whole.len() / page {
        for filling in [0x00, 0xa5] {
            let mut damaged = whole.clone();
            damaged[at * page..][..page].fill(filling);
            fs::write(&place.path, &damaged).unwrap();
            refuse_unchanged(&place.path, &format!("page {at} full of {filling:#x}"), is_damaged);
        }
    }
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let place = ours();
    let raw = Connection::open(&place.path).unwrap();
    let newer = "INSERT INTO refinery_schema_history (version, name, applied_on, checksum) \
                 VALUES (99, 'future', '2030-01-01T00:00:00Z', '1')";
    raw.execute_batch(newer).unwrap();
    drop(raw);
    let before = fs::read(&place.path).unwrap();
    for result in [Sqlite::open(&place.path), Sqlite::open_existing(&place.path)] {
        let Err(OpenError::Newer { found, known }) = result else {
            panic!("it was opened, or refused otherwise")
        };
        assert_eq!(found, 99);
        assert!((1..99).contains(&known));
    }
    assert!(fs::read(&place.path).unwrap() == before, "it was changed");
}

/// A database of somebody else's, as most programs make them: without a write-ahead log.
fn theirs(sql: &str) -> Place {
    let place = place();
    let raw = Connection::open(&place.path).unwrap();
    raw.execute_batch(sql).unwrap();
    place
}

const THEIR_TABLES: &str = "CREATE TABLE recipes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
    INSERT INTO recipes (text) VALUES ('Grandmother''s cake');";

#[test]
fn a_database_of_somebody_else_is_refused_and_left_alone() {
    let place = theirs(THEIR_TABLES);
    refuse_unchanged(&place.path, "their database", is_foreign);
    let names: Vec<_> =
        fs::read_dir(place.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["deltaci.db"], "nothing was put beside it");
}

const THEIR_HISTORY: &str = "CREATE TABLE refinery_schema_history
    (version INT4 PRIMARY KEY, name VARCHAR(255), applied_on VARCHAR(255), checksum VARCHAR(255));";

/// Others use the same library for their migrations; and some lines it cannot even read.
#[test]
fn a_database_of_somebody_else_with_the_same_kind_of_history_is_refused_and_left_alone() {
    let lines = [
        "(1, 'recipes', '2024-01-01T00:00:00Z', '123')",
        "(1, 'kernel', '2024-01-01T00:00:00Z', '123')",
        "(1, 'kernel', 'last summer', '123')",
        "(1, 'kernel', '2024-01-01T00:00:00Z', 'no number')",
        "(1, NULL, NULL, NULL)",
        "('one', 'kernel', '2024-01-01T00:00:00Z', '123')",
    ];
    for line in lines {
        let sql = format!("{THEIR_TABLES}{THEIR_HISTORY} INSERT INTO refinery_schema_history VALUES {line}");
        refuse_unchanged(&theirs(&sql).path, line, is_foreign);
    }
    let other_columns = format!("{THEIR_TABLES} CREATE TABLE refinery_schema_history (version, note)");
    refuse_unchanged(&theirs(&other_columns).path, "other columns", is_foreign);
}

#[test]
fn a_database_of_somebody_else_with_a_history_but_no_migrations_is_refused_and_left_alone() {
    let place = theirs(&format!("{THEIR_TABLES}{THEIR_HISTORY}"));
    refuse_unchanged(&place.path, "their database with an empty history", is_foreign);
}

#[test]
fn the_file_is_in_wal_mode() {
    let place = place();
    let _store = Sqlite::open(&place.path).unwrap();
    let raw = Connection::open(&place.path).unwrap();
    let mode: String = raw.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}
