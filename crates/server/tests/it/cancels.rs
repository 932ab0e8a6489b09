//! Cancelling a job: two phases where a runner is at work, one where none is, and never after the effect.

use crate::script::{check, check_timeless};

#[test]
fn a_cancel_before_the_completion_wins() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a            -> GRANTED
        -  ack L1                -> ACTIVE
        -  cancel J              -> asked
        -  attempt J             -> CANCEL_REQUESTED
        -  complete L1 ok        -> not_accepted CANCELED
        -  state J               -> CANCELED
        -  execution L1          -> ABORTED
        -  commits J             -> 0
        # Said again, in either way, it gets the same answer.
        -  complete L1 ok        -> not_accepted CANCELED
        -  cancel-ack L1         -> CANCELED
        -  complete L1 fail      -> refused stale_lease LEASE_CANCELED
        -  cancel J              -> over
    ",
    );
}

#[test]
fn a_completion_before_the_cancel_wins() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a            -> GRANTED
        -  ack L1                -> ACTIVE
        -  complete L1 ok        -> COMPLETED
        -  cancel J              -> refused job_over SUCCEEDED
        -  cancel-ack L1         -> refused stale_lease LEASE_COMPLETED
        -  state J               -> SUCCEEDED
    ",
    );
}

#[test]
fn cancel_and_completion_in_one_batch_are_taken_in_order() {
    check_timeless(
        "
        -  submit J
        -  submit K
        -  grant L1 a J          -> GRANTED
        -  grant L2 a K          -> GRANTED
        -  ack L1                -> ACTIVE
        -  ack L2                -> ACTIVE
        -  cancel J              -> asked
        +  complete L1 ok        -> not_accepted
        +  complete L2 ok        -> COMPLETED
        +  cancel K              -> refused job_over SUCCEEDED
        -  state J               -> CANCELED
        -  state K               -> SUCCEEDED
    ",
    );
}

#[test]
fn the_runner_learns_of_the_cancel_with_its_heartbeat_and_acknowledges() {
    check(
        "
        0s   submit J
        0s   grant L1 a          -> GRANTED
        0s   ack L1              -> ACTIVE
        1s   heartbeat L1        -> RUNNING
        2s   cancel-ack L1       -> refused cancel_not_requested
        5s   cancel J            -> asked
        6s   cancel J            -> asked
        7s   heartbeat L1        -> CANCEL_REQUESTED in 28s
        8s   commit L1           -> refused cancel_requested
        9s   cancel-ack L1 stopped in step one  -> CANCELED
        9s   state J             -> CANCELED
        9s   attempt J           -> CANCELED
        9s   execution L1        -> ABORTED
        10s  cancel-ack L1       -> CANCELED
        10s  heartbeat L1        -> refused stale_lease LEASE_CANCELED
        99s  tick                -> nothing
    ",
    );
}

#[test]
fn a_queued_job_is_cancelled_at_once() {
    check_timeless(
        "
        -  submit J
        -  cancel J              -> over
        -  attempt J             -> CANCELED
        -  state J               -> CANCELED
        -  grant L1 a            -> nothing
    ",
    );
}

#[test]
fn a_job_whose_lease_was_not_acknowledged_is_cancelled_at_once() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a            -> GRANTED
        -  cancel J              -> over
        -  state L1              -> REVOKED
        -  execution L1          -> ABORTED
        -  attempt J             -> CANCELED
        -  ack L1                -> refused stale_lease LEASE_REVOKED
        -  state J               -> CANCELED
    ",
    );
}

#[test]
fn a_cancel_is_forced_at_its_deadline() {
    check(
        "
        0s     submit J
        0s     grant L1 a        -> GRANTED
        0s     ack L1            -> ACTIVE
        10s    cancel J          -> asked
        35s    heartbeat L1      -> CANCEL_REQUESTED in 5s
        39.9s  tick
        39.9s  attempt J         -> CANCEL_REQUESTED
        40s    tick              -> moved 1
        40s    attempt J         -> CANCELED
        40s    state L1          -> REVOKED
        40s    execution L1      -> ABORTED
        41s    complete L1 ok    -> refused stale_lease LEASE_REVOKED
        41s    cancel-ack L1     -> refused stale_lease LEASE_REVOKED
        41s    state J           -> CANCELED
        41s    commits J         -> 0
    ",
    );
}

#[test]
fn a_lease_that_expires_while_a_cancel_is_open_ends_the_job() {
    check(
        "
        0s    submit J
        0s    grant L1 a         -> GRANTED
        0s    ack L1             -> ACTIVE
        110s  cancel J           -> asked
        120s  cancel-ack L1      -> refused stale_lease LEASE_EXPIRED
        120s  tick               -> moved 1
        120s  state L1           -> EXPIRED
        120s  execution L1       -> ABORTED
        120s  attempt J          -> CANCELED
        120s  state J            -> CANCELED
        140s  tick               -> nothing
    ",
    );
}

#[test]
fn an_effect_that_may_happen_once_is_cancelled_too_when_its_lease_expires_meanwhile() {
    check(
        "
        0s    submit J once
        0s    grant L1 a         -> GRANTED
        0s    ack L1             -> ACTIVE
        110s  cancel J           -> asked
        120s  tick               -> moved 1
        120s  attempt J          -> CANCELED
        120s  class J            -> none
    ",
    );
}

#[test]
fn a_job_that_times_out_while_a_cancel_is_open_is_cancelled() {
    check(
        "
        0s    submit J timeout=60s
        0s    grant L1 a         -> GRANTED
        0s    ack L1             -> ACTIVE
        80s   cancel J           -> asked
        90s   tick               -> moved 1
        90s   attempt J          -> CANCELED
        90s   state L1           -> REVOKED
    ",
    );
}

#[test]
fn a_cancel_reaches_a_job_that_uploads() {
    check(
        "
        0s    submit J
        0s    grant L1 a               -> GRANTED
        0s    ack L1                   -> ACTIVE
        1s    heartbeat L1 uploading   -> UPLOADING
        2s    cancel J                 -> asked
        3s    heartbeat L1             -> CANCEL_REQUESTED in 29s
        4s    complete L1 ok           -> not_accepted CANCELED
        4s    state J                  -> CANCELED
    ",
    );
}

#[test]
fn a_cancelled_job_may_be_retried_by_a_person() {
    check(
        "
        -  submit J attempts=1
        -  cancel J              -> over
        -  retry J               -> attempt 2
        -  attempts J            -> 2 of 2
        -  attempt J#1           -> CANCELED
        -  grant L1 a            -> GRANTED J 2
        -  retry J               -> refused job_not_retryable it has not failed
        -  ack L1                -> ACTIVE
        -  complete L1 ok        -> COMPLETED
        -  retry J               -> refused job_not_retryable it has not failed
    ",
    );
}

/// Its runner may still be waiting for the answer to a heartbeat, and go on until its time is over.
#[test]
fn what_was_stopped_by_force_does_not_run_again_before_its_runner_must_have_stopped() {
    check(
        "
        0s    submit J
        0s    grant L1 a         -> GRANTED J 1
        0s    ack L1             -> ACTIVE
        10s   heartbeat L1       -> RUNNING
        10s   cancel J           -> asked
        40s   tick               -> moved 1
        40s   state L1           -> REVOKED
        41s   retry J            -> attempt 2
        41s   attempt J          -> CREATED
        41s   why J              -> waits until
        41s   grant L2 b         -> nothing
        42s   grant L3 b J       -> refused job_not_ready
        129s  tick               -> nothing
        130s  tick               -> moved 1
        130s  attempt J          -> QUEUED
        130s  grant L4 b         -> GRANTED J 2
        131s  tick               -> nothing
    ",
    );
}

#[test]
fn a_retry_that_is_cancelled_and_retried_again_waits_all_the_same() {
    check(
        "
        0s    submit J
        0s    grant L1 a         -> GRANTED J 1
        0s    ack L1             -> ACTIVE
        10s   cancel J           -> asked
        40s   tick               -> moved 1
        41s   retry J            -> attempt 2
        42s   cancel J           -> over
        43s   retry J            -> attempt 3
        43s   attempt J          -> CREATED
        120s  tick               -> moved 1
        120s  attempt J          -> QUEUED
    ",
    );
}

#[test]
fn a_retry_after_the_time_of_the_lease_does_not_wait_for_a_tick() {
    check(
        "
        0s    submit J
        0s    grant L1 a         -> GRANTED J 1
        0s    ack L1             -> ACTIVE
        10s   cancel J           -> asked
        40s   tick               -> moved 1
        120s  retry J            -> attempt 2
        120s  attempt J          -> QUEUED
        120s  grant L2 b         -> GRANTED J 2
        120s  ack L2             -> ACTIVE
        121s  cancel J           -> asked
        121s  tick               -> moved 1
        151s  tick               -> moved 1
        152s  retry J            -> attempt 3
        153s  tick               -> nothing
        240s  tick               -> moved 1
        240s  grant L3 a         -> GRANTED J 3
    ",
    );
}

/// Who gave the job back, or never began, is at work no more.
#[test]
fn a_retry_after_a_word_of_the_runner_does_not_wait() {
    check(
        "
        0s    submit J
        0s    grant L1 a         -> GRANTED J 1
        0s    ack L1             -> ACTIVE
        10s   cancel J           -> asked
        11s   cancel-ack L1      -> CANCELED
        12s   retry J            -> attempt 2
        12s   grant L2 b         -> GRANTED J 2
        13s   cancel J           -> over
        14s   retry J            -> attempt 3
        14s   grant L3 b         -> GRANTED J 3
    ",
    );
}
