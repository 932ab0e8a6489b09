//! Runs that are stopped: by a person, by time, in chunks, and in any state.

use crate::script::{check, check_timeless};

#[test]
fn a_run_may_be_cancelled_before_it_has_a_plan() {
    check_timeless(
        "
        -  create R                   -> PLANNING
        -  cancel R superseded        -> over
        -  state R                    -> REPORTED CANCELED
        -  note R                     -> superseded
        -  plan R a                   -> refused run_not_planning REPORTED
        -  plan-failed R late         -> refused run_not_planning REPORTED
        -  cancel R again             -> over
    ",
    );
}

#[test]
fn a_queued_run_is_cancelled_by_its_sweep() {
    check_timeless(
        "
        -  run R a b:needs=a          -> QUEUED
        -  cancel R                   -> asked
        -  cancel R                   -> asked
        -  state R                    -> CANCEL_REQUESTED
        -  grant L1 x                 -> nothing
        -  grant L2 x a               -> refused job_not_ready
        -  tick                       -> moved 1
        -  state a                    -> CANCELED
        -  state b                    -> CANCELED
        -  state R                    -> REPORTED CANCELED
        -  cancel R                   -> over
        -  retry a                    -> refused run_over CANCELED
    ",
    );
}

#[test]
fn a_running_run_is_cancelled_when_its_runners_have_stopped() {
    check(
        "
        0s   run R a b c d
        0s   grant L1 x a
        0s   grant L2 x b
        0s   grant L3 x c
        0s   ack L1
        0s   ack L2
        1s   cancel R                 -> asked
        1s   tick
        1s   state L3                 -> REVOKED
        1s   state c                  -> CANCELED
        1s   state d                  -> CANCELED
        1s   state R                  -> CANCEL_REQUESTED
        2s   heartbeat L1             -> CANCEL_REQUESTED in 29s
        3s   cancel-ack L1            -> CANCELED
        3s   state R                  -> CANCEL_REQUESTED
        31s  tick                     -> moved 1
        31s  attempt b                -> CANCELED
        31s  state R                  -> REPORTED CANCELED
        32s  complete L2 ok           -> refused stale_lease LEASE_REVOKED
    ",
    );
}

#[test]
fn a_cancel_holds_before_its_sweep_has_come() {
    check(
        "
        0s  run R a b c d
        0s  grant L1 x a
        0s  grant L2 x b
        0s  grant L3 x c
        0s  ack L1
        0s  ack L2
        0s  ack L3
        1s  cancel R                  -> asked
        1s  grant L4 x                -> nothing
        1s  commit L1                 -> refused cancel_requested
        2s  heartbeat L1              -> CANCEL_REQUESTED in 30s
        3s  complete L2 ok            -> not_accepted CANCELED
        3s  complete L3 fail          -> not_accepted CANCELED
        3s  cancel-ack L1             -> CANCELED
        3s  state R                   -> CANCEL_REQUESTED
        3s  tick
        3s  state R                   -> REPORTED CANCELED
        3s  count R CANCELED          -> 4
    ",
    );
}

/// The run's cancel was first, also for a job that its sweep has not reached and somebody cancels by itself.
#[test]
fn a_job_that_is_cancelled_after_its_run_does_not_fail_the_run() {
    check_timeless(
        "
        -  run R a b c
        -  grant L1 x b
        -  grant L2 x c
        -  ack L2
        -  commit L2                  -> COMMITTED
        -  cancel R                   -> asked
        +  cancel a                   -> over
        +  cancel b                   -> over
        +  cancel c                   -> refused already_committed
        -  complete L2 ok             -> COMPLETED
        -  tick
        -  state R                    -> REPORTED CANCELED
    ",
    );
}

#[test]
fn a_lease_that_is_acknowledged_after_the_runs_cancel_begins_nothing() {
    check_timeless(
        "
        -  run R a:once b
        -  grant L1 x a
        -  grant L2 x b
        -  ack L2                     -> ACTIVE
        -  cancel R                   -> asked
        -  ack L1                     -> refused stale_lease LEASE_REVOKED
        -  ack L2                     -> ACTIVE
        -  cancel-ack L2              -> CANCELED
        -  tick
        -  state L1                   -> REVOKED
        -  state R                    -> REPORTED CANCELED
    ",
    );
}

/// What the clock does to a job of a cancelled run does not depend on how far the sweep has come.
#[test]
fn a_runner_lost_between_a_cancel_and_its_sweep_does_not_fail_the_run() {
    check(
        "
        0s    run R a:once b:timeout=60s
        0s    grant L1 x a
        0s    ack L1
        30s   grant L2 x b
        30s   ack L2
        119s  cancel R                -> asked
        120s  tick
        120s  state a                 -> CANCELED
        120s  state b                 -> CANCELED
        120s  state R                 -> REPORTED CANCELED
    ",
    );
}

#[test]
fn a_failure_before_the_cancel_is_not_hidden_by_it() {
    check_timeless(
        "
        -  run R a b
        -  grant L1 x a
        -  grant L2 x b
        -  ack L1
        -  ack L2
        -  complete L1 fail           -> COMPLETED
        -  cancel R                   -> asked
        -  tick
        -  cancel-ack L2              -> CANCELED
        -  state R                    -> REPORTED FAILED
        -  cancel R                   -> refused run_over FAILED
    ",
    );
}

#[test]
fn an_allowed_failure_before_the_cancel_does_not_count() {
    check(
        "
        -  run R a:optional b
        -  grant L1 x a
        -  grant L2 x b
        -  ack L1
        -  ack L2
        -  complete L1 fail           -> COMPLETED
        -  cancel R                   -> asked
        -  complete L2 fail           -> not_accepted CANCELED
        -  state R                    -> REPORTED CANCELED
    ",
    );
}

#[test]
fn a_required_job_cancelled_on_its_own_fails_the_run() {
    check(
        "
        # Before anything ran.
        -  run R a
        -  cancel a                   -> over
        -  state R                    -> REPORTED FAILED
        # While others run.
        -  run S a b
        -  grant L1 x a
        -  ack L1
        -  cancel a                   -> asked
        -  cancel-ack L1              -> CANCELED
        -  state S                    -> RUNNING
        -  grant L2 x                 -> GRANTED b
        -  ack L2
        -  complete L2 ok
        -  state S                    -> REPORTED FAILED
        # One that may fail may also be cancelled.
        -  run T a:optional
        -  cancel a                   -> over
        -  state T                    -> REPORTED SUCCESS
    ",
    );
}

#[test]
fn a_run_waits_for_a_job_whose_effect_has_happened() {
    check_timeless(
        "
        -  run R a b
        -  grant L1 x a
        -  ack L1
        -  commit L1                  -> COMMITTED
        -  cancel R                   -> asked
        -  tick
        -  state b                    -> CANCELED
        -  state R                    -> CANCEL_REQUESTED
        -  heartbeat L1               -> RUNNING
        -  cancel-ack L1              -> refused stale_lease LEASE_COMPLETED
        -  complete L1 ok             -> COMPLETED
        -  state a                    -> SUCCEEDED
        -  state R                    -> REPORTED CANCELED
    ",
    );
}

#[test]
fn many_jobs_are_swept_in_chunks_and_a_restart_goes_on_where_it_was() {
    check(
        "
        0s  run R job*260
        0s  grant L1 x
        0s  ack L1
        1s  cancel R                  -> asked
        1s  sweep R                   -> moved
        +   sweep R                   -> moved
        1s  count R PENDING           -> 160
        1s  restart
        1s  sweep R                   -> moved
        1s  count R PENDING           -> 60
        1s  grant L2 x                -> nothing
        1s  sweep R                   -> moved
        1s  count R CANCELED          -> 259
        1s  sweep R                   -> nothing
        1s  state R                   -> CANCEL_REQUESTED
        1s  cancel-ack L1             -> CANCELED
        1s  state R                   -> REPORTED CANCELED
    ",
    );
}

#[test]
fn a_run_that_no_runner_takes_times_out() {
    check(
        "
        0s       run R a b:needs=a    -> QUEUED
        21599s   tick                 -> nothing
        6h       tick
        6h       state R              -> REPORTED TIMEOUT
        6h       note R               -> the run took longer than it may
        6h       state a              -> CANCELED
        6h       state b              -> CANCELED
        6h       cancel R             -> refused run_over TIMEOUT
        6h       rerun S R            -> QUEUED
    ",
    );
}

#[test]
fn a_running_run_that_times_out_revokes_its_leases_at_once() {
    check(
        "
        0s      run R a b c d:timeout=10h
        21500s  grant L1 x a
        21500s  grant L2 x b
        21500s  grant L3 x d
        21500s  grant L4 x c
        21500s  ack L1
        21500s  ack L2
        21500s  ack L3
        21590s  commit L2             -> COMMITTED
        6h      tick
        6h      state R               -> REPORTED TIMEOUT
        6h      state L1              -> REVOKED
        6h      state a               -> CANCELED
        # The effect had happened.
        6h      state L2              -> REVOKED
        6h      state b               -> SUCCEEDED
        6h      effects b             -> 1
        6h      state L4              -> REVOKED
        6h      state c               -> CANCELED
        6h      state d               -> CANCELED
        21601s  complete L1 ok        -> refused stale_lease LEASE_REVOKED
        21601s  commits a             -> 0
    ",
    );
}

#[test]
fn a_timeout_holds_before_its_sweep_has_come() {
    check(
        "
        0s      run R a b c
        21590s  grant L1 x a
        21590s  grant L2 x b
        21590s  ack L1
        21590s  ack L2
        21595s  commit L2             -> COMMITTED
        6h      look R                -> moved
        6h      state R               -> REPORTED TIMEOUT
        6h      heartbeat L1          -> refused stale_lease LEASE_REVOKED
        6h      commit L1             -> refused stale_lease LEASE_REVOKED
        6h      complete L1 ok        -> refused stale_lease LEASE_REVOKED
        6h      cancel-ack L1         -> refused stale_lease LEASE_REVOKED
        6h      grant L3 x            -> nothing
        6h      complete L2 ok        -> COMPLETED
        6h      tick
        6h      state a               -> CANCELED
        6h      state b               -> SUCCEEDED
        6h      state c               -> CANCELED
    ",
    );
}

/// What ends a job before the sweep has come to it says the same as the sweep.
#[test]
fn a_job_says_why_it_was_stopped_also_before_its_runs_sweep_has_come() {
    check(
        "
        0s      run R a b c
        0s      grant L1 x a
        0s      grant L2 x b
        0s      grant L3 x c
        0s      ack L1
        0s      ack L2
        0s      ack L3
        1s      cancel R              -> asked
        2s      complete L1 ok        -> not_accepted CANCELED
        2s      why a                 -> the run was cancelled
        2s      gone L2               -> moved
        2s      why b                 -> the run was cancelled
        2s      cause b RequestCancel -> the run was cancelled
        2s      tick
        2s      cancel-ack L3
        2s      why c                 -> the run was cancelled
        3s      run S d
        21600s  grant L4 x d
        21600s  ack L4
        21603s  look S                -> moved
        21603s  state S               -> REPORTED TIMEOUT
        21603s  gone L4               -> moved
        21603s  why d                 -> the run timed out
        21603s  cause d RequestCancel -> the run timed out
    ",
    );
}

#[test]
fn an_ack_after_the_runs_timeout_begins_nothing() {
    check(
        "
        0s      run R a
        21590s  grant L1 x a
        6h      look R                -> moved
        6h      ack L1                -> refused stale_lease LEASE_REVOKED
    ",
    );
}

#[test]
fn many_jobs_of_a_run_that_timed_out_are_swept_in_chunks() {
    check(
        "
        0s   run R job*260
        6h   look R                   -> moved
        6h   state R                  -> REPORTED TIMEOUT
        6h   sweep R                  -> moved
        6h   count R CANCELED         -> 100
        6h   restart
        6h   tick
        6h   count R CANCELED         -> 260
    ",
    );
}

#[test]
fn cancelling_a_run_that_ended_but_is_not_reported_is_refused() {
    check(
        "
        0s   webhook ci run.finished
        0s   run R
        0s   state R                  -> SUCCESS
        0s   cancel R                 -> refused run_over SUCCESS
        0s   create S
        0s   plan-failed S no
        0s   state S                  -> FAILED
        0s   cancel S                 -> refused run_over FAILED
        0s   create T
        0s   cancel T                 -> over
        0s   state T                  -> CANCELED
        0s   cancel T                 -> over
        0s   run U a
        6h   tick
        6h   state U                  -> TIMEOUT
        6h   cancel U                 -> refused run_over TIMEOUT
    ",
    );
}
