//! `deltaci explain`: a job's whole story, or one execution's part of it.

use serde_json::Value;

use crate::{deltaci, finished_job, stderr, stdout, submitted};

#[test]
fn a_job_is_explained_from_its_birth_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deltaci.db");
    let (job, _) = finished_job(&file);
    let data = folder.path().to_str().unwrap();
    let output = deltaci(&["explain", &job.to_string(), "--data", data]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for step in
        ["CREATED -> QUEUED", "GRANTED -> ACTIVE", "IN_PROGRESS -> COMMITTED", "UPLOADING -> SUCCEEDED"]
    {
        assert!(stdout(&output).contains(step), "{step} is missing:\n{}", stdout(&output));
    }
}

#[test]
fn an_execution_is_explained_alone_and_without_its_secret() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deltaci.db");
    let (_, execution) = finished_job(&file);
    let output =
        deltaci(&["explain", &execution.to_string(), "--database", file.to_str().unwrap(), "--json"]);
    let events: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert!(events.iter().all(|event| event["entity"] == execution.to_string()));
    let machines: Vec<_> = events.iter().map(|event| event["machine"].as_str().unwrap()).collect();
    assert!(machines.contains(&"lease") && machines.contains(&"execution"));
    assert!(!stdout(&output).contains("lease_"));
}

#[test]
fn an_unknown_id_says_so_and_a_missing_database_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deltaci.db");
    finished_job(&file);
    let unknown =
        deltaci(&["explain", "job_00000000000000000000000000", "--database", file.to_str().unwrap()]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("nothing is known of"));
    let missing = deltaci(&["explain", "job_00000000000000000000000000", "--database", "not-there.db"]);
    assert_eq!(missing.status.code(), Some(5));
    assert!(stderr(&missing).contains("does not exist"));
}

#[test]
fn a_job_is_found_by_the_name_that_its_submitter_gave_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deltaci.db");
    submitted(&file, "one", "nightly");
    let explained = || deltaci(&["explain", "nightly", "--database", file.to_str().unwrap()]);
    assert!(stdout(&explained()).contains("CREATED -> QUEUED"), "{}", stderr(&explained()));
    submitted(&file, "two", "nightly");
    assert_eq!(explained().status.code(), Some(2), "{}", stdout(&explained()));
    assert!(stderr(&explained()).contains("jobs of several tenants are named `nightly`"));
}
