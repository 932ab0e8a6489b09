//! What is reported when the job is not the one to blame.

use runner::session::{Plan, Verdict};

use crate::script::{check, check_with, usual};

#[test]
fn a_job_that_ran_too_long_says_so() {
    check("
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     finished timed-out        -> complete TIMED_OUT 124 (the job timed out: it ran longer than 3600 s)
        1.1s   complete accepted         -> over completed timedout
    ");
}

#[test]
fn a_keeper_that_vanishes_is_no_fault_of_the_job() {
    check("
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     step 0
        2s     gone                      -> complete INFRA 125 (executor unavailable: the keeper of the job ended without a result)
        2.1s   complete accepted         -> over completed infra
    ");
}

#[test]
fn trouble_before_the_first_step_is_trouble_with_starting() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     finished infra no git     -> complete INFRA 125 (runner startup: no git)
    ",
    );
}

#[test]
fn trouble_in_the_middle_is_trouble_with_the_executor() {
    check("
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     step 0
        2s     finished infra the engine is gone -> complete INFRA 125 (executor unavailable: the engine is gone)
    ");
}

#[test]
fn a_keeper_that_missed_a_renewal_hands_the_job_back_while_the_lease_lives() {
    check("
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        2s     finished out-of-lease     -> complete INFRA 125 (executor unavailable: the keeper heard of no renewal in time)
    ");
}

#[test]
fn a_job_that_this_runner_cannot_execute_is_failed_once_it_is_acknowledged() {
    let plan = Plan::Refuse(Verdict::not_executable("no steps"));
    check_with(
        usual(),
        plan,
        "
        0s     begin                     -> ack
        -      written 9
        0.1s   ack acked                 -> log 0
        0.2s   log logged 9              -> complete FAILED 1 (no steps)
        0.3s   complete accepted         -> over completed failed
    ",
    );
}
