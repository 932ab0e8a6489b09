//! Every state of the machines `run`, `attempt` and `lease`, reached through the public API and explained afterwards.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::e2e::hand::{Hand, assert_stale};
use crate::e2e::patience::{until, until_so};
use crate::e2e::site::Site;
use crate::e2e::views::last_attempt;
use crate::{deltaci, stdout};

/// The server waits this much longer than a job may run, so the job that never ends takes half a minute.
const BEAT_EVERY: Duration = Duration::from_millis(300);

const MACHINES: [&str; 3] = ["run", "attempt", "lease"];

type States = BTreeSet<(String, String)>;

#[test]
fn every_state_of_run_attempt_and_lease_is_reached_and_explained() {
    let site = Site::start(&["--run-timeout", "15s", "--lease-ttl", "5s"]);
    let never_taken = triggered(&site, &json!({"name": "a", "steps": ["true"], "runs_on": ["nobody:here"]}));
    let runs = thread::scope(|scope| {
        let endless = scope.spawn(|| a_job_that_never_ends_is_timed_out(&site));
        let lost = scope.spawn(|| an_effect_that_may_happen_once_is_not_tried_again(&site));
        let runs = [
            a_run_that_nobody_can_plan_fails(&site),
            a_run_whose_job_is_completed_succeeds(&site),
            a_run_that_is_cancelled_ends_so(&site),
            a_run_whose_job_fails_fails(&site),
        ];
        a_lease_that_nobody_acknowledges_is_taken_back(&site);
        endless.join().expect("the endless job ends");
        lost.join().expect("the lost job ends");
        runs
    });
    reported(&site, &never_taken, "TIMEOUT");
    let jobs = ["endless", "once", "offered"].map(|name| site.job(name)["uid"].clone());
    let runs = runs.iter().chain([&never_taken]);
    let ids = runs.flat_map(|run| [&run["id"], &run["jobs"][0]["id"]]).cloned().chain(jobs);
    let ids: Vec<String> = ids.filter_map(|id| Some(id.as_str()?.to_owned())).collect();
    let expected = all_states();
    assert_eq!(missing(&expected, &states(&site.events("default", None))), States::new(), "in the audit log");
    assert_eq!(missing(&expected, &explained(&site, &ids)), States::new(), "explained");
    site.is_healthy();
}

fn all_states() -> States {
    let output = deltaci(&["machines", "--json"]);
    let described: Value = serde_json::from_str(stdout(&output)).expect("JSON");
    let machines = described["machines"].as_array().expect("a list");
    let ours = machines.iter().filter(|machine| MACHINES.iter().any(|name| machine["name"] == *name));
    let states = ours.flat_map(|machine| {
        let states = machine["states"].as_array().expect("a list").iter();
        states.map(|state| (text(&machine["name"]), text(&state["name"])))
    });
    states.collect()
}

fn states(events: &[Value]) -> States {
    events.iter().map(|event| (text(&event["machine"]), text(&event["to"]))).collect()
}

fn missing(expected: &States, found: &States) -> States {
    expected.difference(found).cloned().collect()
}

/// What `deltaci explain` says, as JSON and in words, of runs, of jobs, and of each job's executions.
fn explained(site: &Site, ids: &[String]) -> States {
    let mut found = States::new();
    for id in ids {
        let events: Vec<Value> =
            serde_json::from_slice(&site.tool(&["explain", id, "--json"]).stdout).expect("JSON");
        assert_eq!(events.len(), site.events("default", Some(id)).len(), "{id}: the same as the API says");
        let words = site.tool(&["explain", id]);
        for event in &events {
            let step = match event["from"].as_str() {
                Some(from) => format!("{from} -> {}", text(&event["to"])),
                None => text(&event["to"]),
            };
            assert!(stdout(&words).contains(&step), "{id}: {step} is not in\n{}", stdout(&words));
            assert!(event["owner"] != "" && event["event"] != "", "{event}");
        }
        found.extend(states(&events));
    }
    found
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").into()
}

fn triggered(site: &Site, job: &Value) -> Value {
    site.post("/v1/tenants/default/runs", &json!({"plan": {"jobs": [job]}})).expect(201)
}

#[track_caller]
fn reported(site: &Site, run: &Value, outcome: &str) {
    let path = format!("/v1/tenants/default/runs/{}", text(&run["id"]));
    let run = until("the run is reported", || {
        Some(site.get(&path).expect(200)).filter(|run| run["state"] == "REPORTED")
    });
    assert_eq!(run["outcome"], outcome, "{run:#}");
}

fn a_run_that_nobody_can_plan_fails(site: &Site) -> Value {
    let run = site.post("/v1/tenants/default/runs", &json!({"ref": "main"})).expect(201);
    reported(site, &run, "FAILED");
    run
}

fn a_run_whose_job_is_completed_succeeds(site: &Site) -> Value {
    let run = triggered(site, &json!({"name": "a", "steps": ["true"]}));
    let job = text(&run["jobs"][0]["id"]);
    let hand = Hand::new(site, "good");
    let held = hand.take(&job);
    for (phase, state) in [("running", "RUNNING"), ("uploading", "UPLOADING")] {
        hand.beat(&held, phase).expect(200);
        assert_eq!(last_attempt(&site.job(&job))["state"], state);
    }
    hand.complete(&held, "SUCCEEDED", 0).expect(200);
    reported(site, &run, "SUCCESS");
    run
}

fn a_run_that_is_cancelled_ends_so(site: &Site) -> Value {
    let run = triggered(site, &json!({"name": "a", "steps": ["true"]}));
    let hand = Hand::new(site, "obedient");
    let held = hand.take(&text(&run["jobs"][0]["id"]));
    site.post(&format!("/v1/tenants/default/runs/{}/cancel", text(&run["id"])), &json!({})).expect(202);
    until_so("the cancel is told", || hand.beat(&held, "running").expect(200)["cancel_requested"] == true);
    hand.cancel_ack(&held).expect(200);
    reported(site, &run, "CANCELED");
    run
}

fn a_run_whose_job_fails_fails(site: &Site) -> Value {
    let run = triggered(site, &json!({"name": "a", "steps": ["false"], "max_attempts": 1}));
    let hand = Hand::new(site, "bad");
    let held = hand.take(&text(&run["jobs"][0]["id"]));
    hand.complete(&held, "FAILED", 1).expect(200);
    reported(site, &run, "FAILED");
    run
}

fn a_lease_that_nobody_acknowledges_is_taken_back(site: &Site) {
    site.submit("offered", "true");
    let hand = Hand::new(site, "absent");
    let held = hand.lease_job("offered");
    site.until_attempt("offered", "QUEUED");
    assert_stale(&hand.ack(&held), "LEASE_REVOKED");
}

fn an_effect_that_may_happen_once_is_not_tried_again(site: &Site) {
    site.submit_with("once", "true", &json!({"effect": "once"}));
    Hand::new(site, "lost").take("once"); // and never a word again
    let job = site.until_job("once", "FAILED");
    assert_eq!(last_attempt(&job)["state"], "STALE");
    assert_eq!(last_attempt(&job)["failure_class"], "ambiguous");
}

fn a_job_that_never_ends_is_timed_out(site: &Site) {
    site.submit_with("endless", "true", &json!({"timeout_seconds": 0.5, "max_attempts": 1}));
    let hand = Hand::new(site, "endless");
    let held = hand.take("endless");
    let refused = until("the server has enough", || {
        thread::sleep(BEAT_EVERY);
        Some(hand.beat(&held, "running")).filter(|reply| reply.status != 200)
    });
    assert_stale(&refused, "LEASE_REVOKED");
    assert_eq!(last_attempt(&site.job("endless"))["state"], "TIMED_OUT");
}
