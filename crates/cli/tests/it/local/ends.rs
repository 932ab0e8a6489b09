//! How a run ends, and with which code.

use serde_json::{Value, json};

use super::folder::{folder_with, job};
use crate::stderr;

/// `NAME STATE ATTEMPTS`
fn states(finished: &Value) -> Vec<String> {
    let jobs = finished["jobs"].as_array().expect("a list").iter();
    let text = |job: &Value, field: &str| job[field].as_str().unwrap_or("-").to_owned();
    jobs.map(|job| format!("{} {} {}", text(job, "name"), text(job, "state"), job["attempts"])).collect()
}

#[test]
fn a_run_whose_jobs_succeed_ends_well() {
    let folder = folder_with(&[
        job("build", &[], &["echo building"]),
        job("test", &["build"], &["true"]),
        job("lint", &[], &["true"]),
    ]);
    let finished = folder.run_to(0, &[]);
    assert_eq!((&finished["type"], &finished["state"]), (&json!("run_finished"), &json!("SUCCESS")));
    let expected = ["build SUCCEEDED 1", "test SUCCEEDED 1", "lint SUCCEEDED 1"];
    assert_eq!(states(&finished), expected);
}

#[test]
fn a_required_failure_fails_the_run_and_what_needs_it_does_not_run() {
    let folder = folder_with(&[job("build", &[], &["exit 4"]), job("test", &["build"], &["true"])]);
    let finished = folder.run_to(1, &[]);
    assert_eq!(finished["state"], "FAILED");
    assert_eq!(states(&finished), ["build FAILED 1", "test CANCELED 1"]);
}

#[test]
fn an_optional_failure_does_not() {
    let mut lint = job("lint", &[], &["false"]);
    lint.1["allow_failure"] = json!(true);
    let finished = folder_with(&[lint, job("test", &[], &["true"])]).run_to(0, &[]);
    assert_eq!(states(&finished), ["lint FAILED 1", "test SUCCEEDED 1"]);
}

#[test]
fn a_job_that_takes_too_long_ends_the_run_as_timed_out() {
    let mut slow = job("slow", &[], &["sleep 60"]);
    slow.1["timeout"] = json!("300ms");
    assert_eq!(folder_with(&[slow]).run_to(6, &[])["state"], "FAILED");
}

#[test]
fn a_second_run_reuses_the_first_and_says_which() {
    let folder =
        folder_with(&[job("build", &[], &["echo x >> $BESIDE/ran"]), job("test", &["build"], &["true"])]);
    let first = folder.run_to(0, &[]);
    let second = folder.run_to(0, &[]);
    assert_eq!(second["state"], "SUCCESS");
    assert_eq!(second["jobs"][0]["decision"], "reuse");
    assert_eq!(states(&second), ["build SUCCEEDED 0", "test SUCCEEDED 0"]);
    assert_eq!(std::fs::read_to_string(folder.beside("ran")).unwrap(), "x\n");
    let plan: Value = serde_json::from_str(&folder.said(&["plan", "--json"])).expect("JSON");
    assert_eq!(plan["jobs"][0]["reasons"][0]["rule"], "reuse");
    assert_eq!(plan["jobs"][0]["reasons"][0]["run"], first["run_id"]);
    let again = folder.run_to(0, &["--no-reuse"]);
    assert_eq!(states(&again), ["build SUCCEEDED 1", "test SUCCEEDED 1"]);
}

#[test]
fn what_became_of_caches_is_told() {
    let (name, mut build) = job("build", &[], &["mkdir -p kept", "cat kept/x || echo one > kept/x"]);
    build["caches"] = json!([{ "type": "deps", "key": "deps:1", "paths": ["kept"] }]);
    let folder = folder_with(&[(name, build)]);
    let first = folder.run(&["--no-reuse"]);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    let said = stderr(&first);
    assert!(said.contains("cache deps: nothing has deps:1; it will be saved"), "{said}");
    assert!(said.contains("cache deps: saved "), "{said}");
    let second = folder.run(&["--no-reuse"]);
    let said = stderr(&second);
    assert!(said.contains("cache deps: hit deps:1 (exact, "), "{said}");
    assert!(said.lines().any(|line| line.ends_with("one")), "{said}");
}

#[test]
fn what_is_wrong_with_the_file_is_shown_where_it_is() {
    let folder = folder_with(&[job("build", &[], &["true"])]);
    folder.write("delta-ci.yaml", "version: 1\njobs:\n  build:\n    run: make\n    need: [lint]\n");
    let output = folder.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("delta-ci.yaml:5:5") && said.contains("did you mean `needs`?"), "{said}");
}

#[test]
fn a_job_that_this_machine_cannot_take_is_refused_at_once() {
    let mut far = job("far", &[], &["true"]);
    far.1["runs_on"] = json!(["os:plan9"]);
    let output = folder_with(&[far]).run(&[]);
    assert_eq!(output.status.code(), Some(5));
    assert!(stderr(&output).contains("job `far` runs on os:plan9"), "{}", stderr(&output));
}

#[test]
fn a_folder_that_is_not_there_is_wrong_usage() {
    let output = crate::deltaci(&["run", "/nowhere/at/all"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cannot open the folder /nowhere/at/all"), "{}", stderr(&output));
}
