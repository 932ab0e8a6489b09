//! What jobs stand on, and what a run leaves of it; who may work beside it.

use std::collections::BTreeSet;
use std::fs;

use super::folder::{Folder, command, folder_with, job};
use crate::e2e::patience::until_so;
use crate::stderr;

/// Waits until the test lets it go on.
const WAITS: &str = "touch \"$BESIDE/begun\"; while [ ! -e \"$BESIDE/go\" ]; do sleep 0.02; done";

fn go(folder: &Folder) {
    fs::write(folder.beside("go"), "").expect("a file can be written");
}

#[test]
fn each_job_has_a_copy_of_its_own() {
    let folder = folder_with(&[
        job("one", &[], &["test \"$(cat input)\" = before", "echo changed > input", "touch made"]),
        job("two", &["one"], &["test \"$(cat input)\" = before", "test ! -e made", "test ! -e .deltaci"]),
    ]);
    folder.write("input", "before");
    folder.run_to(0, &[]);
    assert_eq!(fs::read_to_string(folder.path().join("input")).unwrap(), "before");
    assert!(!folder.path().join("made").exists());
    assert_eq!(folder.snapshots(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn jobs_see_the_files_as_they_were_when_the_run_began() {
    let folder = folder_with(&[job("one", &[], &[WAITS]), job("two", &["one"], &["grep before input"])]);
    folder.write("input", "before");
    let mut program = folder.start(&[]);
    folder.until("begun");
    folder.write("input", "after");
    go(&folder);
    assert!(program.ended().success(), "{}", program.log());
}

#[test]
fn in_place_jobs_work_on_the_folder_itself_and_nothing_of_it_is_removed() {
    let folder = folder_with(&[
        job("one", &[], &["test \"$(cat input)\" = kept", "touch made", "test \"$HOME\" != \"$PWD\""]),
        job("two", &["one"], &["test -e made"]),
    ]);
    folder.write("input", "kept");
    folder.run_to(0, &["--in-place"]);
    assert_eq!(fs::read_to_string(folder.path().join("input")).unwrap(), "kept");
    let names =
        |path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: BTreeSet<String> = names(folder.path()).collect();
    assert_eq!(names, BTreeSet::from([".deltaci", "delta-ci.yaml", "input", "made"].map(String::from)));
}

#[test]
fn a_job_does_not_find_the_project_above_its_copy() {
    let folder = folder_with(&[job(
        "one",
        &[],
        &["! git rev-parse 2>/dev/null", "case $PWD in *project*) exit 1; esac"],
    )]);
    let git = std::process::Command::new("git").args(["init", "--quiet"]).current_dir(folder.path()).status();
    assert!(git.is_ok_and(|status| status.success()));
    folder.run_to(0, &[]);
}

#[test]
fn nothing_of_it_is_of_interest_to_git() {
    let folder = folder_with(&[job("one", &[], &["true"])]);
    folder.run_to(0, &[]);
    assert_eq!(fs::read_to_string(folder.path().join(".deltaci/.gitignore")).unwrap(), "*\n");
}

#[test]
fn no_port_is_opened() {
    let folder = folder_with(&[job("one", &[], &[WAITS])]);
    let mut program = folder.start(&[]);
    folder.until("begun");
    let sockets = sockets_of(program.id());
    let listening: Vec<String> =
        ["tcp", "tcp6", "udp", "udp6"].iter().flat_map(|table| inodes(table)).collect();
    assert!(listening.iter().all(|inode| !sockets.contains(inode)), "{sockets:?}");
    go(&folder);
    assert!(program.ended().success(), "{}", program.log());
}

/// By their inodes.
fn sockets_of(process: u32) -> BTreeSet<String> {
    let opened = fs::read_dir(format!("/proc/{process}/fd")).expect("it is ours").flatten();
    let links = opened.filter_map(|entry| fs::read_link(entry.path()).ok());
    let inode = |link: &str| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned());
    links.filter_map(|link| inode(link.to_str()?)).collect()
}

fn inodes(table: &str) -> Vec<String> {
    const FIELD: usize = 9;
    let text = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
    text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(FIELD)).map(String::from).collect()
}

#[test]
fn a_second_run_is_told_who_is_at_work() {
    let folder = folder_with(&[job("one", &[], &[WAITS])]);
    let mut program = folder.start(&[]);
    folder.until("begun");
    let second = folder.run(&[]);
    assert_eq!(second.status.code(), Some(5));
    let who = format!("process {} (`deltaci run`) is at work on", program.id());
    assert!(stderr(&second).contains(&who), "{}", stderr(&second));
    let data = folder.path().join(".deltaci");
    let server =
        command(&folder.path()).args(["server", "--listen", "127.0.0.1:0", "--data"]).arg(data).output();
    let server = server.expect("the binary starts");
    assert_eq!(server.status.code(), Some(5));
    assert!(stderr(&server).contains(&who), "{}", stderr(&server));
    go(&folder);
    assert!(program.ended().success(), "{}", program.log());
    until_so("the next is let in", || folder.run(&[]).status.success());
}
