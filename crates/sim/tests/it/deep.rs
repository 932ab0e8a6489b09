//! The same models with more that can happen: minutes and gigabytes each. `cargo xtask chaos --profile long` runs them.

use sim::models::work::{Saying, Work};

use crate::leases::one_job;
use crate::runs::two_jobs;
use crate::worlds;

const ALL: [Saying; 4] = [Saying::Heartbeat, Saying::Succeed, Saying::Fail, Saying::CancelAck];

#[test]
#[ignore = "minutes and gigabytes"]
fn three_leases_two_servers_and_a_cancel_in_every_order() {
    assert_eq!(worlds(Work { asks: vec![2, 1], ..one_job(false) }), 7_450_880);
}

#[test]
#[ignore = "minutes and gigabytes"]
fn a_run_with_heartbeats_two_servers_and_a_cancel_in_every_order() {
    assert_eq!(worlds(Work { servers: 2, sayings: ALL.into(), ..two_jobs(false, true) }), 1_794_429);
}

#[test]
#[ignore = "minutes and gigabytes"]
fn two_jobs_side_by_side_two_servers_and_a_cancel_in_every_order() {
    assert_eq!(worlds(Work { servers: 2, ..two_jobs(true, false) }), 1_411_731);
}
