//! One job, two runners, two servers.

use sim::models::work::{Saying, Setup, Work};

use crate::worlds;

pub fn one_job(effect_once: bool) -> Work {
    Work {
        setup: Setup::Job { effect_once },
        asks: vec![1, 1],
        servers: 2,
        sayings: vec![Saying::Heartbeat, Saying::Succeed, Saying::Fail, Saying::CancelAck],
        cancel: true,
        retry: false,
        policy: Work::policy(),
    }
}

#[test]
fn one_job_two_runners_and_two_servers_in_every_order() {
    assert_eq!(worlds(one_job(false)), 510_044);
}

#[test]
fn an_effect_that_may_happen_once_in_every_order() {
    assert_eq!(worlds(one_job(true)), 199_210);
}

/// The runner commits first and completes later, or never.
#[test]
fn a_commit_apart_from_its_completion_in_every_order() {
    let sayings = vec![Saying::Commit, Saying::Succeed, Saying::CancelAck];
    assert_eq!(worlds(Work { sayings, servers: 1, ..one_job(false) }), 53_057);
}

/// A cancel that is forced, and a person who wants the job to run after all: what follows waits for the runner who may not
/// have heard of it.
#[test]
fn a_retry_after_a_cancel_in_every_order() {
    let sayings = vec![Saying::Succeed, Saying::CancelAck];
    assert_eq!(worlds(Work { sayings, servers: 1, retry: true, ..one_job(false) }), 120_568);
}

/// Three leases: a job can be lost twice, and fail for it.
#[test]
fn three_leases_on_one_server_in_every_order() {
    let sayings = vec![Saying::Succeed, Saying::Fail];
    let work = Work { asks: vec![2, 1], servers: 1, cancel: false, sayings, ..one_job(false) };
    assert_eq!(worlds(work), 64_476);
}
