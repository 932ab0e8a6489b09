//! A disk without room: nothing more is acknowledged, nothing acknowledged is lost, and it goes on when there is room.

use std::fs;
use std::path::Path;
use std::process::Command;

use store::{Sqlite, Store};

use crate::commands::submit;
use crate::desk::Desk;
use crate::small_disk::{SmallDisk, fill_up, goes_on, is_unavailable, stays_full};
use crate::sqlite::kills::play;
use crate::stores::block_on;

/// Without the right to mount, the test below stands in for this one.
#[test]
fn a_full_disk_stops_the_work_until_there_is_room() {
    let Some(disk) = SmallDisk::mount("size=4m") else { return };
    let (file, ballast) = (disk.join("deltaci.db"), disk.join("ballast"));
    fs::write(&ballast, vec![0; 1_500_000]).unwrap();
    block_on(async {
        let desk = Desk::at(Sqlite::open(&file).unwrap()).open().await;
        let (last, full) = fill_up(&desk, 1).await;
        assert!(is_unavailable(&full), "{full:?}");
        let large = fill_up(&desk, 2_000_000 + 1).await;
        assert!(is_unavailable(&large.1), "{large:?}");
        let full_up = stays_full(&desk, last).await;

        let looking = Desk::at(Sqlite::open(&file).unwrap());
        assert_eq!(looking.contents().await, full_up, "nothing acknowledged is lost");

        fs::remove_file(&ballast).unwrap();
        goes_on(&desk).await;
    });
}

/// A limit on the size of files, which anybody may set for a child, in place of a small disk.
#[test]
fn a_file_that_may_not_grow_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deltaci.db");
    drop(Sqlite::open(&file).unwrap());
    let said = run_limited(&file);
    let acknowledged = said.lines().filter(|line| line.starts_with("durable ")).count();
    assert!(acknowledged > 10, "{said}");
    assert!(said.contains("refused"), "{said}");
    block_on(async {
        let desk = Desk::at(Sqlite::open(&file).unwrap());
        let contents = desk.contents().await;
        assert!(contents.jobs.len() >= acknowledged);
        assert_eq!(contents.problems(), [] as [&str; 0]);
        assert_eq!(desk.store.integrity().await, Ok(vec![]));
        desk.open().await.must(submit(9_000_000)).await; // without the limit it goes on
    });
}

fn run_limited(file: &Path) -> String {
    let limited = play("fill", file);
    let mut shell = Command::new("sh");
    // The signal that comes with the limit would end the child; ignored, the write itself fails.
    shell.args(["-c", "trap '' XFSZ; ulimit -f 4096; exec \"$0\" \"$@\""]);
    shell.arg(limited.get_program()).args(limited.get_args());
    for (name, value) in limited.get_envs() {
        shell.env(name, value.unwrap());
    }
    let output = shell.output().unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The part of a child that writes until it is refused, and a little longer.
pub async fn fill(desk: Desk<Sqlite>) {
    let desk = desk.open().await;
    for number in 1..10_000 {
        let mut large = submit(number);
        large.payload = crate::commands::raw(&format!("\"{}\"", "x".repeat(20_000)));
        match desk.perform([large]).await {
            Ok(_) => eprintln!("durable {number}"),
            Err(error) => {
                eprintln!("refused {error:?}");
                break;
            }
        }
    }
}
