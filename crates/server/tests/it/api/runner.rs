//! The runner protocol over HTTP, message by message.

use std::time::{Duration, Instant};

use decisions::Policy;
use serde_json::{Value, json};
use store::{Memory, Store};

use crate::api::site::{ADMIN, PATIENCE, Reply, Site, Tenant, bearer, on_each_store, open};

on_each_store!(
    a_job_goes_from_lease_to_completion_and_each_word_may_be_repeated,
    nothing_but_an_acknowledgement_is_taken_before_one,
    a_lease_that_nobody_has_is_stale_on_every_route,
    a_lease_belongs_to_the_runner_it_was_granted_to,
    a_cancel_that_was_first_wins_over_complete,
    a_cancel_is_told_in_the_heartbeat_and_acknowledged,
    a_waiting_runner_is_woken_by_the_job_that_is_queued,
    a_wait_without_work_ends_with_nothing,
    a_job_is_leased_by_name,
    a_shared_runner_serves_every_tenant,
    a_message_that_lacks_a_field_is_told_which,
);

fn heartbeat(lease: &str, progress: Value) -> Value {
    json!({"type": "Heartbeat", "lease_id": lease, "runner_id": "r1", "progress": progress,
        "log_cursor": {"bytes_sent": 0}, "ts": "2026-01-04T08:00:20Z"})
}

fn cancel_ack(lease: &str) -> Value {
    json!({"type": "CancelAck", "lease_id": lease, "runner_id": "r1", "final_status": "CANCELED",
        "ts": "2026-01-04T08:01:25Z", "artifacts": [], "summary": "stopped"})
}

fn commit(lease: &str) -> Value {
    json!({"type": "Commit", "lease_id": lease, "runner_id": "r1", "effects": []})
}

async fn say<S: Store>(site: &Site<S>, tenant: &Tenant, word: &str, body: Value) -> Reply {
    site.post(&tenant.runner, &format!("/v1/runner/{word}"), body).await
}

async fn a_job_goes_from_lease_to_completion_and_each_word_may_be_repeated<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/jobs", acme.path);
    site.post(&acme.tenant, &path, json!({"job_id": "j1", "payload": {"deep": [1]}})).await.expect(201);
    let asked = json!({"runner_id": "r1", "capabilities": [], "wait_seconds": 20});
    let granted = say(&site, &acme, "lease", asked).await.expect(200);
    assert_eq!((&granted["run_id"], &granted["job_id"]), (&json!(null), &json!("j1")));
    assert_eq!(granted["job_spec"], json!({"name": "j1", "payload": {"deep": [1]}}));
    let timings = ["lease_ttl_seconds", "heartbeat_interval_seconds", "max_runtime_seconds"];
    assert_eq!(timings.map(|field| granted[field].clone()), [json!(120), json!(20), json!(3600)]);
    let lease = granted["lease_id"].as_str().expect("a lease id");
    for _ in 0..2 {
        let acked = site.ack(&acme, "j1", lease).await.expect(200);
        assert_eq!(acked, json!({"type": "AckLeaseAck", "lease_id": lease, "lease_ttl_seconds": 120}));
    }
    for phase in ["running", "uploading"] {
        let beaten =
            say(&site, &acme, "heartbeat", heartbeat(lease, json!({"percent": 35.5, "phase": phase}))).await;
        assert_eq!(
            beaten.expect(200),
            json!({"type": "HeartbeatAck", "lease_id": lease, "extend_lease": true, "new_lease_ttl_seconds": 120,
                "cancel_requested": false, "cancel_deadline_seconds": 0})
        );
    }
    for _ in 0..2 {
        let committed = say(&site, &acme, "commit", commit(lease)).await.expect(200);
        assert_eq!(committed, json!({"type": "CommitAck", "committed": true, "duplicate": false}));
    }
    for _ in 0..2 {
        let completed = site.complete(&acme, lease, "SUCCEEDED", 0).await.expect(200);
        assert_eq!(completed, json!({"type": "CompleteAck", "lease_id": lease, "accepted": true}));
    }
    let other = site.complete(&acme, lease, "FAILED", 1).await;
    assert_stale(&other, lease, "LEASE_COMPLETED");
    let late = say(&site, &acme, "heartbeat", heartbeat(lease, json!({}))).await;
    assert_stale(&late, lease, "LEASE_COMPLETED");
}

#[track_caller]
fn assert_stale(reply: &Reply, lease: &str, reason: &str) {
    let said = reply.expect(409);
    assert_eq!(reply.kind(), "application/json");
    assert_eq!(
        said,
        json!({"type": "StaleLease", "lease_id": lease, "reason": reason, "extend_lease": false,
            "stale": true, "accepted": false})
    );
}

async fn nothing_but_an_acknowledgement_is_taken_before_one<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/jobs", acme.path);
    let job = site.post(&acme.tenant, &path, json!({"payload": 1})).await.expect(201)["id"].clone();
    let lease = site.lease(&acme).await;
    for reply in [
        say(&site, &acme, "heartbeat", heartbeat(&lease, json!({}))).await,
        say(&site, &acme, "commit", commit(&lease)).await,
        site.complete(&acme, &lease, "SUCCEEDED", 0).await,
        say(&site, &acme, "cancel-ack", cancel_ack(&lease)).await,
        site.append(&acme, &lease, 0, b"x").await,
    ] {
        let problem = reply.refused(409, "lease_not_acknowledged");
        assert!(!problem.to_string().contains(&lease), "{problem}");
    }
    site.ack(&acme, job.as_str().expect("an id"), &lease).await.expect(200);
    say(&site, &acme, "cancel-ack", cancel_ack(&lease)).await.refused(409, "cancel_not_requested");
}

async fn a_lease_that_nobody_has_is_stale_on_every_route<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let forged = format!("lease_{}_{}", "0".repeat(26), "0".repeat(64));
    for lease in ["lease_abc", "", &forged, "no lease at all"] {
        assert_stale(&site.ack(&acme, "j", lease).await, lease, "LEASE_UNKNOWN");
        let reply = say(&site, &acme, "heartbeat", heartbeat(lease, json!({}))).await;
        assert_stale(&reply, lease, "LEASE_UNKNOWN");
        assert_stale(&say(&site, &acme, "commit", commit(lease)).await, lease, "LEASE_UNKNOWN");
        assert_stale(&site.complete(&acme, lease, "FAILED", 1).await, lease, "LEASE_UNKNOWN");
        assert_stale(&say(&site, &acme, "cancel-ack", cancel_ack(lease)).await, lease, "LEASE_UNKNOWN");
        assert_stale(&site.append(&acme, lease, 0, b"x").await, lease, "LEASE_UNKNOWN");
    }
}

async fn a_lease_belongs_to_the_runner_it_was_granted_to<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (_, lease) = site.active_job(&acme).await;
    let mut said = heartbeat(&lease, json!({}));
    said["runner_id"] = json!("r2");
    assert_stale(&say(&site, &acme, "heartbeat", said).await, &lease, "LEASE_UNKNOWN");
}

async fn a_cancel_that_was_first_wins_over_complete<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    let path = format!("{}/jobs/{job}", acme.path);
    let taken = site.post(&acme.tenant, &format!("{path}/cancel"), json!({})).await.expect(202);
    assert_eq!(taken["over"], false);
    say(&site, &acme, "commit", commit(&lease)).await.refused(409, "cancel_requested");
    for _ in 0..2 {
        let completed = site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
        let expected = json!({"type": "CompleteAck", "lease_id": lease, "accepted": false,
            "reason": "CANCEL_REQUESTED"});
        assert_eq!(completed, expected);
    }
    assert_eq!(site.get(&acme.tenant, &path).await.expect(200)["state"], "CANCELED");
}

async fn a_cancel_is_told_in_the_heartbeat_and_acknowledged<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    let path = format!("{}/jobs/{job}", acme.path);
    site.post(&acme.tenant, &format!("{path}/cancel"), json!({})).await.expect(202);
    let beaten = say(&site, &acme, "heartbeat", heartbeat(&lease, json!({}))).await.expect(200);
    assert_eq!(beaten["cancel_requested"], true);
    assert!(beaten["cancel_deadline_seconds"].as_f64().is_some_and(|left| left > 0.0 && left <= 30.0));
    for _ in 0..2 {
        let acked = say(&site, &acme, "cancel-ack", cancel_ack(&lease)).await.expect(200);
        assert_eq!(acked, json!({"type": "CancelAckAck", "lease_id": lease, "accepted": true}));
    }
    assert_stale(&site.complete(&acme, &lease, "SUCCEEDED", 0).await, &lease, "LEASE_CANCELED");
    assert_eq!(site.get(&acme.tenant, &path).await.expect(200)["state"], "CANCELED");
}

async fn a_waiting_runner_is_woken_by_the_job_that_is_queued<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let asked = json!({"runner_id": "r1", "wait_seconds": 60});
    let waiting = say(&site, &acme, "lease", asked);
    let submitting = async {
        waiters(&site, 1).await;
        site.post(&acme.tenant, &format!("{}/jobs", acme.path), json!({"payload": 1})).await.expect(201)
    };
    let began = Instant::now();
    let (granted, submitted) = tokio::join!(waiting, submitting);
    assert_eq!(granted.expect(200)["job_id"], submitted["id"]);
    assert!(began.elapsed() < PATIENCE, "it did not wait for its time to pass");
    waiters(&site, 0).await;
}

/// Until the server says that so many long polls wait.
async fn waiters<S: Store>(site: &Site<S>, count: u32) {
    let line = format!("deltaci_leases_waiting {count}\n");
    let began = Instant::now();
    loop {
        let text = site.send("GET", "/metrics", &[], hyper::body::Bytes::new()).await.text();
        if text.contains(&line) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{text}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn a_wait_without_work_ends_with_nothing<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    for wait in [json!(0), json!(0.05)] {
        let reply = say(&site, &acme, "lease", json!({"runner_id": "r1", "wait_seconds": wait})).await;
        assert_eq!((reply.status, reply.body.len()), (204, 0));
    }
}

async fn a_job_is_leased_by_name<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/jobs", acme.path);
    let made = site.post(&acme.tenant, &path, json!({"job_id": "j1", "payload": 1})).await.expect(201);
    let by = |named: &Value| json!({"runner_id": "r1", "job_id": named});
    say(&site, &acme, "lease", by(&json!("nothing"))).await.refused(404, "job_not_found");
    let granted = say(&site, &acme, "lease", by(&json!("j1"))).await.expect(200);
    for named in [&json!("j1"), &made["uid"]] {
        let reply = say(&site, &acme, "lease", by(named)).await;
        reply.refused(423, "job_leased");
        assert_eq!(reply.header("retry-after"), "1");
    }
    let lease = granted["lease_id"].as_str().expect("a lease id");
    site.ack(&acme, "j1", lease).await.expect(200);
    site.complete(&acme, lease, "SUCCEEDED", 0).await.expect(200);
    say(&site, &acme, "lease", by(&json!("j1"))).await.refused(410, "job_over");
    let plan = json!({"plan": {"jobs": [{"name": "a"}, {"name": "b", "needs": ["a"]}]}});
    let run = site.post(&acme.tenant, &format!("{}/runs", acme.path), plan).await.expect(201);
    say(&site, &acme, "lease", by(&run["jobs"][1]["id"])).await.refused(423, "job_not_ready");
}

async fn a_shared_runner_serves_every_tenant<S: Store>(site: Site<S>) {
    let shared = site.post(ADMIN, "/v1/admin/tokens", json!({"kind": "runner"})).await.expect(201);
    let shared = shared["token"].as_str().expect("a token");
    let acme = site.tenant("acme").await;
    let acme_id = site.get(ADMIN, "/v1/tenants/acme").await.expect(200)["id"].clone();
    let path = format!("{}/jobs", acme.path);
    site.post(&acme.tenant, &path, json!({"job_id": "j1", "payload": 1})).await.expect(201);
    let asked = json!({"runner_id": "common", "job_id": "j1"});
    let problem = site.post(shared, "/v1/runner/lease", asked).await.refused(422, "invalid_input");
    assert_eq!(problem["field"], "tenant_id");
    let asked = json!({"runner_id": "common", "job_id": "j1", "tenant_id": acme_id});
    let granted = site.post(shared, "/v1/runner/lease", asked).await.expect(200);
    assert_eq!(granted["job_id"], "j1");
    let said = json!({"type": "AckLease", "job_id": "j1", "lease_id": granted["lease_id"], "runner_id": "common",
        "accepted_at": "2026-01-04T08:00:00Z"});
    site.post(shared, "/v1/runner/ack", said).await.expect(200);
    let runners = site.get(&acme.tenant, &format!("{}/runners", acme.path)).await.expect(200);
    let runner = &runners["items"][0];
    assert_eq!(
        (&runner["id"], &runner["shared"], &runner["state"]),
        (&json!("common"), &json!(true), &json!("alive"))
    );
    assert_eq!(runner["holds"][0]["lease_state"], "ACTIVE");
    let beta = site.tenant("beta").await;
    let none = site.get(&beta.tenant, &format!("{}/runners", beta.path)).await.expect(200);
    assert_eq!(none["items"], json!([]));
    // A runner of one tenant cannot speak of another's jobs.
    let asked = json!({"runner_id": "r1", "job_id": "j1", "tenant_id": acme_id});
    site.post(&beta.runner, "/v1/runner/lease", asked).await.refused(404, "job_not_found");
}

async fn a_message_that_lacks_a_field_is_told_which<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    for (word, whole) in [
        ("lease", json!({"runner_id": "r1"})),
        ("heartbeat", heartbeat("x", json!({}))),
        ("commit", commit("x")),
        ("cancel-ack", cancel_ack("x")),
    ] {
        let fields = whole.as_object().expect("an object").keys().cloned();
        let optional = ["progress", "log_cursor", "effects", "artifacts", "summary"];
        for field in fields.filter(|field| !optional.contains(&field.as_str())) {
            let mut body = whole.clone();
            body.as_object_mut().expect("an object").remove(&field);
            let problem = say(&site, &acme, word, body).await.refused(422, "invalid_input");
            assert_eq!(problem["field"], *field, "{word}: {problem}");
        }
    }
    let wrong = json!({"type": "Beat", "lease_id": "x", "runner_id": "r1", "ts": "2026-01-04T08:00:20Z"});
    let problem = say(&site, &acme, "heartbeat", wrong).await.refused(422, "invalid_input");
    assert_eq!(problem["field"], "type");
    let many: Vec<String> = (0..65).map(|number| format!("c{number}")).collect();
    let problem = say(&site, &acme, "lease", json!({"runner_id": "r1", "capabilities": many})).await;
    assert_eq!(problem.refused(422, "invalid_input")["field"], "capabilities");
}

/// No hint of the other server comes here; those of a job that prints come all the time.
#[tokio::test]
async fn what_another_server_made_ready_is_found_while_a_job_here_prints() {
    let here = crate::api::site::in_memory().await;
    let there = Site::open(here.store.clone(), Policy::default(), None).await;
    let acme = here.tenant("acme").await;
    let (_, lease) = here.active_job(&acme).await;
    let waiting = say(&here, &acme, "lease", json!({"runner_id": "r2", "wait_seconds": 20}));
    let printing = async {
        waiters(&here, 1).await;
        there.post(&acme.tenant, &format!("{}/jobs", acme.path), json!({"payload": 1})).await.expect(201);
        for line in 0.. {
            here.append(&acme, &lease, 5 * line, b"line\n").await.expect(200);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        granted = waiting => granted.expect(200),
        () = printing => unreachable!("it prints for ever"),
    };
}

#[tokio::test]
async fn a_client_that_hangs_up_no_longer_waits() {
    let site = crate::api::site::in_memory().await;
    let acme = site.tenant("acme").await;
    let headers = [("authorization", bearer(&acme.runner)), ("content-type", "application/json".into())];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let body = json!({"runner_id": "r1", "wait_seconds": 60}).to_string();
    {
        let waiting = open(site.address(), "POST", "/v1/runner/lease", &headers, body.into());
        tokio::select! {
            _ = waiting => panic!("there is no work"),
            () = waiters(&site, 1) => {}
        }
    }
    waiters(&site, 0).await;
}

#[tokio::test]
async fn a_lease_that_ran_out_is_stale_and_the_job_is_leased_again() {
    let policy = Policy { lease_ttl: Duration::from_millis(200), ..Policy::default() };
    let site: Site<Memory> = Site::open(Default::default(), policy, None).await;
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    let second = site.lease(&acme).await; // comes when the first has run out
    let reply = site.complete(&acme, &lease, "SUCCEEDED", 0).await;
    assert_stale(&reply, &lease, "LEASE_EXPIRED");
    site.ack(&acme, &job, &second).await.expect(200);
    let shown = site.get(&acme.tenant, &format!("{}/jobs/{job}", acme.path)).await.expect(200);
    assert_eq!(shown["attempts"][0]["executions"].as_array().map(Vec::len), Some(2));
}
