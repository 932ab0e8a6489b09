//! Jobs that run longer than they may.

use crate::script::check;

#[test]
fn a_job_times_out_a_buffer_after_what_the_runner_was_told() {
    check("
        0s     submit J timeout=60s
        5s     grant L1 a        -> GRANTED
        10s    ack L1            -> ACTIVE
        60s    heartbeat L1      -> RUNNING
        99.9s  tick
        99.9s  attempt J         -> RUNNING
        100s   tick              -> moved 1
        100s   attempt J         -> TIMED_OUT
        100s   state L1          -> REVOKED
        100s   execution L1      -> ABORTED
        100s   state J           -> FAILED
        100s   class J           -> timeout
        100s   why J             -> the job ran longer than it may; the job does not ask for retries on `timeout`
        101s   complete L1 ok    -> refused stale_lease LEASE_REVOKED
        101s   commits J         -> 0
    ");
}

#[test]
fn a_completion_within_the_buffer_is_in_time() {
    check(
        "
        0s    submit J timeout=60s
        0s    grant L1 a         -> GRANTED
        0s    ack L1             -> ACTIVE
        89s   complete L1 ok     -> COMPLETED
        90s   tick               -> nothing
        90s   state J            -> SUCCEEDED
    ",
    );
}

#[test]
fn heartbeats_do_not_move_the_jobs_own_deadline() {
    check(
        "
        0s    submit J timeout=200s
        0s    grant L1 a         -> GRANTED
        0s    ack L1             -> ACTIVE
        100s  heartbeat L1       -> RUNNING
        200s  heartbeat L1       -> RUNNING
        229s  heartbeat L1       -> RUNNING
        229s  tick               -> moved 1
        230s  tick               -> moved 1
        230s  attempt J          -> TIMED_OUT
    ",
    );
}

#[test]
fn a_timeout_is_retried_only_if_the_job_asks() {
    check(
        "
        0s    run R slow:timeout=60s:retry=timeout:attempts=2
        0s    grant L1 a         -> GRANTED slow 1
        0s    ack L1             -> ACTIVE
        90s   tick               -> moved 1
        90s   attempt slow#1     -> TIMED_OUT
        90s   attempt slow#2     -> CREATED
        90s   state R            -> RUNNING
        90s   grant L2 b         -> nothing
        91s   complete L1 ok     -> refused stale_lease LEASE_REVOKED
        119s  tick               -> nothing
        120s  tick               -> moved 1
        120s  attempt slow#2     -> QUEUED
        120s  grant L3 b         -> GRANTED slow 2
        120s  ack L3             -> ACTIVE
        210s  tick               -> moved 1
        210s  attempt slow#2     -> TIMED_OUT
        210s  state slow         -> FAILED
        210s  state R            -> REPORTED FAILED
    ",
    );
}

#[test]
fn a_job_may_time_out_while_it_starts() {
    check(
        "
        0s    submit J timeout=60s
        0s    grant L1 a         -> GRANTED
        0s    ack L1             -> ACTIVE
        0s    attempt J          -> STARTING
        90s   tick               -> moved 1
        90s   attempt J          -> TIMED_OUT
    ",
    );
}

#[test]
fn a_job_may_time_out_while_it_uploads() {
    check(
        "
        0s    submit J timeout=60s
        0s    grant L1 a               -> GRANTED
        0s    ack L1                   -> ACTIVE
        1s    heartbeat L1 uploading   -> UPLOADING
        90s   tick                     -> moved 1
        90s   attempt J                -> TIMED_OUT
        90s   state L1                 -> REVOKED
    ",
    );
}

#[test]
fn a_timeout_that_was_seen_late_is_a_timeout_and_not_a_lost_lease() {
    check(
        "
        0s    submit J timeout=60s
        0s    grant L1 a         -> GRANTED
        0s    ack L1             -> ACTIVE
        500s  tick               -> moved 1
        500s  attempt J          -> TIMED_OUT
        500s  class J            -> timeout
    ",
    );
}

/// After its commit a job succeeds whatever happens; why its lease ended is another matter.
#[test]
fn a_committed_job_that_times_out_was_heard_of_and_one_whose_runner_is_lost_was_not() {
    check(
        "
        0s    submit J timeout=60s
        0s    submit K
        0s    grant L1 a J       -> GRANTED
        0s    grant L2 a K       -> GRANTED
        0s    ack L1             -> ACTIVE
        0s    ack L2             -> ACTIVE
        1s    commit L1          -> COMMITTED
        1s    commit L2          -> COMMITTED
        80s   heartbeat L1       -> RUNNING
        90s   tick
        90s   attempt J          -> SUCCEEDED
        90s   state L1           -> REVOKED
        90s   cause J            -> the effect had happened; the job ran longer than it may
        120s  tick
        120s  attempt K          -> SUCCEEDED
        120s  state L2           -> EXPIRED
        120s  cause K            -> the effect had happened; the runner was not heard of again
    ",
    );
}
