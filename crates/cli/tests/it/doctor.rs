//! `deltaci doctor`: silent on a sound database, loud on one that somebody tampered with.

use decisions::records::Job;
use decisions::{Ask, Changes};
use machines::job;
use serde_json::Value;
use store::{Sqlite, Store};
use wire::{JobId, Time};

use crate::{deltaci, finished_job, stderr, stdout};

#[test]
fn a_sound_database_is_healthy_stopped_and_live() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deltaci.db");
    finished_job(&file);
    let live = Sqlite::open(&file).unwrap();
    for json in [&["--json"][..], &[]] {
        let words: Vec<&str> = [&["doctor", "--database", file.to_str().unwrap()][..], json].concat();
        let output = deltaci(&words);
        assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    }
    drop(live);
    let output = deltaci(&["doctor", "--data", folder.path().to_str().unwrap()]);
    assert!(stdout(&output).contains("examined 0 runs, 1 jobs") && stdout(&output).contains("healthy"));
}

#[test]
fn a_projection_that_does_not_follow_from_the_records_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deltaci.db");
    let (job, _) = finished_job(&file);
    tamper(&file, job);
    let output = deltaci(&["doctor", "--database", file.to_str().unwrap(), "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let finding = &report["findings"][0];
    assert_eq!(
        (finding["invariant"].as_str(), finding["entity"].as_str()),
        (Some("I8"), Some(&*job.to_string()))
    );
    assert!(finding["problem"].as_str().unwrap().contains("stored Failed, computed Succeeded"), "{finding}");
    assert!(stdout(&deltaci(&["doctor", "--database", file.to_str().unwrap()])).contains("broken I8"));
}

/// Writes a state that no decision would.
fn tamper(file: &std::path::Path, id: JobId) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Sqlite::open(file).unwrap();
        let mut loaded = store.load(&[Ask::Family(id)], Time::from_seconds(0)).await.unwrap();
        let job = loaded.book.jobs.peek(&id).unwrap().clone();
        let mut changes = Changes::default();
        changes.jobs.insert(id, Job { state: job::State::Failed, ..job });
        loaded.book.apply(changes);
        store.save(loaded.session, loaded.book).await.unwrap();
    });
}

#[test]
fn a_record_that_cannot_be_read_is_in_the_list() {
    for (damage, reason) in [(b"BOGUSBOGU", "`BOGUSBOGU`"), (b"SUCC\xffEDED", "utf-8")] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deltaci.db");
        let (job, _) = finished_job(&file);
        damage_state(&file, job, damage);
        let output = deltaci(&["doctor", "--database", file.to_str().unwrap()]);
        assert_eq!((output.status.code(), stderr(&output)), (Some(1), ""));
        let named = |line: &str| line.starts_with(&format!("broken I5 {job}: ")) && line.contains(reason);
        assert!(stdout(&output).lines().any(named), "{}", stdout(&output));
        assert!(stdout(&output).starts_with("examined 0 runs, 0 jobs"), "{}", stdout(&output));
        let output = deltaci(&["doctor", "--json", "--database", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap();
        assert!(findings.iter().any(|finding| finding["entity"] == job.to_string()), "{report}");
    }
}

/// Past all checks, as a disk may: the state stands behind the name of the job, which is its id.
fn damage_state(file: &std::path::Path, job: JobId, bytes: &[u8; 9]) {
    let (mut all, known) = (std::fs::read(file).unwrap(), format!("{job}SUCCEEDED"));
    let places: Vec<usize> = (0..all.len()).filter(|at| all[*at..].starts_with(known.as_bytes())).collect();
    assert!(!places.is_empty(), "the row is not there");
    for end in places.iter().map(|at| at + known.len()) {
        all[end - bytes.len()..end].copy_from_slice(bytes);
    }
    std::fs::write(file, all).unwrap();
}

#[test]
fn a_damaged_page_is_in_the_list_and_a_file_that_cannot_be_opened_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deltaci.db");
    finished_job(&file);
    let whole = std::fs::read(&file).unwrap();
    let page: usize = u16::from_be_bytes([whole[16], whole[17]]).into();
    let with_page = |at: usize, filling: u8| {
        let mut damaged = whole.clone();
        damaged[at * page..][..page].fill(filling);
        std::fs::write(&file, damaged).unwrap();
        deltaci(&["doctor", "--database", file.to_str().unwrap()])
    };
    let output = with_page(whole.len() / page - 1, 0xa5);
    assert_eq!((output.status.code(), stderr(&output)), (Some(1), ""));
    assert!(stdout(&output).contains("broken I5 the database: "), "{}", stdout(&output));
    // Without its first page there is nothing to go by.
    let output = with_page(0, 0xa5);
    assert_eq!((output.status.code(), stdout(&output)), (Some(5), ""));
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("restore it from a backup"), "{}", stderr(&output));
}

#[test]
fn whoever_closes_stdout_gets_the_verdict_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deltaci.db");
    let (job, _) = finished_job(&file);
    for expected in [0, 1] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_deltaci"));
        let (nobody, end) = std::io::pipe().unwrap();
        drop(nobody);
        let output = command.args(["doctor", "--database"]).arg(&file).stdout(end).output().unwrap();
        assert_eq!((output.status.code(), stderr(&output)), (Some(expected), ""));
        tamper(&file, job);
    }
}

#[test]
fn what_is_not_a_database_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "not a database, but long enough to look at: ".repeat(100)).unwrap();
    let before = std::fs::read(&file).unwrap();
    let output = deltaci(&["doctor", "--database", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(5));
    assert!(stderr(&output).contains("damaged or is not one of ours"), "{}", stderr(&output));
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn a_password_in_an_address_is_never_repeated() {
    let output = deltaci(&["doctor", "--database", "postgres://ci:hunter2@127.0.0.1:1/ci"]);
    assert_eq!(output.status.code(), Some(5));
    assert!(!stderr(&output).contains("hunter2") && !stdout(&output).contains("hunter2"));
}
