//! Standalone jobs: submitted, looked at, cancelled, retried.

use serde_json::json;
use store::Store;

use crate::api::site::{Site, on_each_store};

on_each_store!(
    the_same_id_and_payload_again_is_the_same_job,
    a_job_shows_its_attempts_executions_and_effects,
    a_job_is_cancelled_and_retried,
    a_job_that_waits_says_for_what,
);

async fn the_same_id_and_payload_again_is_the_same_job<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/jobs", acme.path);
    let first =
        site.post(&acme.tenant, &path, json!({"job_id": "order-1", "payload": {"a": 1}})).await.expect(201);
    assert_eq!((&first["id"], &first["state"]), (&json!("order-1"), &json!("PENDING")));
    let again =
        site.post(&acme.tenant, &path, json!({"job_id": "order-1", "payload": {"a": 1}})).await.expect(200);
    assert_eq!(first, again);
    let other = json!({"job_id": "order-1", "payload": {"a": 2}});
    site.post(&acme.tenant, &path, other).await.refused(409, "job_conflict");
    let ours = json!({"job_id": first["uid"], "payload": 1});
    site.post(&acme.tenant, &path, ours).await.refused(422, "invalid_input");
    for named in ["order-1", first["uid"].as_str().expect("an id")] {
        let shown = site.get(&acme.tenant, &format!("{path}/{named}")).await.expect(200);
        assert_eq!((&shown["id"], &shown["uid"]), (&first["id"], &first["uid"]));
    }
}

async fn a_job_shows_its_attempts_executions_and_effects<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    let effects = json!([{"kind": "result", "value": {"answer": 42}}]);
    let commit = json!({"type": "Commit", "lease_id": lease, "runner_id": "r1", "effects": effects});
    site.post(&acme.runner, "/v1/runner/commit", commit).await.expect(200);
    let complete = json!({"type": "Complete", "lease_id": lease, "runner_id": "r1", "status": "SUCCEEDED",
        "exit_code": 0, "summary": "well", "artifacts": [{"type": "log", "uri": "s3://b/log.txt"}]});
    site.post(&acme.runner, "/v1/runner/complete", complete).await.expect(200);
    let shown = site.get(&acme.tenant, &format!("{}/jobs/{job}", acme.path)).await.expect(200);
    assert_eq!((&shown["state"], &shown["run_id"]), (&json!("SUCCEEDED"), &json!(null)));
    assert_eq!(shown["effects"][0]["effect"], effects[0]);
    let log = json!({"type": "log", "path": null, "uri": "s3://b/log.txt", "digest": null, "length": null});
    assert_eq!((&shown["artifacts"], &shown["tests"]), (&json!([log]), &json!(null)));
    let attempt = &shown["attempts"][0];
    assert_eq!((&attempt["index"], &attempt["state"]), (&json!(1), &json!("SUCCEEDED")));
    let execution = &attempt["executions"][0];
    assert_eq!((&execution["status"], &execution["lease_state"]), (&json!("DONE"), &json!("COMPLETED")));
    assert_eq!((&execution["runner_id"], &execution["exit_code"]), (&json!("r1"), &json!(0)));
    assert!(execution["exec_id"].as_str().is_some_and(|id| id.starts_with("exec_")));
}

async fn a_job_is_cancelled_and_retried<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/jobs", acme.path);
    site.post(&acme.tenant, &path, json!({"job_id": "j", "payload": 1})).await.expect(201);
    site.post(&acme.tenant, &format!("{path}/j/retry"), json!({})).await.refused(409, "job_not_retryable");
    for _ in 0..2 {
        let taken = site.post(&acme.tenant, &format!("{path}/j/cancel"), json!({})).await.expect(202);
        assert_eq!((&taken["state"], &taken["over"]), (&json!("CANCELED"), &json!(true)));
    }
    let again = site.post(&acme.tenant, &format!("{path}/j/retry"), json!({})).await.expect(202);
    assert_eq!((&again["state"], &again["attempt"]), (&json!("PENDING"), &json!(2)));
    let lease = site.lease(&acme).await;
    site.ack(&acme, "j", &lease).await.expect(200);
    site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
    site.post(&acme.tenant, &format!("{path}/j/cancel"), json!({})).await.refused(409, "job_over");
}

async fn a_job_that_waits_says_for_what<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/jobs", acme.path);
    let asked = json!({"job_id": "j", "payload": 1, "runs_on": ["os:plan9"]});
    site.post(&acme.tenant, &path, asked).await.expect(201);
    let reason = async || {
        let shown = site.get(&acme.tenant, &format!("{path}/j")).await.expect(200);
        shown["attempts"][0]["explanation"].as_str().expect("a text").to_owned()
    };
    assert!(reason().await.contains("start one with `deltaci runner`"));
    let lease = async |runner: &str, can: &str| {
        let asked = json!({"runner_id": runner, "capabilities": [can], "wait_seconds": 0});
        site.post(&acme.runner, "/v1/runner/lease", asked).await
    };
    lease("r1", "os:linux").await.expect(204);
    assert_eq!(reason().await, "waits for a runner with `os:plan9`: of 1 runner none has `os:plan9`");
    lease("r2", "os:plan9").await.expect(200);
    assert_eq!(reason().await, "", "it does not wait any more");
    site.post(&acme.tenant, &path, json!({"job_id": "k", "payload": 1, "runs_on": ["os:plan9"]}))
        .await
        .expect(201);
    let shown = site.get(&acme.tenant, &format!("{path}/k")).await.expect(200);
    assert_eq!(shown["attempts"][0]["explanation"], "waits for its turn: 1 runner can take it");
}
