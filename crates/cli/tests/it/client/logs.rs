//! `deltaci logs`: as they are, followed to the end, and through a connection that breaks.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::Value;

use super::job_of;
use crate::harness::{Proxy, Site, wait_until};
use crate::{stderr, stdout};

const PLAN: &str = r#"{"jobs":[
    {"name":"lint","steps":["echo checked"]},
    {"name":"unit-tests","needs":["lint"],"steps":["printf 'no end of line'; exit 3"]}]}"#;

#[test]
fn the_logs_of_a_run_and_of_its_jobs() {
    let site = Site::start().with_runner();
    let plan = site.file("plan.json", PLAN);
    let run = stdout(&site.exits(1, &["trigger", "--plan", &plan, "--wait"])).trim_end().to_string();
    let all = site.said(&["logs", &run]);
    assert!(all.lines().any(|line| line == "lint       │ checked"), "{all}");
    assert!(all.lines().all(|line| line.contains(" │ ")), "{all}");
    let unit = job_of(&site, &run, "unit-tests");
    let one = site.said(&["logs", &unit]);
    assert!(one.lines().any(|line| line == "no end of line") || one.contains("no end of line"), "{one}");
    assert_eq!(site.said(&["logs", &run, "--job", "unit-tests"]), one);
    let json: Value = serde_json::from_str(&site.said(&["logs", &unit, "--json"])).unwrap();
    assert_eq!((&json["name"], &json["state"]), (&"unit-tests".into(), &"FAILED".into()));
    assert!(json["log"].as_str().unwrap().contains("no end of line"));
    let json = site.said(&["logs", &run, "--json"]);
    assert_eq!(json.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count(), 2);
    for (words, says) in [
        (&["logs", &run, "--job", "other"][..], "there are lint, unit-tests"),
        (&["logs", &unit, "--job", "lint"], "this is a job already"),
        (&["logs", "job_00000000000000000000000000"], "no such job"),
        (&["logs", "job_00000000000000000000000000", "--follow"], "no such job"),
        (&["logs", "run_00000000000000000000000000", "--follow"], "no such run"),
    ] {
        let output = site.exits(2, words);
        assert!(stderr(&output).contains(says), "{words:?}: {}", stderr(&output));
    }
}

#[test]
fn a_followed_log_ends_with_the_job_and_exits_by_its_state() {
    let site = Site::start().with_runner();
    let plan = site.file("plan.json", PLAN);
    let run = site.said(&["trigger", "--plan", &plan]);
    let output = site.exits(1, &["logs", &run, "--follow"]);
    for line in ["lint       │ checked", "unit-tests │ no end of line"] {
        assert!(stdout(&output).lines().any(|said| said == line), "{}", stdout(&output));
    }
    assert!(stderr(&output).contains("✗ failed"), "{}", stderr(&output));
    let (lint, unit) = (job_of(&site, &run, "lint"), job_of(&site, &run, "unit-tests"));
    assert!(stdout(&site.exits(0, &["logs", &lint, "--follow"])).contains("\nchecked\n"));
    assert!(stderr(&site.exits(1, &["logs", &unit, "-f"])).contains("exit code 3"));
    let output = site.exits(1, &["logs", &unit, "--follow", "--json"]);
    let events: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.first().unwrap()["event"], "execution");
    assert_eq!(events.last().unwrap()["data"]["state"], "FAILED");
    assert!(events.iter().all(|event| event["job_id"] == unit.as_str() && event["name"] == "unit-tests"));
}

#[test]
fn a_job_that_is_cancelled_or_too_slow_ends_its_followers_so() {
    let site = Site::start().with_runner();
    let run = site.said(&["trigger", "--step", "echo here; sleep 60"]);
    let job = job_of(&site, &run, "job");
    let mut following = site
        .command(&["logs", &job, "--follow"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "here"));
    site.said(&["cancel", &run, "--wait"]);
    assert_eq!(following.wait().unwrap().code(), Some(3));
    let slow = r#"{"jobs":[{"name":"slow","steps":["sleep 60"],"timeout_seconds":0.5,"max_attempts":1}]}"#;
    let run = site.said(&["trigger", "--plan", &site.file("slow.json", slow)]);
    site.exits(6, &["logs", &run, "--job", "slow", "--follow"]);
}

#[test]
fn a_broken_connection_costs_a_follower_nothing() {
    let site = Site::start().with_runner();
    let (first, second) = (site.folder.path().join("first"), site.folder.path().join("second"));
    let wait = |file: &std::path::Path| format!("until test -e {}; do sleep 0.02; done", file.display());
    let steps = ["echo one".to_string(), wait(&first), "echo two".into(), wait(&second), "echo three".into()];
    let words: Vec<&str> = steps.iter().flat_map(|step| ["--step", step.as_str()]).collect();
    let run = site.said(&[&["trigger"][..], &words].concat());
    let job = job_of(&site, &run, "job");

    let proxy = Proxy::before(&site);
    let mut following = site
        .command(&["logs", &job, "--follow", "--server", &proxy.url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(following.stdout.take().unwrap());
    let mut seen = String::new();
    let mut read_until = |seen: &mut String, line: &str| {
        while seen.lines().next_back() != Some(line) {
            assert!(log.read_line(seen).unwrap() > 0, "the log ended before `{line}`:\n{seen}");
        }
    };
    read_until(&mut seen, "one");
    proxy.cut();
    // What is printed while nobody can listen is in the log, and comes later.
    std::fs::write(&first, "").unwrap();
    wait_until("the job printed more", || site.said(&["logs", &job]).lines().any(|line| line == "two"));
    proxy.reopen();
    read_until(&mut seen, "two");
    proxy.cut();
    proxy.reopen();
    std::fs::write(&second, "").unwrap();
    log.read_to_string(&mut seen).unwrap();
    let output = following.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(seen.trim_end(), site.said(&["logs", &job]), "nothing twice, nothing left out");
    assert!(stderr(&output).contains("the connection broke"), "{}", stderr(&output));
}
