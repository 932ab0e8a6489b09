//! Runs: planned, run, ended once, whatever happens on the way.

use crate::script::{check, check_timeless};

#[test]
fn a_run_whose_jobs_all_succeed_is_a_success() {
    check_timeless(
        "
        -  create R               -> PLANNING
        -  plan R a b             -> QUEUED
        -  plan R a b             -> QUEUED
        -  grant L1 x a           -> GRANTED a
        -  state R                -> RUNNING
        -  ack L1                 -> ACTIVE
        -  complete L1 ok         -> COMPLETED
        -  state R                -> RUNNING
        -  grant L2 x             -> GRANTED b
        -  ack L2                 -> ACTIVE
        -  complete L2 ok         -> COMPLETED
        -  state R                -> REPORTED SUCCESS
        -  plan R a b             -> refused run_not_planning REPORTED
    ",
    );
}

#[test]
fn a_planner_that_gives_up_fails_the_run() {
    check_timeless(
        "
        -  create R                       -> PLANNING
        -  plan-failed R no such file     -> REPORTED FAILED
        -  note R                         -> no such file
        -  plan-failed R no such file     -> REPORTED FAILED
        -  plan-failed R another reason   -> refused run_not_planning REPORTED
        -  plan R a                       -> refused run_not_planning REPORTED
        -  cancel R                       -> refused run_over FAILED
    ",
    );
}

#[test]
fn a_planners_long_complaint_may_be_said_twice() {
    let complaint = "x".repeat(5_000);
    check(&format!(
        "
        0s  create R                      -> PLANNING
        0s  plan-failed R {complaint}     -> REPORTED FAILED
        0s  plan-failed R {complaint}     -> REPORTED FAILED
    "
    ));
}

#[test]
fn a_planner_that_never_answers_fails_the_run_at_its_deadline() {
    check(
        "
        0s   create R             -> PLANNING
        59s  tick                 -> nothing
        60s  tick                 -> moved 1
        60s  state R              -> REPORTED FAILED
        60s  note R               -> no plan arrived before the planning deadline
        61s  plan R a             -> refused run_not_planning REPORTED
    ",
    );
}

#[test]
fn a_plan_that_is_not_sound_is_refused_and_the_run_still_plans() {
    check("
        -  create R                                -> PLANNING
        -  plan R a a                              -> refused plan_invalid two jobs are named `a`
        -  plan R a:needs=b                        -> refused plan_invalid job `a` needs `b`, which is not in the plan
        -  plan R a:needs=b+b b                    -> refused plan_invalid job `a` needs `b` twice
        -  plan R a:needs=a                        -> refused plan_invalid job `a` needs itself, directly
        -  plan R a:needs=c b:needs=a c:needs=b d  -> refused plan_invalid job `a` needs itself, directly
        -  plan R a:attempts=0                     -> refused invalid_input max_attempts
        -  plan R a:timeout=0s                     -> refused invalid_input timeout_seconds
        -  state R                                 -> PLANNING
        -  plan R a                                -> QUEUED
    ");
}

#[test]
fn a_plan_with_nothing_to_run_is_a_success() {
    check_timeless(
        "
        -  run R                  -> REPORTED SUCCESS
        -  create S               -> PLANNING
        -  plan S                 -> REPORTED SUCCESS
        -  cause S                -> nobody asked to be told
        -  cancel S               -> refused run_over SUCCESS
    ",
    );
}

#[test]
fn the_same_trigger_is_the_same_run() {
    check_timeless(
        "
        -  run R trigger=push-1 a        -> QUEUED
        -  run S trigger=push-1 a        -> existing QUEUED
        -  run T trigger=push-2 a        -> QUEUED
        +  run U trigger=push-2 a        -> existing QUEUED
        -  cancel S                      -> asked
        -  state R                       -> CANCEL_REQUESTED
        -  state U                       -> QUEUED
        -  tick
        -  run V trigger=push-1 a        -> existing REPORTED CANCELED
    ",
    );
}

#[test]
fn a_diamond_of_needs_runs_from_top_to_bottom() {
    check_timeless(
        "
        -  run R top left:needs=top right:needs=top bottom:needs=left+right
        -  queued R               -> 1
        -  grant L1 x             -> GRANTED top
        -  grant N1 x             -> nothing
        -  grant N2 x left        -> refused job_not_ready
        -  ack L1
        -  complete L1 ok
        -  tick                   -> moved 1
        -  queued R               -> 2
        -  grant L2 x left        -> GRANTED left
        -  grant L3 x right       -> GRANTED right
        -  ack L2
        -  ack L3
        -  complete L2 ok
        -  tick                   -> moved 1
        -  attempt bottom         -> CREATED
        -  complete L3 ok
        -  tick                   -> moved 1
        -  grant L4 x             -> GRANTED bottom
        -  ack L4
        -  complete L4 ok
        -  state R                -> REPORTED SUCCESS
    ",
    );
}

#[test]
fn both_needs_that_end_in_one_batch_release_the_job_once() {
    check_timeless(
        "
        -  run R left right bottom:needs=left+right
        -  grant L1 x left
        -  grant L2 x right
        -  ack L1
        -  ack L2
        -  complete L1 ok         -> COMPLETED
        +  complete L2 ok         -> COMPLETED
        -  release left           -> moved
        +  release right          -> moved
        +  release left           -> nothing
        -  attempt bottom         -> QUEUED
        -  queued R               -> 1
    ",
    );
}

#[test]
fn what_needs_a_failed_job_is_cancelled_all_the_way_down() {
    check_timeless(
        "
        -  run R build test:needs=build deploy:needs=test lint
        -  grant L1 x build
        -  ack L1
        -  complete L1 fail could not compile  -> COMPLETED
        -  class build                         -> compilation
        -  tick
        -  state test                          -> CANCELED
        -  why test                            -> a job it needs did not succeed
        -  state deploy                        -> CANCELED
        # The failure is known; the run ends when nothing can still move.
        -  state R                             -> RUNNING
        -  grant L2 x                          -> GRANTED lint
        -  ack L2
        -  complete L2 ok
        -  state R                             -> REPORTED FAILED
    ",
    );
}

#[test]
fn a_job_that_may_fail_satisfies_its_dependents_either_way() {
    check_timeless("
        -  run R lint:optional test:needs=lint other:optional more:needs=other
        -  grant L1 x lint
        -  ack L1
        -  complete L1 fail clippy             -> COMPLETED
        -  state lint                          -> FAILED
        -  cancel other                        -> over
        -  tick
        -  grant L2 x test                     -> GRANTED test
        -  grant L3 x more                     -> GRANTED more
        -  retry lint                          -> refused job_not_retryable jobs that need it have gone on without it
        -  ack L2
        -  ack L3
        -  complete L2 ok
        -  complete L3 ok
        -  state R                             -> REPORTED SUCCESS
    ");
}

#[test]
fn a_failure_is_retried_in_its_run() {
    check(
        "
        -  run R a b
        -  grant L1 x a
        -  ack L1
        -  complete L1 fail failed to pull image  -> COMPLETED
        -  class a#1                              -> infra
        -  why a#1                                -> an image, package or cache could not be fetched
        -  grant L2 x a                           -> GRANTED a 2
        -  ack L2
        -  complete L2 fail flaky                 -> COMPLETED
        -  grant L3 x a                           -> GRANTED a 3
        -  ack L3
        -  complete L3 fail oom-killed            -> COMPLETED
        -  state a                                -> FAILED
        -  state R                                -> RUNNING
        -  cancel b                               -> over
        -  state R                                -> REPORTED FAILED
    ",
    );
}

#[test]
fn a_person_may_retry_a_failed_job_while_its_run_is_open() {
    check(
        "
        -  run R a b
        -  grant L1 x a
        -  ack L1
        -  complete L1 fail           -> COMPLETED
        -  state a                    -> FAILED
        -  retry a                    -> attempt 2
        -  grant L2 x a               -> GRANTED a 2
        -  ack L2
        -  complete L2 ok             -> COMPLETED
        -  grant L3 x b
        -  ack L3
        -  complete L3 ok             -> COMPLETED
        -  state R                    -> REPORTED SUCCESS
        -  retry a                    -> refused job_not_retryable it has not failed
    ",
    );
}

#[test]
fn a_retried_job_releases_what_needs_it_and_has_not_been_told_yet() {
    check(
        "
        -  run R build test:needs=build
        -  grant L1 x build
        -  ack L1
        -  complete L1 fail           -> COMPLETED
        -  retry build                -> attempt 2
        -  release build              -> nothing
        -  attempt test               -> CREATED
        -  grant L2 x build
        -  ack L2
        -  complete L2 ok
        -  tick                       -> moved 1
        -  attempt test               -> QUEUED
    ",
    );
}

/// `needs` is a promise to the job: what it needs has succeeded before it begins, whoever asks for it.
#[test]
fn a_job_whose_needs_failed_is_not_retried_past_them() {
    check(
        "
        -  run R build other test:needs=build+other
        -  grant L1 x build
        -  ack L1
        -  complete L1 fail           -> COMPLETED
        -  tick
        -  state test                 -> CANCELED
        -  retry test                 -> refused job_not_retryable
    ",
    );
}

#[test]
fn a_retry_in_a_run_that_is_over_is_refused() {
    check(
        "
        -  run R a
        -  grant L1 x
        -  ack L1
        -  complete L1 fail           -> COMPLETED
        -  state R                    -> REPORTED FAILED
        -  retry a                    -> refused run_over FAILED
    ",
    );
}

#[test]
fn failing_fast_stops_the_others() {
    check_timeless(
        "
        -  run R fail=fast a b c d:needs=a
        -  grant L1 x a
        -  grant L3 x c
        -  ack L1
        -  ack L3
        -  complete L1 fail           -> COMPLETED
        -  tick
        -  state b                    -> CANCELED
        -  state d                    -> CANCELED
        -  attempt c                  -> CANCEL_REQUESTED
        -  state R                    -> RUNNING
        # What the sweep stopped begins no other one.
        -  cancel-ack L3              -> CANCELED
        -  sweep R                    -> nothing
        -  state R                    -> REPORTED FAILED
    ",
    );
}

#[test]
fn a_failure_that_is_allowed_does_not_stop_the_others() {
    check(
        "
        -  run R fail=fast a:optional b
        -  grant L1 x a
        -  ack L1
        -  complete L1 fail           -> COMPLETED
        -  tick                       -> nothing
        -  grant L2 x                 -> GRANTED b
        -  ack L2
        -  complete L2 ok
        -  state R                    -> REPORTED SUCCESS
    ",
    );
}

/// A run is a success only if every required job succeeded, also when a person mended the one that failed first.
#[test]
fn a_run_that_stopped_a_required_job_is_no_success() {
    check(
        "
        -  run R fail=fast a b c
        -  grant L1 x a
        -  grant L3 x c
        -  ack L1
        -  ack L3
        -  commit L3                  -> COMMITTED
        -  complete L1 fail           -> COMPLETED
        -  tick
        -  state b                    -> CANCELED
        -  retry a                    -> attempt 2
        -  grant L4 x                 -> GRANTED a 2
        -  ack L4
        -  complete L4 ok             -> COMPLETED
        -  complete L3 ok             -> COMPLETED
        -  state R                    -> REPORTED FAILED
    ",
    );
}

/// The retry comes before the sweep that the failure gave rise to, and is swept with the rest.
#[test]
fn a_run_in_which_nothing_succeeded_is_no_success() {
    check(
        "
        -  run R fail=fast a b
        -  grant L1 x a
        -  ack L1
        -  complete L1 fail           -> COMPLETED
        -  retry a                    -> attempt 2
        -  tick
        -  count R SUCCEEDED          -> 0
        -  state R                    -> REPORTED FAILED
    ",
    );
}

#[test]
fn one_chunk_told_twice_counts_once() {
    check(
        "
        0s  run R root other leaf*120:needs=root+other
        0s  grant L1 x root
        0s  ack L1
        0s  complete L1 ok            -> COMPLETED
        0s  release root              -> moved
        +   release root              -> moved
        0s  tick
        # Every leaf still waits for the other one.
        0s  queued R                  -> 1
        0s  grant L2 x                -> GRANTED other
        0s  ack L2
        0s  complete L2 ok            -> COMPLETED
        0s  tick
        0s  queued R                  -> 120
    ",
    );
}

#[test]
fn many_dependents_are_released_in_chunks() {
    check(
        "
        0s  run R root leaf*260:needs=root
        0s  queued R                  -> 1
        0s  grant L1 x
        0s  ack L1
        0s  complete L1 ok            -> COMPLETED
        0s  release root              -> moved
        0s  queued R                  -> 100
        0s  restart
        0s  release root              -> moved
        0s  queued R                  -> 200
        0s  release root              -> moved
        0s  queued R                  -> 260
        0s  release root              -> nothing
        0s  count R PENDING           -> 260
    ",
    );
}

#[test]
fn a_failed_need_cancels_many_dependents_in_chunks() {
    check(
        "
        0s  run R root leaf*260:needs=root
        0s  grant L1 x
        0s  ack L1
        0s  complete L1 fail          -> COMPLETED
        0s  release root              -> moved
        +   release root              -> moved
        0s  count R CANCELED          -> 100
        0s  state R                   -> RUNNING
        0s  tick
        0s  count R CANCELED          -> 260
        0s  state R                   -> REPORTED FAILED
    ",
    );
}

#[test]
fn rerunning_makes_a_new_run_of_the_same_plan() {
    check_timeless(
        "
        -  run R a b:needs=a c
        -  rerun S R                  -> refused run_not_over QUEUED
        -  grant L1 x a
        -  ack L1
        -  complete L1 ok
        -  tick
        -  grant L2 x b
        -  ack L2
        -  complete L2 fail
        -  grant L3 x c
        -  ack L3
        -  complete L3 ok
        -  state R                    -> REPORTED FAILED
        -  rerun S R                  -> QUEUED
        -  rerun S R                  -> existing QUEUED
        -  count S PENDING            -> 3
        -  attempt S/b                -> CREATED
        # Only what did not succeed; it waits for nothing that did.
        -  rerun T R failed           -> QUEUED
        -  count T PENDING            -> 1
        -  attempt T/b                -> QUEUED
        -  state R/a                  -> SUCCEEDED
        -  cancel T/b                 -> over
        -  state T                    -> REPORTED FAILED
        -  rerun U T                  -> QUEUED
        -  count U PENDING            -> 1
    ",
    );
}

/// Also what succeeded only just, in the batch that asks.
#[test]
fn what_succeeded_a_moment_ago_is_not_run_again() {
    check_timeless(
        "
        -  run R a b
        -  grant L1 x a
        -  ack L1
        -  grant L2 x b
        -  ack L2
        -  complete L1 fail           -> COMPLETED
        -  complete L2 ok             -> COMPLETED
        +  rerun S R failed           -> QUEUED
        -  count S PENDING            -> 1
        -  attempt S/a                -> QUEUED
    ",
    );
}

#[test]
fn rerunning_what_failed_of_a_success_is_a_success() {
    check(
        "
        -  run R a
        -  grant L1 x
        -  ack L1
        -  complete L1 ok
        -  rerun S R failed           -> REPORTED SUCCESS
    ",
    );
}

#[test]
fn a_run_that_never_had_a_plan_is_planned_when_it_is_run_again() {
    check(
        "
        0s   create R repository=here
        60s  tick                       -> moved 1
        60s  state R                    -> REPORTED FAILED
        60s  rerun S R                  -> PLANNING
        70s  plan S a                   -> QUEUED
        70s  rerun T R failed           -> PLANNING
        130s tick                       -> moved 1
        130s state T                    -> REPORTED FAILED
        130s state S                    -> QUEUED
    ",
    );
}

#[test]
fn a_run_without_plan_and_repository_cannot_be_rerun() {
    check(
        "
        -  create R
        -  plan-failed R no
        -  rerun S R                  -> refused run_has_no_plan
    ",
    );
}
