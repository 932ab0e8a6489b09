//! The same models with more that can happen: minutes each. `cargo xtask chaos --profile long` runs them.

use sim::models::work::{Saying, Work};

use crate::leases::one_job;
use crate::runs::two_jobs;
use crate::worlds;

const ALL: [Saying; 4] = [Saying::Heartbeat, Saying::Succeed, Saying::Fail, Saying::CancelAck];

#[test]
#[ignore = "takes minutes"]
fn three_leases_two_servers_and_a_cancel_in_every_order() {
    assert_eq!(worlds(Work { asks: vec![2, 1], ..one_job(false) }), 8_022_720);
}

#[test]
#[ignore = "takes minutes"]
fn three_leases_of_what_may_happen_once_two_servers_and_a_cancel_in_every_order() {
    assert_eq!(worlds(Work { asks: vec![2, 1], ..one_job(true) }), 970_138);
}

#[test]
#[ignore = "takes half a minute"]
fn three_leases_with_heartbeats_in_every_order() {
    let sayings = vec![Saying::Heartbeat, Saying::Succeed, Saying::Fail];
    let work = Work { asks: vec![2, 1], servers: 1, cancel: false, sayings, ..one_job(false) };
    assert_eq!(worlds(work), 580_706);
}

#[test]
#[ignore = "takes minutes"]
fn four_leases_on_one_server_in_every_order() {
    let sayings = vec![Saying::Heartbeat, Saying::Succeed, Saying::Fail];
    assert_eq!(
        worlds(Work { asks: vec![2, 2], servers: 1, cancel: false, sayings, ..one_job(false) }),
        10_689_677
    );
}

#[test]
#[ignore = "takes minutes"]
fn a_commit_apart_from_its_completion_two_servers_and_a_cancel_in_every_order() {
    let sayings = vec![Saying::Heartbeat, Saying::Commit, Saying::Succeed, Saying::CancelAck];
    assert_eq!(worlds(Work { sayings, ..one_job(false) }), 911_268);
}

#[test]
#[ignore = "takes minutes"]
fn a_run_with_heartbeats_two_servers_and_a_cancel_in_every_order() {
    assert_eq!(worlds(Work { servers: 2, sayings: ALL.into(), ..two_jobs(false, true) }), 2_031_933);
}

#[test]
#[ignore = "takes minutes"]
fn two_jobs_side_by_side_two_servers_and_a_cancel_in_every_order() {
    assert_eq!(worlds(Work { servers: 2, ..two_jobs(true, false) }), 1_550_767);
}

#[test]
#[ignore = "takes minutes"]
fn two_jobs_side_by_side_with_heartbeats_and_a_cancel_in_every_order() {
    assert_eq!(worlds(Work { sayings: ALL.into(), ..two_jobs(false, false) }), 7_033_724);
}

#[test]
#[ignore = "takes minutes"]
fn two_jobs_that_fail_fast_with_heartbeats_and_a_cancel_in_every_order() {
    assert_eq!(worlds(Work { sayings: ALL.into(), ..two_jobs(true, false) }), 7_790_398);
}

#[test]
#[ignore = "takes minutes"]
fn a_retry_after_a_cancel_with_heartbeats_in_every_order() {
    let sayings = vec![Saying::Heartbeat, Saying::Succeed, Saying::CancelAck];
    assert_eq!(worlds(Work { sayings, servers: 1, retry: true, ..one_job(false) }), 753_832);
}
