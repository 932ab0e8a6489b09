//! Concurrency groups: of the runs of a group that supersedes, the newest goes on, in whichever order their plans come.

use crate::script::{check, check_timeless};

#[test]
fn a_newer_run_supersedes_an_older_one() {
    check(
        "
        0s   run R a b group=main supersede=yes    -> QUEUED
        0s   grant L1 x a
        0s   ack L1
        1s   run S a group=main supersede=yes      -> QUEUED
        1s   state R                  -> CANCEL_REQUESTED
        1s   note R                   -> superseded by
        1s   tick                     -> moved 1
        2s   heartbeat L1             -> CANCEL_REQUESTED in 29s
        3s   cancel-ack L1
        3s   state R                  -> REPORTED CANCELED
        3s   state S                  -> QUEUED
        3s   retry R/a                -> refused run_over
    ",
    );
}

#[test]
fn a_run_that_is_planned_late_gives_way_to_a_newer_one() {
    check_timeless(
        "
        -  create R                   -> PLANNING
        -  create S                   -> PLANNING
        -  plan S a group=main supersede=yes
        -  plan R a b:needs=a group=main supersede=yes
        -  state R                    -> CANCEL_REQUESTED
        -  note R                     -> superseded by
        -  cause R                    -> superseded by
        -  grant L1 x R/a             -> refused job_not_ready
        -  tick                       -> moved 1
        -  state R                    -> REPORTED CANCELED
        -  count R CANCELED           -> 2
        -  state S                    -> QUEUED
    ",
    );
}

#[test]
fn a_run_gives_way_to_a_newer_one_that_is_over() {
    check_timeless(
        "
        -  create R
        -  run S a:skip group=main supersede=yes
        -  state S                    -> REPORTED SUCCESS
        -  plan R a group=main supersede=yes
        -  tick
        -  state R                    -> REPORTED CANCELED
    ",
    );
}

#[test]
fn in_one_batch_it_is_the_same() {
    check_timeless(
        "
        -  create R
        -  create S
        -  plan S a group=main supersede=yes
        +  plan R a group=main supersede=yes
        +  run T a group=main supersede=yes
        -  state R                    -> CANCEL_REQUESTED
        -  state S                    -> CANCEL_REQUESTED
        -  state T                    -> QUEUED
    ",
    );
}

#[test]
fn only_a_run_that_asks_for_it_supersedes() {
    check_timeless(
        "
        -  run R a group=main
        -  run S a group=main
        -  run O a group=other supersede=yes
        -  run P a group=main supersede=yes repository=elsewhere
        -  state R                    -> QUEUED
        -  state S                    -> QUEUED
        -  run T a group=main supersede=yes
        -  state R                    -> CANCEL_REQUESTED
        -  state S                    -> CANCEL_REQUESTED
        -  state O                    -> QUEUED
        -  state P                    -> QUEUED
        -  run U a group=main
        -  state T                    -> QUEUED
    ",
    );
}

/// A fork names its group as it likes.
#[test]
fn an_untrusted_run_supersedes_no_trusted_one() {
    check_timeless(
        "
        -  create R
        -  run S a group=main supersede=yes
        -  run T a group=main supersede=yes trust=no
        -  run U a group=main supersede=yes trust=no
        -  plan R a group=main
        -  state R                    -> CANCEL_REQUESTED
        -  state S                    -> QUEUED
        -  state T                    -> CANCEL_REQUESTED
        -  state U                    -> QUEUED
    ",
    );
}

#[test]
fn a_rerun_joins_the_group_as_its_newest() {
    check_timeless(
        "
        -  run R a group=main supersede=yes
        -  run S a group=main supersede=yes
        -  tick
        -  state R                    -> REPORTED CANCELED
        -  rerun T R                  -> QUEUED
        -  state S                    -> CANCEL_REQUESTED
        -  state T                    -> QUEUED
    ",
    );
}

#[test]
fn a_cancel_by_a_person_and_one_by_the_group_are_one_cancel() {
    check_timeless(
        "
        -  run R a group=main supersede=yes
        -  cancel R enough            -> asked
        -  run S a group=main supersede=yes
        -  note R                     -> enough
        -  cancel R again             -> asked
        -  tick
        -  state R                    -> REPORTED CANCELED
    ",
    );
}

#[test]
fn an_attempt_of_a_superseded_run_may_be_lost_with_its_runner() {
    check_timeless(
        "
        -  run R a group=main supersede=yes
        -  grant L1 x a
        -  ack L1
        -  run S b group=main supersede=yes
        -  gone L1                    -> moved
        -  gone L1                    -> nothing
        -  attempt a                  -> CANCELED
        -  state R                    -> REPORTED CANCELED
    ",
    );
}

#[test]
fn an_effect_that_may_happen_once_is_left_to_a_person_when_its_runner_is_dead() {
    check_timeless(
        "
        -  run R a:once
        -  grant L1 x a
        -  ack L1
        -  gone L1
        -  attempt a                  -> STALE
        -  class a                    -> ambiguous
        -  ack L1                     -> refused stale_lease LEASE_EXPIRED
    ",
    );
}
