//! Who gets which job: races, slots, capabilities, priorities, tenants in turn.

use std::thread;

use serde_json::{Value, json};

use crate::e2e::hand::Hand;
use crate::e2e::patience::until;
use crate::e2e::site::{LONG, Site};
use crate::e2e::views::executions;
use crate::e2e::worker::Worker;

#[test]
fn of_two_runners_racing_for_one_job_exactly_one_gets_it() {
    let site = Site::start(&LONG);
    for round in 0..10 {
        let job = format!("raced-{round}");
        site.submit(&job, "true");
        let mut answers: Vec<u16> = thread::scope(|scope| {
            let racers = ["first", "second"].map(|name| {
                let (site, job) = (&site, &job);
                scope.spawn(move || Hand::new(site, name).ask_for(job).status)
            });
            racers.into_iter().map(|racer| racer.join().expect("an answer")).collect()
        });
        answers.sort_unstable();
        assert_eq!(answers, [200, 423]);
    }
}

#[test]
fn of_two_waiting_runners_each_job_is_executed_by_one() {
    let site = Site::start(&LONG);
    let workers = ["a", "b"].map(|name| Worker::start(&site, name, &[]));
    for round in 0..5 {
        site.until_waiting(2);
        let job = format!("raced-{round}");
        site.submit(&job, &site.noted(&job, "sleep 0.2"));
        site.ran_once(&job);
    }
    let granted: usize = workers.iter().map(|worker| worker.proxy.leases().len()).sum();
    assert_eq!(granted, 5);
    site.is_healthy();
}

#[test]
fn a_runner_for_once_executes_one_job_and_exits_with_its_code() {
    let site = Site::start(&LONG);
    for (name, script, code) in [("good", "true", 0), ("bad", "exit 9", 1), ("never", "true", -1)] {
        site.submit_with(name, script, &json!({"max_attempts": 1}));
        if code >= 0 {
            let mut worker = Worker::start(&site, name, &["--once"]);
            assert_eq!(worker.program.ended().code(), Some(code), "{name}");
        }
    }
    assert_eq!(site.job("bad")["state"], "FAILED");
    assert_eq!(site.job("never")["state"], "PENDING", "each took one");
}

#[test]
fn three_slots_execute_three_jobs_at_a_time() {
    let site = Site::start(&LONG);
    let worker = Worker::start(&site, "wide", &["--slots", "3"]);
    for name in ["a", "b", "c", "d"] {
        site.submit(name, &site.noted(name, &site.waits_for("go")));
    }
    until("three of four have begun", || {
        let begun = ["a", "b", "c", "d"].iter().filter(|name| site.job(name)["state"] == "RUNNING");
        (begun.count() == 3).then_some(())
    });
    site.touch("go");
    let runners: Vec<Value> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| {
            site.ran_once(name);
            executions(&site.job(name))[0]["runner_id"].clone()
        })
        .collect();
    for id in ["wide-1", "wide-2", "wide-3"] {
        assert!(runners.contains(&json!(id)), "{runners:?}");
    }
    assert_eq!(worker.proxy.leases().len(), 4);
}

#[test]
fn a_job_waits_for_a_runner_that_can_do_it() {
    let site = Site::start(&LONG);
    let plain = Worker::start(&site, "plain", &[]);
    site.submit_with("special", &site.noted("special", "true"), &json!({"runs_on": ["gpu:big", "os:linux"]}));
    site.submit("usual", &site.noted("usual", "true"));
    site.ran_once("usual");
    site.until_waiting(1);
    assert_eq!(site.job("special")["state"], "PENDING");
    let fitting = Worker::start(&site, "fitting", &["--capability", "gpu:big"]);
    site.ran_once("special");
    assert_eq!((plain.proxy.leases().len(), fitting.proxy.leases().len()), (1, 1));
}

/// The jobs of a tenant in the order they were leased, with when.
fn leased(site: &Site, tenant: &str, jobs: &[String]) -> Vec<(String, String)> {
    let mut leased: Vec<(String, String)> = jobs
        .iter()
        .map(|name| {
            let path = format!("/v1/tenants/{tenant}/jobs/{name}");
            let job = until(&format!("{name} has succeeded"), || {
                Some(site.get(&path).expect(200)).filter(|job| job["state"] == "SUCCEEDED")
            });
            let at = executions(&job)[0]["granted_at"].as_str().expect("a time").to_owned();
            (at, name.clone())
        })
        .collect();
    leased.sort();
    leased
}

#[test]
fn a_shared_runner_serves_tenants_in_turn_and_each_by_priority_then_age() {
    let site = Site::start(&LONG);
    let mut all = Vec::new();
    // The first tenant has all its jobs queued before the second has any.
    for tenant in ["acme", "beta"] {
        site.post("/v1/tenants", &json!({"name": tenant, "desired_config": {}})).expect(201);
        for (number, priority) in [0, 0, 5, 0].into_iter().enumerate() {
            let job = json!({"job_id": format!("{tenant}-{number}"), "payload": {"steps": ["true"]},
                "priority": priority});
            site.post(&format!("/v1/tenants/{tenant}/jobs"), &job).expect(201);
        }
    }
    let shared = site.token("/v1/admin/tokens", "runner");
    let _worker = Worker::with_token(&site, "shared", &shared, &[]);
    for tenant in ["acme", "beta"] {
        let names: Vec<String> = (0..4).map(|number| format!("{tenant}-{number}")).collect();
        let order = leased(&site, tenant, &names);
        let by_priority: Vec<String> =
            [2, 0, 1, 3].iter().map(|number| format!("{tenant}-{number}")).collect();
        assert_eq!(order.iter().map(|(_, name)| name.clone()).collect::<Vec<_>>(), by_priority);
        all.extend(order);
    }
    all.sort();
    let turns: Vec<&str> = all.iter().map(|(_, name)| &name[..4]).collect();
    assert!(turns.windows(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
}
