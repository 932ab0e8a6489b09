//! `deltaci explain`, asked of a server.

use super::job_of;
use crate::harness::Site;
use crate::stderr;

#[test]
fn a_server_explains_what_a_database_would() {
    let site = Site::start().with_runner();
    let run = site.said(&["trigger", "--step", "true", "--wait"]);
    let job = job_of(&site, &run, "job");
    let told = site.said(&["explain", &job]);
    for step in ["CREATED -> QUEUED", "GRANTED -> ACTIVE", "UPLOADING -> SUCCEEDED", "by Orchestrator: "] {
        assert!(told.contains(step), "{step} in:\n{told}");
    }
    let data = site.folder.path().join("data");
    let read = site.said(&["explain", &job, "--data", data.to_str().unwrap()]);
    assert_eq!(told, read, "--data outweighs DELTACI_SERVER, and says the same");
    let json = site.json(&["explain", &run]);
    assert!(json.as_array().unwrap().iter().all(|event| event["entity"] == run.as_str()), "{json}");
    let unknown = site.exits(2, &["explain", "job_00000000000000000000000000"]);
    assert!(stderr(&unknown).contains("nothing is known of"), "{}", stderr(&unknown));
}
