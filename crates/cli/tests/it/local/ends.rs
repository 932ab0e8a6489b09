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
        job("lint", &[], &[]),
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
    lint["required"] = json!(false);
    let finished = folder_with(&[lint, job("test", &[], &["true"])]).run_to(0, &[]);
    assert_eq!(states(&finished), ["lint FAILED 1", "test SUCCEEDED 1"]);
}

#[test]
fn a_job_that_takes_too_long_ends_the_run_as_timed_out() {
    let mut slow = job("slow", &[], &["sleep 60"]);
    slow["timeout_seconds"] = json!(0.3);
    slow["attempts_max"] = json!(1);
    assert_eq!(folder_with(&[slow]).run_to(6, &[])["state"], "FAILED");
}

#[test]
fn a_plan_with_nothing_to_run_has_succeeded() {
    assert_eq!(folder_with(&[]).run_to(0, &[])["state"], "SUCCESS");
}

#[test]
fn a_job_that_this_machine_cannot_take_is_refused_at_once() {
    let mut far = job("far", &[], &["true"]);
    far["runs_on"] = json!(["os:plan9"]);
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
