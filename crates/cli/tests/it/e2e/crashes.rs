//! Processes killed and frozen: every job ends once, and nothing of it lives on.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::e2e::marks::{marked, until_gone};
use crate::e2e::patience::until;
use crate::e2e::site::{ADMIN, LONG, Site};
use crate::e2e::views::{executions, lease_states};
use crate::e2e::worker::Worker;

/// A run of so many jobs that each note their begin and end, and take so many seconds each.
pub fn run_of(site: &Site, count: usize, seconds: impl Fn(usize) -> f64) -> Value {
    let jobs: Vec<Value> = (0..count)
        .map(|number| {
            let name = format!("job-{number}");
            json!({"name": name, "steps": [site.noted(&name, &format!("sleep {}; echo done", seconds(number)))], "max_attempts": 10})
        })
        .collect();
    site.post("/v1/tenants/default/runs", &json!({"plan": {"jobs": jobs}})).expect(201)
}

/// Until so many jobs of the run have succeeded.
pub fn until_succeeded(site: &Site, run: &Value, count: usize) -> Value {
    let id = run["id"].as_str().expect("an id");
    until(&format!("{count} jobs have succeeded"), || {
        let run = site.get(&format!("/v1/tenants/default/runs/{id}")).expect(200);
        let jobs = run["jobs"].as_array().expect("a list");
        assert!(jobs.iter().all(|job| job["state"] != "FAILED" && job["state"] != "CANCELED"), "{run:#}");
        (jobs.iter().filter(|job| job["state"] == "SUCCEEDED").count() >= count).then_some(run)
    })
}

/// Each job was committed once, and did its work no more often than it was leased.
pub fn each_ended_once(site: &Site, run: &Value) {
    for job in run["jobs"].as_array().expect("a list") {
        let (id, name) = (job["id"].as_str().expect("an id"), job["name"].as_str().expect("a name"));
        assert_eq!(site.commits(id), 1, "{name}");
        let executions = executions(&site.job(id)).len();
        let ended = site.noted_lines(&format!("end {name}"));
        assert!((1..=executions).contains(&ended), "{name} ended {ended} times in {executions} executions");
        assert_eq!(site.noted_lines(&format!("overlap {name}")), 0, "{name}");
    }
    site.is_healthy();
}

#[test]
fn a_server_killed_twice_in_the_middle_of_fifty_jobs_ends_each_exactly_once() {
    let mut site = Site::start(&LONG);
    let run = run_of(&site, 50, |_| 0.1);
    let _workers = ["a", "b"].map(|name| Worker::start(&site, name, &["--slots", "3"]));
    for finished in [10, 25] {
        until_succeeded(&site, &run, finished);
        site.server.kill();
        site.restart();
    }
    let run = until_succeeded(&site, &run, 50);
    each_ended_once(&site, &run);
    until("the run is reported", || {
        let path = format!("/v1/tenants/default/runs/{}", run["id"].as_str()?);
        let shown = site.get(&path).expect(200);
        (shown["state"] == "REPORTED" && shown["outcome"] == "SUCCESS").then_some(())
    });
}

/// Hangs in its first execution, and ends in the next.
pub fn hangs_once(site: &Site, name: &str) -> String {
    let flag = site.path(&format!("{name}.hung")).display().to_string();
    site.noted(name, &format!("if [ ! -e {flag} ]; then touch {flag}; sleep 600 & sleep 600; fi"))
}

#[test]
fn a_killed_runner_leaves_no_process_behind_and_its_job_is_leased_again() {
    let site = Site::start(&[]);
    site.submit("hung", &hangs_once(&site, "hung"));
    let mut first = Worker::start(&site, "first", &[]);
    site.until_noted("begin hung");
    assert!(!marked(&site.mark("hung")).is_empty());
    first.program.kill();
    until_gone(&site.mark("hung"));
    let _second = Worker::start(&site, "second", &[]);
    site.ran_again("hung");
    let job = site.job("hung");
    assert_eq!(lease_states(&job), ["EXPIRED", "COMPLETED"]);
    assert_eq!(executions(&job)[1]["runner_id"], "second");
    until_gone(&site.mark("hung"));
    site.is_healthy();
}

#[test]
fn a_frozen_runners_job_is_gone_before_its_successor_starts_and_it_never_completes_it() {
    let site = Site::start(&["--lease-ttl", "4s"]);
    site.submit("hung", &hangs_once(&site, "hung"));
    let frozen = Worker::start(&site, "frozen", &[]);
    site.until_noted("begin hung");
    frozen.program.signal(Signal::STOP);
    let _second = Worker::start(&site, "second", &[]);
    site.ran_again("hung");
    let before = frozen.proxy.seen("complete").len();
    frozen.program.signal(Signal::CONT);
    frozen.until_says("the job was stopped");
    assert_eq!((before, frozen.proxy.seen("complete").len()), (0, 0), "it says nothing for a lease it lost");
    assert_eq!(lease_states(&site.job("hung")), ["EXPIRED", "COMPLETED"]);
    assert_eq!(site.noted_lines("end hung"), 1);
    site.until_waiting(2); // back to work
    site.is_healthy();
}

#[test]
fn a_result_that_waits_in_a_frozen_runner_is_not_reported_when_the_lease_is_over() {
    let site = Site::start(&["--lease-ttl", "4s"]);
    site.submit("short", &site.noted("short", &site.waits_for("go")));
    let frozen = Worker::start(&site, "frozen", &[]);
    site.until_noted("begin short");
    frozen.program.signal(Signal::STOP);
    site.touch("go"); // it ends well, and nobody hears it
    site.until_noted("end short");
    let _second = Worker::start(&site, "second", &[]);
    site.ran_again("short");
    frozen.program.signal(Signal::CONT);
    frozen.until_says("the job was stopped");
    assert!(frozen.proxy.seen("complete").is_empty());
    assert_eq!(executions(&site.job("short"))[1]["runner_id"], "second");
    site.is_healthy();
}

#[test]
fn a_server_killed_and_restarted_within_the_lease_finds_the_job_still_running() {
    let mut site = Site::start(&LONG);
    site.submit("steady", &site.noted("steady", &site.waits_for("go")));
    let _worker = Worker::start(&site, "a", &[]);
    site.until_noted("begin steady");
    site.server.kill();
    site.restart();
    site.touch("go");
    site.ran_once("steady");
    site.is_healthy();
}

#[test]
fn a_killed_runner_leaves_no_sandbox_behind() {
    let site = Site::start(&LONG);
    site.submit("walled", "echo inside; sleep 600 & sleep 600");
    let mut worker = Worker::start(&site, "a", &["--executor", "sandbox"]);
    site.until_logged("walled", "inside\n");
    assert!(!marked(&site.mark("walled")).is_empty());
    worker.program.kill();
    until_gone(&site.mark("walled"));
}

#[test]
fn a_frozen_server_extends_no_lease_that_ran_out_meanwhile() {
    let site = Site::start(&["--lease-ttl", "4s"]);
    site.submit("hung", &hangs_once(&site, "hung"));
    let worker = Worker::start(&site, "a", &[]);
    site.until_noted("begin hung");
    site.server.signal(Signal::STOP);
    worker.until_says("the job was stopped");
    until_gone(&site.mark("hung"));
    site.server.signal(Signal::CONT); // and hears all the heartbeats at once
    site.ran_again("hung");
    assert_eq!(site.noted_lines("end hung"), 1);
    site.is_healthy();
}

#[test]
fn a_job_that_takes_too_long_is_stopped_by_its_runner() {
    let site = Site::start(&LONG);
    let more = json!({"timeout_seconds": 0.5, "max_attempts": 1});
    site.submit_with("slow", &site.noted("slow", "sleep 600 & sleep 600"), &more);
    let mut worker = Worker::start(&site, "a", &["--once"]);
    let job = site.until_job("slow", "FAILED");
    assert_eq!(job["attempts"][0]["failure_class"], "timeout", "{job:#}");
    assert_eq!(worker.program.ended().code(), Some(6));
    until_gone(&site.mark("slow"));
}

#[test]
fn a_runner_whose_token_is_revoked_stops_its_job_and_leaves() {
    let site = Site::start(&[]);
    let tokens = "/v1/tenants/default/tokens";
    let made = site.post(tokens, &json!({"kind": "runner", "name": "short-lived"})).expect(201);
    let (id, token) = (made["id"].as_str().expect("an id"), made["token"].as_str().expect("a token"));
    site.submit("hung", &hangs_once(&site, "hung"));
    let mut worker = Worker::with_token(&site, "a", token, &[]);
    site.until_noted("begin hung");
    site.send(ADMIN, "DELETE", &format!("{tokens}/{id}"), &Value::Null).expect(204);
    assert_eq!(worker.program.ended().code(), Some(7));
    until_gone(&site.mark("hung"));
    let _other = Worker::start(&site, "b", &[]);
    site.ran_again("hung");
}
