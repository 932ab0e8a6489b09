//! A disk that fails under a running server.

use serde_json::json;

use crate::e2e::site::{LONG, Site};
use crate::e2e::tracer::Tracer;

/// It cannot know what the disk holds, so it says so to nobody as success, and ends: the next process reads it.
#[test]
fn a_server_whose_disk_does_not_keep_what_is_written_ends_and_the_next_one_goes_on() {
    let mut site = Site::start(&LONG);
    site.submit("before", "true");
    let tracer = Tracer::attach(&site, "fdatasync", "error=EIO");
    let job = json!({"job_id": "during", "payload": {"steps": ["true"]}});
    let refused = site.post("/v1/tenants/default/jobs", &job);
    assert_eq!((refused.status, &refused.json()["code"]), (503, &json!("outcome_unknown")));
    assert!(!site.server.ended().success());
    assert!(site.server.log().contains("start the server again"), "{}", site.server.log());
    drop(tracer);
    site.restart();
    let again = site.post("/v1/tenants/default/jobs", &job);
    assert!([200, 201].contains(&again.status), "{}", again.text());
    assert_eq!(site.job("before")["state"], "PENDING");
    site.is_healthy();
}
