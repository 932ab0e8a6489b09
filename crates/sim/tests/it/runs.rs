//! A run of two jobs.

use sim::models::work::{Saying, Setup, Work};

use crate::worlds;

pub fn two_jobs(fail_fast: bool, chained: bool) -> Work {
    Work {
        setup: Setup::Run { fail_fast, chained },
        asks: vec![1, 1],
        servers: 1,
        sayings: vec![Saying::Succeed, Saying::Fail],
        cancel: true,
        retry: false,
        policy: Work::policy(),
    }
}

#[test]
fn a_job_that_needs_another_in_every_order() {
    assert_eq!(worlds(two_jobs(false, true)), 141_018);
}

#[test]
fn a_job_that_needs_another_on_two_servers_in_every_order() {
    assert_eq!(worlds(Work { servers: 2, cancel: false, ..two_jobs(true, true) }), 77_167);
}

#[test]
fn two_jobs_side_by_side_that_fail_fast_in_every_order() {
    assert_eq!(worlds(Work { cancel: false, ..two_jobs(true, false) }), 151_995);
}
