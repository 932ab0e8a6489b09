//! `kill -9` while a database is made, and while it is written: it opens again, and what was acknowledged is there.
//!
//! The killed process is this test binary again, told by an environment variable which part it plays.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use store::{Sqlite, Store};

use crate::commands::{job_id, submit};
use crate::desk::Desk;
use crate::stores::block_on;

const PART: &str = "DELTACI_TEST_SQLITE_PART";
const FILE: &str = "DELTACI_TEST_SQLITE_FILE";

/// Plays a part in another process, or nothing when this is the test run itself.
#[test]
fn child() {
    let (Ok(part), Ok(file)) = (std::env::var(PART), std::env::var(FILE)) else { return };
    let store = Sqlite::open(Path::new(&file)).unwrap();
    match part.as_str() {
        "open" => {}
        "write" => block_on(write_for_ever(Desk::at(store))),
        "fill" => block_on(crate::sqlite::full_disk::fill(Desk::at(store))),
        other => panic!("nobody plays {other}"),
    }
}

/// Says each number once its job is durable, until somebody kills it.
async fn write_for_ever(desk: Desk<Sqlite>) {
    let desk = desk.open().await;
    let last = desk.contents().await.jobs.last().map_or(0, |file| file.job.id.as_u128());
    for number in last + 1.. {
        desk.must(submit(number)).await;
        eprintln!("durable {number}");
    }
}

pub fn play(part: &str, file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["sqlite::kills::child", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(PART, part).env(FILE, file).stdout(Stdio::null());
    command
}

fn kill(mut child: Child) {
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
}

/// How much of the database and its helper files is there: what a kill can be aimed at.
fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.metadata().map_or(0, |metadata| metadata.len() + 1)).sum()
}

/// Each time the kill falls as soon as a little more of the database exists than the time before.
#[test]
fn a_kill_while_the_schema_is_made_leaves_a_file_that_opens() {
    const KILLS: u64 = 20;
    let whole = {
        let folder = tempfile::tempdir().unwrap();
        let _store = Sqlite::open(&folder.path().join("deltaci.db")).unwrap();
        bytes_below(folder.path())
    };
    let mut killed_early = 0;
    for kill_number in 0..KILLS {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deltaci.db");
        let mut child = play("open", &file).stderr(Stdio::null()).spawn().unwrap();
        while bytes_below(folder.path()) <= whole * kill_number / KILLS && child.try_wait().unwrap().is_none()
        {
            std::thread::yield_now();
        }
        killed_early += u32::from(child.try_wait().unwrap().is_none());
        kill(child);
        block_on(async {
            let store =
                Sqlite::open(&file).unwrap_or_else(|error| panic!("after kill {kill_number}: {error}"));
            let desk = Desk::at(store).open().await;
            desk.must(submit(1)).await;
            assert_eq!(desk.store.integrity().await, Ok(vec![]));
            assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
        });
    }
    assert!(killed_early > 0, "every child was done before its kill");
}

#[test]
fn a_kill_while_writing_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deltaci.db");
    let mut acknowledged = 0;
    for more in [1, 7, 30, 2, 60] {
        let mut child = play("write", &file).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let numbers =
            lines.filter_map(|line| line.strip_prefix("durable ").map(|it| it.parse::<u128>().unwrap()));
        acknowledged = numbers.take(more).last().unwrap();
        kill(child);
        block_on(async {
            let desk = Desk::at(Sqlite::open(&file).unwrap());
            let contents = desk.contents().await;
            assert!(contents.jobs.len() as u128 >= acknowledged);
            assert!(contents.jobs.iter().any(|file| file.job.id == job_id(acknowledged)));
            assert_eq!(contents.problems(), [] as [&str; 0]);
            assert_eq!(desk.store.integrity().await, Ok(vec![]));
        });
    }
    assert!(acknowledged >= 100);
}
