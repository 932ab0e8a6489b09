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
        policy: Work::policy(),
    }
}

#[test]
fn one_job_two_runners_and_two_servers_in_every_order() {
    assert_eq!(worlds(one_job(false)), 473_352);
}

#[test]
fn an_effect_that_may_happen_once_in_every_order() {
    assert_eq!(worlds(one_job(true)), 184_618);
}

/// The runner commits first and completes later, or never.
#[test]
fn a_commit_apart_from_its_completion_in_every_order() {
    let sayings = vec![Saying::Commit, Saying::Succeed, Saying::CancelAck];
    assert_eq!(worlds(Work { sayings, servers: 1, ..one_job(false) }), 47_927);
}

/// Three leases: a job can be lost twice, and fail for it.
#[test]
fn three_leases_on_one_server_in_every_order() {
    let sayings = vec![Saying::Heartbeat, Saying::Succeed, Saying::Fail];
    let work = Work { asks: vec![2, 1], servers: 1, cancel: false, sayings, ..one_job(false) };
    assert_eq!(worlds(work), 554_270);
}
