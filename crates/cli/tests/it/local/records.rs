//! What can be asked after a run, without a server.

use serde_json::{Value, json};

use super::folder::{command, folder_with, job};
use crate::stderr;

#[test]
fn runs_jobs_logs_and_transitions_are_on_record() {
    let folder = folder_with(&[job("hello", &[], &["echo hello there", "exit 3"])]);
    let run = folder.run_to(1, &[])["run_id"].as_str().expect("an id").to_owned();
    assert!(folder.said(&["runs"]).contains(&run));
    let shown: Value = serde_json::from_str(&folder.said(&["show", &run, "--json"])).expect("JSON");
    let id = shown["jobs"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!((&shown["state"], &shown["jobs"][0]["state"]), (&"REPORTED".into(), &"FAILED".into()));
    assert!(folder.said(&["logs", &id]).contains("hello there\n"));
    assert!(folder.said(&["logs", &run]).contains("hello there\n"));
    assert!(folder.said(&["explain", &id]).contains("FAILED"));
    assert!(folder.said(&["explain", &run]).contains("RUNNING"));
    assert!(folder.said(&["doctor"]).contains("every invariant holds"));
    folder.said(&["artifact", "list"]);
}

#[test]
fn artifacts_of_local_runs_can_be_listed_and_pulled() {
    let mut make = job("make", &[], &["mkdir out", "echo made > out/thing"]);
    make.1["artifacts"] = json!([{ "type": "files", "path": "out/*" }]);
    make.1["publish"] = json!({ "package": "app", "version": "1" });
    let folder = folder_with(&[make]);
    folder.run_to(0, &[]);
    assert!(folder.said(&["artifact", "list"]).contains("app@1"));
    let to = folder.beside("pulled");
    folder.said(&["artifact", "pull", "app@1", "--output", to.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(to.join("out/thing")).unwrap(), "made\n");
}

#[test]
fn what_changes_something_needs_a_server() {
    let folder = folder_with(&[job("one", &[], &["true"])]);
    let run = folder.run_to(0, &[])["run_id"].as_str().expect("an id").to_owned();
    for words in [&["cancel", &run][..], &["rerun", &run], &["trigger", "--step", "true"]] {
        let output = command(&folder.path()).args(words).output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(7), "{words:?}");
        assert!(stderr(&output).contains("this needs a server"), "{}", stderr(&output));
    }
}

#[test]
fn a_plan_says_what_would_run_and_writes_nothing() {
    let mut docs = job("docs", &[], &["true"]);
    docs.1["paths"] = json!(["docs/**"]);
    let folder = folder_with(&[job("one", &[], &["true"]), docs]);
    for words in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "-m", "all"],
    ] {
        let git = std::process::Command::new("git").args(words).current_dir(folder.path()).status();
        assert!(git.is_ok_and(|status| status.success()));
    }
    folder.write("input", "new");
    let words = ["plan", "--base", "HEAD"];
    let text = folder.said(&words);
    assert!(text.contains("docs") && text.contains("skip"), "{text}");
    let plan: Value = serde_json::from_str(&folder.said(&[&words[..], &["--json"]].concat())).expect("JSON");
    assert_eq!(plan["jobs"][1]["decision"], "skip");
    assert_eq!(plan["jobs"][1]["reasons"][0]["rule"], "unchanged");
    assert!(!folder.path().join(".deltaci").exists());
}
