//! `kill -9` of the process that does everything: no process is left, the next start says what was interrupted, and a run
//! can go on from what was durable.

use std::fs;

use super::folder::{Folder, folder_with, job};
use crate::e2e::marks::{marked, until_gone};
use crate::e2e::program::Program;
use crate::stderr;

/// A whole family that nobody asks to end.
const FAMILY: &str =
    "trap '' TERM; (setsid sleep 600) & sleep 600 & touch \"$BESIDE/begun\"; wait; sleep 600";

fn killed(folder: &Folder, more: &[&str]) -> Program {
    let mut program = folder.start(more);
    folder.until("begun");
    assert!(!marked(&folder.mark()).is_empty(), "the job is at work");
    program.kill();
    until_gone(&folder.mark());
    program
}

#[test]
fn after_a_kill_no_process_of_a_job_is_left_and_the_next_start_says_what_was_interrupted() {
    let folder = folder_with(&[job("family", &[], &[FAMILY])]);
    let first = killed(&folder, &[]);
    assert_eq!(folder.snapshots().len(), 1, "the files of a run are kept until it is over");
    folder.write("delta-ci.yaml", "version: 1\njobs: { other: { run: 'true' } }\n");
    let next = folder.run(&[]);
    assert_eq!(next.status.code(), Some(0), "{}", stderr(&next));
    let said = stderr(&next);
    assert!(said.contains("was interrupted") && said.contains("family"), "{said}");
    let runs: serde_json::Value = serde_json::from_str(&folder.said(&["runs", "--json"])).expect("JSON");
    let interrupted = &runs["items"][1];
    assert_eq!(interrupted["outcome"], "CANCELED");
    assert_eq!(interrupted["status_message"], "interrupted: the process that ran it is gone");
    assert!(first.log().contains(interrupted["id"].as_str().expect("an id")));
    assert_eq!(folder.snapshots(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn a_run_that_was_killed_goes_on_with_the_files_it_began_with() {
    let second = "touch $BESIDE/begun; test -e $BESIDE/again || sleep 600; grep before input";
    let folder = folder_with(&[
        job("first", &[], &["echo x >> $BESIDE/first"]),
        job("second", &["first"], &[second]),
        job("third", &["second"], &["true"]),
    ]);
    folder.write("input", "before");
    killed(&folder, &[]);
    folder.write("input", "after");
    fs::write(folder.beside("again"), "").expect("a file can be written");
    let finished = folder.run_to(0, &["--resume"]);
    assert_eq!(finished["state"], "SUCCESS");
    assert_eq!(finished["jobs"].as_array().expect("a list").len(), 3);
    assert_eq!(fs::read_to_string(folder.beside("first")).unwrap(), "x\n", "what was done is not done again");
}

#[test]
fn without_its_files_a_run_does_not_go_on() {
    let folder = folder_with(&[job("family", &[], &[FAMILY])]);
    killed(&folder, &["--in-place"]);
    let next = folder.run(&["--resume"]);
    assert_eq!(next.status.code(), Some(5));
    assert!(stderr(&next).contains("--resume --in-place"), "{}", stderr(&next));
}

#[test]
fn there_must_be_something_to_go_on_with() {
    let folder = folder_with(&[job("one", &[], &["true"])]);
    let next = folder.run(&["--resume"]);
    assert_eq!(next.status.code(), Some(2));
    assert!(stderr(&next).contains("nothing was interrupted here"), "{}", stderr(&next));
    let run = folder.run_to(0, &[])["run_id"].as_str().expect("an id").to_owned();
    let next = folder.run(&[&format!("--resume={run}")]);
    assert_eq!(next.status.code(), Some(2));
    assert!(stderr(&next).contains("is over"), "{}", stderr(&next));
}
