//! An orchestrator that fails, hangs, forgets and revokes.

use std::time::Duration;

use runner::agent::Left;
use runner::session::{End, Outcome};
use wire::runner::StaleReason;

use super::orchestrator::{Fault, Orchestrator};
use super::world::{Ended, World, block_on, steps};

fn once(orchestrator: Orchestrator) -> (End, Ended) {
    block_on(async {
        match World::once(orchestrator).await.left().await {
            (Left::Once(end), ended) => (end, ended),
            (other, _) => panic!("{other:?}"),
        }
    })
}

fn with_job(job: &[&str]) -> Orchestrator {
    let orchestrator = Orchestrator::default();
    orchestrator.with(|inner| inner.queue.push_back(steps(job)));
    orchestrator
}

fn succeeded(end: &End) -> bool {
    matches!(end, End::Completed(verdict) if verdict.outcome == Outcome::Succeeded)
}

#[test]
fn lost_answers_are_asked_for_again() {
    let orchestrator = with_job(&["print x"]);
    orchestrator.fault("lease", [Fault::Status(503)]);
    orchestrator.fault("ack", [Fault::LoseAnswer, Fault::Status(500)]);
    orchestrator.fault("complete", [Fault::LoseAnswer, Fault::Status(503)]);
    let (end, ended) = once(orchestrator);
    assert!(succeeded(&end), "{end:?}");
    let complete = "complete SUCCEEDED 0";
    assert_eq!(ended.words(), ["ack", "ack", "ack", complete, complete, complete]);
}

#[test]
fn a_server_that_hangs_costs_a_request_and_not_the_job() {
    let orchestrator = with_job(&["print x"]);
    orchestrator.with(|inner| inner.interval = 0.4);
    orchestrator.fault("ack", [Fault::Hang]);
    orchestrator.fault("complete", [Fault::Hang]);
    orchestrator.fault("log", [Fault::Hang]);
    let (end, ended) = once(orchestrator);
    assert!(succeeded(&end), "{end:?}");
    assert!(ended.log.ends_with("$ print x\nx\n"), "{}", ended.log);
}

#[test]
fn heartbeats_go_on_while_an_upload_hangs() {
    block_on(async {
        let orchestrator = with_job(&["print x", "wait"]);
        orchestrator.with(|inner| inner.interval = 0.2);
        orchestrator.fault("log", [Fault::Hang; 1000]);
        let world = World::once(orchestrator).await;
        let beats = |inner: &mut super::orchestrator::Inner| {
            inner.heard.iter().filter(|heard| *heard == "heartbeat").count() >= 5
        };
        world.until("five heartbeats", beats).await;
        // Many, because on a slow machine an answer may come after the agent has stopped waiting for it.
        world.orchestrator.fault("heartbeat", [Fault::Stale("LEASE_REVOKED"); 1000]);
        let keepers = world.keepers.clone();
        let (left, _) = world.left().await;
        assert_eq!(left, Left::Once(End::Stale(StaleReason::LeaseRevoked)));
        assert!(keepers.seen.lock().expect("not poisoned").extended >= 4);
    });
}

#[test]
fn a_stale_lease_stops_the_job_and_nothing_more_is_said() {
    let orchestrator = with_job(&["print x", "stuck"]);
    orchestrator.with(|inner| inner.interval = 0.2);
    orchestrator.fault("heartbeat", [Fault::Status(503)]);
    orchestrator.fault("heartbeat", [Fault::Stale("LEASE_EXPIRED"); 1000]);
    let (end, ended) = once(orchestrator);
    assert_eq!(end, End::Stale(StaleReason::LeaseExpired));
    assert_eq!(ended.words(), ["ack"]);
    assert!(ended.count("heartbeat") >= 2);
}

#[test]
fn renewals_that_fail_to_the_end_stop_the_job_without_a_word() {
    let orchestrator = with_job(&["stuck"]);
    orchestrator.with(|inner| (inner.ttl, inner.interval) = (2.0, 0.2));
    orchestrator.fault("heartbeat", [Fault::Status(503); 1000]);
    let (end, ended) = once(orchestrator);
    assert_eq!(end, End::LeaseLost);
    assert!(ended.words().iter().all(|word| *word == "ack"), "{:?}", ended.heard);
    assert!(ended.count("heartbeat") > 1);
}

#[test]
fn a_lease_that_was_not_acknowledged_is_acknowledged_again() {
    let orchestrator = with_job(&["print x", "wait"]);
    orchestrator.fault("heartbeat", [Fault::NotAcknowledged, Fault::Cancel]);
    let (end, ended) = once(orchestrator);
    assert_eq!(end, End::Canceled);
    assert_eq!(ended.words(), ["ack", "ack", "cancel-ack"]);
}

#[test]
fn a_stale_ack_starts_nothing() {
    let orchestrator = with_job(&["print x"]);
    orchestrator.fault("ack", [Fault::Stale("LEASE_REVOKED")]);
    block_on(async {
        let world = World::once(orchestrator).await;
        let keepers = world.keepers.clone();
        let (left, ended) = world.left().await;
        assert_eq!(left, Left::Once(End::Stale(StaleReason::LeaseRevoked)));
        assert_eq!(ended.heard, ["ack"]);
        assert!(keepers.seen.lock().expect("not poisoned").orders.is_empty());
    });
}

#[test]
fn a_token_that_is_not_good_ends_the_agent() {
    block_on(async {
        let world = World::begin(with_job(&["print x"]), 2, false, "dci_another").await;
        let (left, ended) = world.left().await;
        assert_eq!(left, Left::Unauthorized);
        assert!(ended.heard.is_empty());
    });
}

#[test]
fn a_token_that_is_revoked_stops_the_job() {
    let orchestrator = with_job(&["stuck"]);
    orchestrator.fault("heartbeat", [Fault::Status(401)]);
    let (end, ended) = once(orchestrator);
    assert_eq!(end, End::Unauthorized);
    assert_eq!(ended.words(), ["ack"]);
}

#[test]
fn a_job_is_told_once_that_its_log_is_cut() {
    block_on(async {
        let orchestrator = with_job(&["print x", "wait"]);
        orchestrator.with(|inner| inner.log_truncated = true);
        let world = World::once(orchestrator).await;
        let cut = |log: &[u8]| String::from_utf8_lossy(log).matches("longer than the server keeps").count();
        world.until("the note", |inner| cut(&inner.log) == 1).await;
        tokio::time::sleep(Duration::from_millis(50)).await; // a second note would follow the first
        world.stop.send_replace(runner::agent::Stop::HandBack);
        let (_, ended) = world.left().await;
        assert_eq!(cut(ended.log.as_bytes()), 1, "{}", ended.log);
    });
}
