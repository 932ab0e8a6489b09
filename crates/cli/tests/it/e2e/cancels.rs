//! A cancel, whatever the job is doing.

use std::fs;

use crate::e2e::hand::{Hand, assert_stale};
use crate::e2e::marks::{marked, until_gone};
use crate::e2e::patience::until_so;
use crate::e2e::proxy::{Fault, Gate};
use crate::e2e::site::{LONG, Site};
use crate::e2e::views::{executions, is_over, lease_states};
use crate::e2e::worker::Worker;

#[test]
fn a_queued_job_is_cancelled_at_once_and_never_leased() {
    let site = Site::start(&LONG);
    site.submit("queued", &site.noted("queued", "true"));
    assert_eq!(site.cancel("queued")["over"], true);
    assert_eq!(site.until_job("queued", "CANCELED")["attempts"][0]["state"], "CANCELED");
    site.submit("next", &site.noted("next", "true"));
    let _worker = Worker::start(&site, "a", &[]);
    site.ran_once("next");
    assert_eq!(executions(&site.job("queued")).len(), 0);
    site.is_healthy();
}

#[test]
fn a_job_cancelled_before_its_lease_is_acknowledged_never_starts() {
    let site = Site::start(&[LONG, ["--ack-timeout", "30s", "--plan-timeout", "30s"]].concat());
    let gate = Gate::default();
    let worker = Worker::start(&site, "a", &[]);
    worker.proxy.fail("ack", usize::MAX, Fault::Hold(gate.clone()));
    site.submit("offered", &site.noted("offered", "true"));
    until_so("the acknowledgement is on its way", || !worker.proxy.seen("ack").is_empty());
    site.until_attempt("offered", "LEASED");
    site.cancel("offered");
    let job = site.until_job("offered", "CANCELED");
    assert_eq!(lease_states(&job), ["REVOKED"]);
    gate.open();
    worker.until_says("the job was stopped");
    assert_eq!(site.noted_lines("begin offered"), 0);
    site.is_healthy();
}

#[test]
fn a_starting_job_is_cancelled_with_its_first_heartbeat() {
    let site = Site::start(&[&LONG[..], &["--cancel-deadline", "60s"]].concat());
    let gate = Gate::default();
    let worker = Worker::start(&site, "a", &[]);
    worker.proxy.fail("heartbeat", usize::MAX, Fault::Hold(gate.clone()));
    site.submit("starting", &site.noted("starting", "sleep 600"));
    site.until_noted("begin starting");
    site.until_attempt("starting", "STARTING");
    assert_eq!(site.cancel("starting")["over"], false);
    gate.open();
    let job = site.until_job("starting", "CANCELED");
    assert_eq!(lease_states(&job), ["CANCELED"]);
    until_gone(&site.mark("starting"));
    site.is_healthy();
}

#[test]
fn a_running_job_is_cancelled_with_its_whole_tree_and_its_log_is_kept() {
    let site = Site::start(&[&LONG[..], &["--cancel-deadline", "60s"]].concat());
    let worker = Worker::start(&site, "a", &[]);
    let script =
        "trap 'echo said goodbye; exit 1' TERM; (setsid sleep 600 &); echo half-way; sleep 600 & wait";
    site.submit("running", &site.noted("running", script));
    site.until_logged("running", "half-way\n");
    assert!(marked(&site.mark("running")).len() > 2);
    site.cancel("running");
    let job = site.until_job("running", "CANCELED");
    assert_eq!(lease_states(&job), ["CANCELED"]);
    until_gone(&site.mark("running"));
    let log = site.log("running");
    assert!(log.contains("half-way\n") && log.contains("said goodbye\n"), "{log}");
    assert!(worker.proxy.seen("complete").is_empty());
    assert_eq!(site.noted_lines("end running"), 0);
    site.is_healthy();
}

#[test]
fn an_uploading_job_is_cancelled_and_what_had_arrived_is_kept() {
    let site = Site::start(&[&LONG[..], &["--cancel-deadline", "6s"]].concat());
    let worker = Worker::start(&site, "a", &[]);
    let script = format!("echo first part; {}; echo second part", site.waits_for("go"));
    site.submit("uploading", &site.noted("uploading", &script));
    site.until_logged("uploading", "first part\n");
    let gate = Gate::default();
    worker.proxy.fail("logs", usize::MAX, Fault::Hold(gate.clone()));
    site.touch("go");
    site.until_attempt("uploading", "UPLOADING");
    site.cancel("uploading");
    let job = site.until_job("uploading", "CANCELED");
    assert_eq!(lease_states(&job), ["CANCELED"], "acknowledged, though the log hangs");
    assert!(site.log("uploading").contains("first part\n"));
    assert_eq!(site.commits("uploading"), 0);
    gate.open();
    site.is_healthy();
}

#[test]
fn a_job_that_ignores_sigterm_is_killed_and_the_cancel_acknowledged() {
    let site = Site::start(&[&LONG[..], &["--cancel-deadline", "6s"]].concat());
    let _worker = Worker::start(&site, "a", &[]);
    let script = "trap '' TERM; echo deaf; while :; do sleep 1; done";
    site.submit("deaf", &site.noted("deaf", script));
    site.until_logged("deaf", "deaf\n");
    site.cancel("deaf");
    let job = site.until_job("deaf", "CANCELED");
    assert_eq!(lease_states(&job), ["CANCELED"], "in time, not forced");
    until_gone(&site.mark("deaf"));
    assert!(site.log("deaf").contains("deaf\n"));
    site.is_healthy();
}

#[test]
fn a_cancel_on_a_dead_runner_is_forced_at_its_deadline_and_keeps_the_log() {
    let site = Site::start(&[&LONG[..], &["--cancel-deadline", "1s"]].concat());
    let mut worker = Worker::start(&site, "a", &[]);
    site.submit("orphan", &site.noted("orphan", "echo half-way; sleep 600"));
    site.until_logged("orphan", "half-way\n");
    worker.program.kill();
    assert_eq!(site.cancel("orphan")["over"], false);
    let job = site.until_job("orphan", "CANCELED"); // long before the lease would run out
    assert_eq!(lease_states(&job), ["REVOKED"]);
    until_gone(&site.mark("orphan"));
    assert!(site.log("orphan").contains("half-way\n"));
    site.is_healthy();
}

#[test]
fn a_completion_after_a_cancel_does_not_undo_it() {
    let site = Site::start(&[&LONG[..], &["--cancel-deadline", "60s"]].concat());
    site.submit("both", "true");
    let hand = Hand::new(&site, "a");
    let held = hand.take("both");
    site.cancel("both");
    let said = hand.complete(&held, "SUCCEEDED", 0).expect(200);
    assert_eq!((&said["accepted"], &said["reason"]), (&false.into(), &"CANCEL_REQUESTED".into()));
    assert!(is_over(&site.until_job("both", "CANCELED")));
    assert_stale(&hand.beat(&held, "running"), "LEASE_CANCELED");
    assert_eq!(site.commits("both"), 0);
}

#[test]
fn a_cancelled_run_stops_what_runs_and_what_waits() {
    let site = Site::start(&[&LONG[..], &["--cancel-deadline", "60s"]].concat());
    let _worker = Worker::start(&site, "a", &[]);
    let plan = serde_json::json!({"plan": {"jobs": [
        {"name": "first", "steps": [site.noted("first", "sleep 600")]},
        {"name": "second", "steps": [site.noted("second", "true")], "needs": ["first"]},
    ]}});
    let run = site.post("/v1/tenants/default/runs", &plan).expect(201);
    let path = format!("/v1/tenants/default/runs/{}", run["id"].as_str().expect("an id"));
    site.until_noted("begin first");
    site.post(&format!("{path}/cancel"), &serde_json::json!({"reason": "enough"})).expect(202);
    until_so("the run is reported as cancelled", || {
        let run = site.get(&path).expect(200);
        run["state"] == "REPORTED" && run["outcome"] == "CANCELED"
    });
    let effects = fs::read_to_string(site.path("effects")).unwrap_or_default();
    assert_eq!(effects, "begin first\n");
    site.is_healthy();
}
