//! Runners that vanish or never begin: what is tried again, how often, and who pays for it.

use crate::script::{check, check_timeless, check_with};
use decisions::Policy;

#[test]
fn a_missed_ack_window_costs_the_job_nothing() {
    check(
        "
        0s    submit J attempts=1
        0s    grant L1 a         -> GRANTED J 1
        29s   tick               -> nothing
        30s   tick               -> moved 1
        30s   state L1           -> REVOKED
        30s   execution L1       -> ABORTED
        30s   attempt J          -> QUEUED
        30s   attempts J         -> 1 of 1
        # However often it happens.
        30s   grant L2 b         -> GRANTED J 1
        60s   tick               -> moved 1
        60s   grant L3 c         -> GRANTED J 1
        90s   tick               -> moved 1
        90s   grant L4 d         -> GRANTED J 1
        120s  tick               -> moved 1
        120s  attempt J          -> QUEUED
        120s  class J            -> none
        120s  grant L5 e         -> GRANTED J 1
        121s  ack L5             -> ACTIVE
        122s  complete L5 ok     -> COMPLETED
        122s  state J            -> SUCCEEDED
    ",
    );
}

#[test]
fn three_missed_acks_in_a_row_bar_the_runner_for_a_minute() {
    check(
        "
        0s    submit J
        0s    grant L1 a         -> GRANTED
        30s   tick               -> moved 1
        30s   grant L2 a         -> GRANTED
        60s   tick               -> moved 1
        60s   grant L3 a         -> GRANTED
        90s   tick               -> moved 1
        90s   grant L4 a         -> barred 60s
        91s   grant L5 a J       -> barred 59s
        91s   grant L6 b         -> GRANTED
        121s  tick               -> moved 1
        149s  grant L7 a         -> barred 1s
        150s  grant L8 a         -> GRANTED
    ",
    );
}

#[test]
fn a_kept_word_ends_the_row_of_missed_acks() {
    check(
        "
        0s    submit J
        0s    submit K
        0s    grant L1 a         -> GRANTED J
        30s   tick               -> moved 1
        30s   grant L2 a         -> GRANTED J
        60s   tick               -> moved 1
        60s   grant L3 a         -> GRANTED J
        61s   ack L3             -> ACTIVE
        62s   grant L4 a         -> GRANTED K
        63s   complete L3 ok     -> COMPLETED
        92s   tick               -> moved 1
        92s   grant L5 a         -> GRANTED K
        122s  tick               -> moved 1
        # Two in a row again, not four.
        122s  grant L6 a         -> GRANTED K
        152s  tick               -> moved 1
        152s  grant L7 a         -> barred 60s
    ",
    );
}

#[test]
fn a_lost_lease_queues_the_same_attempt_twice_then_a_new_one_then_fails() {
    check(
        "
        0s    submit J attempts=2
        0s    grant L1 a         -> GRANTED J 1
        0s    ack L1             -> ACTIVE
        120s  tick               -> moved 1
        120s  attempt J          -> QUEUED
        120s  grant L2 b         -> GRANTED J 1
        120s  ack L2             -> ACTIVE
        240s  tick               -> moved 1
        240s  attempt J          -> QUEUED
        240s  grant L3 c         -> GRANTED J 1
        240s  ack L3             -> ACTIVE
        360s  tick               -> moved 1
        # The third loss ends the attempt; the budget allows one more.
        360s  attempt J#1        -> STALE
        360s  class J#1          -> runner_lost
        360s  why J#1            -> 3 runners were lost with this attempt; attempt 2 of 2 follows
        360s  attempt J#2        -> QUEUED
        360s  state J            -> PENDING
        360s  grant L4 a         -> GRANTED J 2
        360s  ack L4             -> ACTIVE
        480s  tick               -> moved 1
        480s  grant L5 a         -> GRANTED J 2
        480s  ack L5             -> ACTIVE
        600s  tick               -> moved 1
        600s  grant L6 a         -> GRANTED J 2
        600s  ack L6             -> ACTIVE
        720s  tick               -> moved 1
        720s  attempt J#2        -> STALE
        720s  state J            -> FAILED
        720s  class J            -> runner_lost
        720s  why J              -> 3 runners were lost with this attempt; this was attempt 2 of 2
        720s  grant L7 a         -> nothing
        720s  commits J          -> 0
    ",
    );
}

#[test]
fn lost_leases_and_missed_acks_are_counted_apart() {
    check(
        "
        0s    submit J attempts=1
        0s    grant L1 a         -> GRANTED J 1
        0s    ack L1             -> ACTIVE
        120s  tick               -> moved 1
        120s  grant L2 b         -> GRANTED J 1
        150s  tick               -> moved 1
        150s  grant L3 a         -> GRANTED J 1
        150s  ack L3             -> ACTIVE
        270s  tick               -> moved 1
        270s  attempt J          -> QUEUED
        270s  grant L4 a         -> GRANTED J 1
        270s  ack L4             -> ACTIVE
        390s  tick               -> moved 1
        390s  attempt J          -> STALE
        390s  state J            -> FAILED
    ",
    );
}

#[test]
fn a_retried_attempt_may_succeed_after_a_lost_lease() {
    check_with(
        Policy { lost_leases_max: 0, ..Policy::default() },
        "
        0s    submit J
        0s    grant L1 a         -> GRANTED J 1
        0s    ack L1             -> ACTIVE
        120s  tick               -> moved 1
        120s  attempt J#1        -> STALE
        120s  grant L2 b         -> GRANTED J 2
        120s  ack L2             -> ACTIVE
        121s  complete L1 ok     -> refused stale_lease LEASE_EXPIRED
        122s  complete L2 ok     -> COMPLETED
        122s  state J            -> SUCCEEDED
        122s  attempt J#1        -> STALE
        122s  attempt J#2        -> SUCCEEDED
        122s  commits J          -> 1
    ",
    );
}

#[test]
fn an_effect_that_may_happen_once_is_left_to_a_person_after_a_lost_lease() {
    check(
        "
        0s    submit J once
        0s    grant L1 a         -> GRANTED J 1
        0s    ack L1             -> ACTIVE
        120s  tick               -> moved 1
        120s  attempt J          -> STALE
        120s  state J            -> FAILED
        120s  class J            -> ambiguous
        120s  attempts J         -> 1 of 3
        120s  grant L2 b         -> nothing
        999s  tick               -> nothing
        999s  grant L3 b         -> nothing
        999s  retry J            -> attempt 2
        999s  grant L4 b         -> GRANTED J 2
        999s  ack L4             -> ACTIVE
        999s  complete L1 ok     -> refused stale_lease LEASE_EXPIRED
        999s  complete L4 ok     -> COMPLETED
        999s  state J            -> SUCCEEDED
        999s  commits J          -> 1
    ",
    );
}

#[test]
fn an_effect_that_may_happen_once_is_queued_again_when_nobody_began() {
    check(
        "
        0s    submit J once
        0s    grant L1 a         -> GRANTED J 1
        30s   tick               -> moved 1
        30s   attempt J          -> QUEUED
        30s   grant L2 b         -> GRANTED J 1
    ",
    );
}

/// The runner is sure that it failed, but not that nothing happened before.
#[test]
fn an_effect_that_may_happen_once_is_left_to_a_person_after_trouble_around_it() {
    check_timeless(
        "
        -  submit J once
        -  grant L1 a                                           -> GRANTED J 1
        -  ack L1                                               -> ACTIVE
        -  complete L1 fail exit=1 connection reset by peer          -> COMPLETED
        -  class J                                              -> ambiguous
        -  attempts J                                           -> 1 of 3
        -  submit K once
        -  grant L2 a                                           -> GRANTED K 1
        -  ack L2                                               -> ACTIVE
        -  complete L2 fail exit=124 the job timed out               -> COMPLETED
        -  class K                                              -> ambiguous
        -  submit L once
        -  grant L3 a                                           -> GRANTED L 1
        -  ack L3                                               -> ACTIVE
        -  complete L3 fail exit=125 runner startup: no such image   -> COMPLETED
        -  class L#1                                            -> runner_startup
        -  attempts L                                           -> 2 of 3
        # Runners say that also of a job whose steps have begun, or are over.
        -  submit M once
        -  grant L4 a M                                         -> GRANTED M 1
        -  ack L4                                               -> ACTIVE
        -  complete L4 fail exit=125 executor unavailable: the engine is gone -> COMPLETED
        -  class M                                              -> ambiguous
        -  attempts M                                           -> 1 of 3
    ",
    );
}

/// What a job writes last stands in the summary too, and may be anything.
#[test]
fn a_job_does_not_speak_for_its_runner() {
    check_timeless(
        "
        -  submit J once
        -  grant L1 a                                           -> GRANTED J 1
        -  ack L1                                               -> ACTIVE
        -  complete L1 fail exit=1 step 1 of 1 ended with exit code 1: Error: failed to start containers: web -> COMPLETED
        -  class J                                              -> ambiguous
        -  attempts J                                           -> 1 of 3
        -  submit K once
        -  grant L2 a                                           -> GRANTED K 1
        -  ack L2                                               -> ACTIVE
        -  complete L2 fail exit=1 step 1 of 1 ended with exit code 1: runner startup: no -> COMPLETED
        -  class K                                              -> failure
        -  attempts K                                           -> 1 of 3
        -  submit M
        -  grant L3 a                                           -> GRANTED M 1
        -  ack L3                                               -> ACTIVE
        -  complete L3 fail exit=1 step 1 of 1 ended with exit code 1: the job timed out -> COMPLETED
        -  class M                                              -> failure
    ",
    );
}

#[test]
fn a_job_that_its_runner_timed_out_or_handed_back_says_so() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a                                                   -> GRANTED J 1
        -  ack L1                                                       -> ACTIVE
        -  complete L1 fail exit=124 the job timed out: longer than 3 s      -> COMPLETED
        -  class J                                                      -> timeout
        -  attempts J                                                   -> 1 of 3
        -  submit K
        -  grant L2 a                                                   -> GRANTED K 1
        -  ack L2                                                       -> ACTIVE
        -  complete L2 fail exit=125 executor unavailable: the runner was told to stop -> COMPLETED
        -  class K#1                                                    -> runner_lost
        -  attempts K                                                   -> 2 of 3
    ",
    );
}

#[test]
fn a_runner_lost_while_uploading_is_lost_like_any_other() {
    check(
        "
        0s    submit J
        0s    grant L1 a               -> GRANTED
        0s    ack L1                   -> ACTIVE
        1s    heartbeat L1             -> RUNNING
        2s    heartbeat L1 uploading   -> UPLOADING
        3s    heartbeat L1             -> UPLOADING
        123s  tick                     -> moved 1
        123s  attempt J                -> QUEUED
        123s  state L1                 -> EXPIRED
    ",
    );
}

#[test]
fn the_first_heartbeat_may_already_announce_the_upload() {
    check(
        "
        0s    submit J
        0s    grant L1 a               -> GRANTED
        0s    ack L1                   -> ACTIVE
        0s    attempt J                -> STARTING
        1s    heartbeat L1 uploading   -> UPLOADING
        2s    complete L1 ok           -> COMPLETED
        2s    attempt J                -> SUCCEEDED
    ",
    );
}

#[test]
fn a_run_survives_the_loss_of_every_runner_once() {
    check(
        "
        0s    run R build test:needs=build
        0s    grant L1 a         -> GRANTED build
        0s    ack L1             -> ACTIVE
        0s    state R            -> RUNNING
        120s  tick               -> moved 1
        120s  state R            -> RUNNING
        120s  grant L2 b         -> GRANTED build
        120s  ack L2             -> ACTIVE
        121s  complete L2 ok     -> COMPLETED
        121s  tick               -> moved 1
        121s  grant L3 b         -> GRANTED test
        121s  ack L3             -> ACTIVE
        241s  tick               -> moved 1
        241s  grant L4 c         -> GRANTED test
        241s  ack L4             -> ACTIVE
        242s  complete L4 ok     -> COMPLETED
        242s  state R            -> REPORTED SUCCESS
    ",
    );
}
