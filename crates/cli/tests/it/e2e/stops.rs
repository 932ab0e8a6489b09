//! Told to stop: a server with leases out, a runner with a job.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use rustix::process::Signal;
use serde_json::json;

use crate::e2e::hand::Hand;
use crate::e2e::marks::until_gone;
use crate::e2e::patience::until_so;
use crate::e2e::site::{ADMIN, LONG, Site};
use crate::e2e::views::executions;
use crate::e2e::worker::Worker;

#[test]
fn a_server_that_stops_sends_waiting_runners_away_and_its_leases_go_on_after_a_restart() {
    let mut site = Site::start(&LONG);
    site.submit("steady", &site.noted("steady", &site.waits_for("go")));
    let worker = Worker::start(&site, "a", &[]);
    site.until_noted("begin steady");
    let poll = {
        let site = &site;
        thread::scope(|scope| {
            let asked = json!({"runner_id": "idle", "wait_seconds": 60});
            let waiting = scope.spawn(move || Hand::new(site, "idle").say("lease", &asked).status);
            site.until_waiting(1);
            site.server.signal(Signal::TERM);
            waiting.join().expect("an answer")
        })
    };
    assert_eq!(poll, 204, "there is no work, and no error");
    assert!(site.server.ended().success());
    site.restart();
    site.touch("go");
    site.ran_once("steady");
    assert_eq!(worker.proxy.leases().len(), 1);
    site.is_healthy();
}

#[test]
fn a_server_that_is_told_twice_ends_at_once() {
    let mut site = Site::start(&LONG);
    // A request that never comes whole: a server that stops waits for it.
    let mut request = TcpStream::connect(site.address()).expect("it listens");
    let head = format!(
        "POST /v1/tenants/default/jobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ADMIN}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n"
    );
    request.write_all(head.as_bytes()).expect("the head is sent");
    let mut awaited = [0; 12];
    request.read_exact(&mut awaited).expect("the body is waited for");
    assert_eq!(&awaited, b"HTTP/1.1 100");
    site.server.signal(Signal::TERM);
    until_so("it stops", || site.server.log().contains("deltaci server stops"));
    site.server.signal(Signal::TERM);
    assert_eq!(site.server.ended().code(), Some(5));
    assert!(site.server.log().contains("ends at once"));
    site.restart();
    site.is_healthy();
}

#[test]
fn a_runner_that_is_told_to_stop_finishes_its_job_and_takes_no_other() {
    let site = Site::start(&LONG);
    site.submit("last", &site.noted("last", &site.waits_for("go")));
    let mut worker = Worker::start(&site, "a", &[]);
    site.until_noted("begin last");
    worker.retire();
    worker.until_says("no new work");
    site.submit("next", &site.noted("next", "true"));
    site.touch("go");
    assert!(worker.program.ended().success());
    site.ran_once("last");
    assert_eq!(site.job("next")["state"], "PENDING");
}

#[test]
fn a_runner_that_is_told_twice_hands_its_job_back() {
    let site = Site::start(&LONG);
    site.submit("handed", &site.noted("handed", &site.waits_for("go")));
    let mut worker = Worker::start(&site, "a", &[]);
    site.until_noted("begin handed");
    worker.retire();
    worker.until_says("no new work");
    worker.retire();
    assert!(worker.program.ended().success());
    until_gone(&site.mark("handed"));
    site.touch("go");
    let _other = Worker::start(&site, "b", &[]);
    site.ran_again("handed");
    let job = site.job("handed");
    assert_eq!(executions(&job)[1]["runner_id"], "b", "at once, not after its lease: {job:#}");
    site.is_healthy();
}

#[test]
fn an_idle_runner_that_is_told_to_stop_leaves_nothing_granted_behind() {
    let site = Site::start(&LONG);
    let mut worker = Worker::start(&site, "a", &[]);
    site.until_waiting(1);
    worker.retire();
    assert!(worker.program.ended().success());
    site.until_waiting(0);
    site.submit("next", &site.noted("next", "true"));
    let _other = Worker::start(&site, "b", &[]);
    site.ran_once("next");
    until_so("nothing is in the folder", || {
        let jobs = std::fs::read_dir(site.path("work").join("a")).map(Iterator::count).unwrap_or(0);
        jobs == 0
    });
}
