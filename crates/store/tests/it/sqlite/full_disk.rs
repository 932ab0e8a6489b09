//! A disk without room: nothing more is acknowledged, nothing acknowledged is lost, and it goes on when there is room.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use store::{Sqlite, Store, StoreError};
use tempfile::TempDir;

use crate::commands::submit;
use crate::desk::Desk;
use crate::sqlite::kills::play;
use crate::stores::block_on;

/// A small disk of its own; only a privileged user may have one.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(folder.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(SmallDisk(folder))
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A connection that is still closing keeps it busy; it then goes when that one does.
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

/// Submits until the store refuses; returns the last number that was acknowledged.
async fn fill_up(desk: &Desk<Sqlite>, from: u128) -> (u128, StoreError) {
    const MORE_THAN_FITS: u128 = 10_000;
    for number in from..from + MORE_THAN_FITS {
        let mut large = submit(number);
        large.payload = crate::commands::raw(&format!("\"{}\"", "x".repeat(10_000)));
        if let Err(error) = desk.perform([large]).await {
            return (number - 1, error);
        }
    }
    panic!("the disk never filled up");
}

fn is_unavailable(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_))
}

/// Without the right to mount, the test below stands in for this one.
#[test]
fn a_full_disk_stops_the_work_until_there_is_room() {
    let Some(disk) = SmallDisk::mount("4m") else { return };
    let (file, ballast) = (disk.join("deltaci.db"), disk.join("ballast"));
    fs::write(&ballast, vec![0; 1_500_000]).unwrap();
    block_on(async {
        let desk = Desk::at(Sqlite::open(&file).unwrap()).open().await;
        let (last, full) = fill_up(&desk, 1).await;
        assert!(is_unavailable(&full), "{full:?}");
        for number in 1..=20 {
            let again = desk.perform([submit(1_000_000 + number)]).await;
            assert!(again.is_ok() || is_unavailable(&again.unwrap_err()), "it stays at that");
        }
        let large = fill_up(&desk, 2_000_000 + 1).await;
        assert!(is_unavailable(&large.1), "{large:?}");
        let full_up = desk.contents().await; // reading still works
        assert!(full_up.jobs.len() as u128 >= last && full_up.problems().is_empty());

        let looking = Desk::at(Sqlite::open(&file).unwrap());
        assert_eq!(looking.contents().await, full_up, "nothing acknowledged is lost");

        fs::remove_file(&ballast).unwrap();
        let (further, _) = fill_up(&desk, 3_000_000).await;
        assert!(further > 3_000_000 + 10, "with room it goes on");
        assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
        assert_eq!(desk.store.integrity().await, Ok(vec![]));
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
