//! Folders come, are locked, and go.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use runner::workspace::Folder;

#[test]
fn a_place_is_removed_with_whatever_a_job_left_in_it() {
    let work = tempfile::tempdir().expect("a folder");
    let outside = work.path().join("outside");
    fs::write(&outside, "mine").expect("a file");
    let folder = Folder::claim(work.path(), "one").expect("claimed");
    let place = folder.place().expect("a place");
    let deep = place.workspace().join("a/b");
    fs::create_dir_all(&deep).expect("folders");
    fs::write(deep.join("file"), "x").expect("a file");
    symlink(&outside, deep.join("link")).expect("a link");
    fs::set_permissions(deep.join("file"), Permissions::from_mode(0o400)).expect("a mode");
    fs::set_permissions(&deep, Permissions::from_mode(0o500)).expect("a mode");
    fs::set_permissions(place.workspace().join("a"), Permissions::from_mode(0o000)).expect("a mode");
    let workspace = place.workspace();
    place.remove().expect("removed");
    assert!(!workspace.exists() && outside.exists());
    assert_ne!(folder.place().expect("another place").workspace(), workspace);
}

#[test]
fn a_place_that_is_handed_on_keeps_its_workspace_and_nothing_else() {
    let work = tempfile::tempdir().expect("a folder");
    let folder = Folder::claim(work.path(), "one").expect("claimed");
    let place = folder.used_place().expect("a fresh one");
    fs::write(place.workspace().join("file"), "x").expect("a file");
    fs::write(place.log(), "a log").expect("a file");
    fs::create_dir_all(place.scratch().join("home")).expect("folders");
    let workspace = place.workspace();
    folder.hand_on(place).expect("handed on");
    assert_ne!(folder.place().expect("a fresh one").workspace(), workspace);
    let used = folder.used_place().expect("a used one");
    assert_eq!(used.workspace(), workspace);
    assert!(workspace.join("file").exists() && !used.log().exists() && !used.scratch().exists());
    assert_ne!(folder.used_place().expect("a fresh one").workspace(), workspace);
}

#[test]
fn what_a_dead_runner_left_is_removed_and_nothing_else() {
    let work = tempfile::tempdir().expect("a folder");
    fs::create_dir(work.path().join("not-ours")).expect("a folder");
    let alive = Folder::claim(work.path(), "alive").expect("claimed");
    let dead = Folder::claim(work.path(), "dead").expect("claimed");
    dead.place().expect("a place");
    drop(dead); // as a kill does: the lock goes, the folder stays
    assert!(work.path().join("dead/0").exists());
    let next = Folder::claim(work.path(), "next").expect("claimed");
    assert!(!work.path().join("dead").exists());
    assert!(work.path().join("alive").exists() && work.path().join("not-ours").exists());
    next.leave();
    assert!(!work.path().join("next").exists());
    alive.leave();
}

#[test]
fn two_runners_of_one_name_do_not_share_a_folder() {
    let work = tempfile::tempdir().expect("a folder");
    let _first = Folder::claim(work.path(), "one").expect("claimed");
    let second = Folder::claim(work.path(), "one").expect_err("it is in use");
    assert!(second.to_string().contains("--name"), "{second}");
}

#[test]
fn what_a_killed_runner_had_just_begun_to_start_delays_the_next() {
    let work = tempfile::tempdir().expect("a folder");
    drop(Folder::claim(work.path(), "one").expect("claimed")); // as a kill does
    let lock = fs::File::open(work.path().join("one/lock")).expect("the lock");
    lock.lock().expect("as a child does that is not a program of its own yet");
    let child = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(lock);
    });
    Folder::claim(work.path(), "one").expect("claimed");
    child.join().expect("no panic");
}

#[test]
fn a_runner_that_is_killed_while_its_folder_comes_or_goes_bars_nobody() {
    let work = tempfile::tempdir().expect("a folder");
    let (coming, going) = (work.path().join(".new-one"), work.path().join(".gone-7-one"));
    fs::create_dir(&coming).expect("a folder");
    fs::create_dir_all(going.join("0/workspace")).expect("folders");
    let folder = Folder::claim(work.path(), "one").expect("claimed");
    assert!(!coming.exists() && !going.exists());
    assert!(work.path().join("one/lock").exists());
    folder.leave();
    let left: Vec<_> =
        fs::read_dir(work.path()).expect("a folder").flatten().map(|it| it.file_name()).collect();
    assert_eq!(left, [".door"]);
}

#[test]
fn a_folder_that_is_not_a_runners_is_left_alone() {
    let work = tempfile::tempdir().expect("a folder");
    fs::create_dir(work.path().join("one")).expect("a folder");
    fs::write(work.path().join("one/thesis"), "x").expect("a file");
    let refused = Folder::claim(work.path(), "one").expect_err("it is somebody's");
    assert!(refused.to_string().contains("not a runner's"), "{refused}");
    assert!(work.path().join("one/thesis").exists());
}
