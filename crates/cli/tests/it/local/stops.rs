//! Ctrl-C once and twice, and SIGTERM.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::folder::{Folder, folder_with, job};
use crate::e2e::marks::{marked, until_gone};
use crate::e2e::patience::until_so;

/// Cleans up when it is asked to end.
const POLITE: &str = "trap 'touch \"$BESIDE/cleaned\"; exit 0' TERM; touch \"$BESIDE/begun\"; \
                      while :; do sleep 0.02; done";
/// Hears nothing, and has a child that hears nothing.
const DEAF: &str =
    "trap '' TERM; (trap '' TERM; sleep 600) & touch \"$BESIDE/begun\"; while :; do sleep 0.02; done";

/// Shorter than any deadline that would end the job by itself.
const SOON: Duration = Duration::from_secs(8);

fn last_state(folder: &Folder) -> String {
    let runs: serde_json::Value = serde_json::from_str(&folder.said(&["runs", "--json"])).expect("JSON");
    runs["items"][0]["outcome"].as_str().unwrap_or("none").into()
}

#[test]
fn ctrl_c_lets_jobs_end_and_cancels_the_run() {
    let folder =
        folder_with(&[job("polite", &[], &[POLITE]), job("next", &["polite"], &["touch $BESIDE/next"])]);
    let mut program = folder.start(&[]);
    folder.until("begun");
    program.signal(Signal::INT);
    assert_eq!(program.ended().code(), Some(3), "{}", program.log());
    assert!(folder.beside("cleaned").exists() && !folder.beside("next").exists());
    assert!(marked(&folder.mark()).is_empty());
    assert_eq!(last_state(&folder), "CANCELED");
}

#[test]
fn ctrl_c_twice_kills_jobs_that_do_not_listen() {
    let folder = folder_with(&[job("deaf", &[], &[DEAF])]);
    let mut program = folder.start(&[]);
    folder.until("begun");
    program.signal(Signal::INT);
    until_so("the cancel is told", || program.log().contains("cancel"));
    assert!(!program.has_ended());
    let began = Instant::now();
    program.signal(Signal::INT);
    assert_eq!(program.ended().code(), Some(3), "{}", program.log());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert!(marked(&folder.mark()).is_empty());
    assert_eq!(last_state(&folder), "CANCELED");
}

#[test]
fn a_sigterm_is_followed_by_force() {
    let folder = folder_with(&[job("deaf", &[], &[DEAF])]);
    let mut program = folder.start(&[]);
    folder.until("begun");
    program.signal(Signal::TERM);
    assert_eq!(program.ended().code(), Some(3), "{}", program.log());
    until_gone(&folder.mark());
    assert_eq!(last_state(&folder), "CANCELED");
}
