//! The wire cut, slow and late.

use std::thread::sleep;
use std::time::Duration;

use crate::e2e::hand::{Hand, assert_stale};
use crate::e2e::marks::until_gone;
use crate::e2e::patience::until_so;
use crate::e2e::proxy::{Fault, Gate};
use crate::e2e::site::{LONG, Site};
use crate::e2e::views::{executions, lease_states};
use crate::e2e::worker::Worker;

#[test]
fn a_cut_shorter_than_the_lease_costs_nothing() {
    let site = Site::start(&LONG);
    site.submit("steady", &site.noted("steady", &site.waits_for("go")));
    let cut_off = Worker::start(&site, "cut-off", &[]);
    site.until_noted("begin steady");
    let _other = Worker::start(&site, "other", &[]);
    cut_off.proxy.cut();
    sleep(Duration::from_secs(2)); // several heartbeats are lost
    site.touch("go"); // its end, too, falls into the cut
    site.until_noted("end steady");
    cut_off.proxy.heal();
    site.ran_once("steady");
    site.is_healthy();
}

#[test]
fn a_cut_longer_than_the_lease_stops_the_job_before_another_runner_starts_it() {
    let site = Site::start(&["--lease-ttl", "4s"]);
    let flag = site.path("hung").display().to_string();
    let script = format!("if [ ! -e {flag} ]; then touch {flag}; sleep 600; fi");
    site.submit("moved", &site.noted("moved", &script));
    let cut_off = Worker::start(&site, "cut-off", &[]);
    site.until_noted("begin moved");
    cut_off.proxy.cut();
    let _other = Worker::start(&site, "other", &[]);
    site.ran_again("moved");
    let job = site.job("moved");
    assert_eq!(lease_states(&job), ["EXPIRED", "COMPLETED"]);
    assert_eq!(executions(&job)[1]["runner_id"], "other");
    cut_off.until_says("the job was stopped");
    cut_off.proxy.heal();
    site.until_waiting(2); // it is back
    assert!(cut_off.proxy.seen("complete").is_empty());
    until_gone(&site.mark("moved"));
    site.is_healthy();
}

#[test]
fn a_completion_that_arrives_after_the_lease_is_refused_as_stale() {
    let site = Site::start(&[]);
    let gate = Gate::default();
    let slow = Worker::start(&site, "slow", &["--once"]);
    slow.proxy.fail("complete", usize::MAX, Fault::Hold(gate.clone()));
    site.submit("late", &site.noted("late", "echo said"));
    until_so("the result is on its way", || !slow.proxy.seen("complete").is_empty());
    slow.until_says("could not be renewed");
    let _other = Worker::start(&site, "other", &[]);
    site.ran_again("late");
    gate.open();
    until_so("the late ones arrive", || slow.proxy.seen("complete").iter().all(|late| late.answer.is_some()));
    for late in slow.proxy.seen("complete") {
        assert_eq!(late.status(), Some(409));
        assert_eq!(late.answered()["reason"], "LEASE_EXPIRED");
    }
    assert_eq!(site.commits("late"), 1);
    assert_eq!(lease_states(&site.job("late")), ["EXPIRED", "COMPLETED"]);
    site.is_healthy();
}

#[test]
fn a_heartbeat_that_arrives_after_the_lease_does_not_revive_it() {
    let site = Site::start(&[]);
    let gate = Gate::default();
    let slow = Worker::start(&site, "slow", &["--once"]);
    slow.proxy.fail("heartbeat", usize::MAX, Fault::Hold(gate.clone()));
    site.submit("silent", &site.noted("silent", &site.waits_for("go")));
    slow.until_says("could not be renewed");
    until_gone(&site.mark("silent"));
    site.until_attempt("silent", "QUEUED");
    gate.open();
    until_so("they arrive", || slow.proxy.seen("heartbeat").iter().all(|late| late.answer.is_some()));
    assert!(slow.proxy.seen("heartbeat").iter().all(|late| late.status() == Some(409)));
    site.touch("go");
    let _other = Worker::start(&site, "other", &[]);
    site.ran_again("silent");
    site.is_healthy();
}

#[test]
fn an_acknowledgement_that_arrives_too_late_starts_nothing() {
    let site = Site::start(&["--ack-timeout", "1s"]);
    let gate = Gate::default();
    let slow = Worker::start(&site, "slow", &["--once"]);
    slow.proxy.fail("ack", usize::MAX, Fault::Hold(gate.clone()));
    site.submit("offered", &site.noted("offered", "true"));
    until_so("the lease is taken back", || lease_states(&site.job("offered")) == ["REVOKED"]);
    gate.open();
    slow.until_says("the job was stopped");
    let late = slow.proxy.seen("ack");
    assert!(late.iter().flat_map(|late| late.status()).all(|status| status == 409), "{late:?}");
    assert_eq!(site.noted_lines("begin offered"), 0);
    let _other = Worker::start(&site, "other", &[]);
    site.ran_again("offered");
    assert_eq!(site.noted_lines("begin offered"), 1);
    site.is_healthy();
}

#[test]
fn every_word_for_a_lease_that_ran_out_is_refused() {
    let site = Site::start(&[]);
    site.submit("lost", "true");
    let first = Hand::new(&site, "first");
    let lost = first.take("lost");
    first.append(&lost, 0, b"half of").expect(200);
    site.until_attempt("lost", "QUEUED"); // when the first has run out
    let second = Hand::new(&site, "second");
    let held = second.take("lost");
    for reply in [
        first.ack(&lost),
        first.beat(&lost, "running"),
        first.complete(&lost, "SUCCEEDED", 0),
        first.cancel_ack(&lost),
        first.append(&lost, 7, b" it"),
    ] {
        assert_stale(&reply, "LEASE_EXPIRED");
    }
    // Nor may one runner speak with the other's lease.
    assert_stale(&first.complete(&held, "SUCCEEDED", 0), "LEASE_UNKNOWN");
    second.complete(&held, "SUCCEEDED", 0).expect(200);
    assert!(site.log("lost").contains("half of"), "what came in time is kept");
    assert_eq!(site.commits("lost"), 1);
    site.is_healthy();
}
