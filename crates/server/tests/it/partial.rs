//! Plans that do not run everything: what is skipped or reused has no job, and nothing waits for it.

use crate::script::{check, check_timeless};

#[test]
fn only_what_runs_has_a_job() {
    check_timeless(
        "
        -  run R docs:skip built:reuse test:needs=built+docs pack:needs=test -> QUEUED
        -  planned R                  -> docs:skip:unchanged built:reuse:reuse(?) test:run:changed pack:run:changed
        -  count R PENDING            -> 2
        -  queued R                   -> 1
        -  grant L1 x                 -> GRANTED test
        -  ack L1
        -  complete L1 ok
        -  tick                       -> moved 1
        -  grant L2 x                 -> GRANTED pack
        -  ack L2
        -  complete L2 ok
        -  state R                    -> REPORTED SUCCESS
    ",
    );
}

#[test]
fn a_plan_in_which_nothing_runs_has_succeeded() {
    check_timeless(
        "
        -  create R                   -> PLANNING
        -  plan R docs:skip built:reuse test:skip:needs=built
        -  state R                    -> REPORTED SUCCESS
        -  count R PENDING            -> 0
    ",
    );
}

#[test]
fn a_plan_is_checked_whatever_runs() {
    check_timeless(
        "
        -  run R1 docs:skip:needs=nothing       -> refused plan_invalid
        -  run R2 a:skip:needs=b b:reuse:needs=a -> refused plan_invalid
        -  run R3 a:reuse=nobody                -> refused plan_invalid
        -  run R4 a:skip a                      -> refused plan_invalid
    ",
    );
}

#[test]
fn run_again_what_ran_runs_and_the_rest_stays_as_it_was() {
    check_timeless(
        "
        -  run R docs:skip built:reuse lint test:needs=built trust=no
        -  grant L1 x lint
        -  ack L1
        -  complete L1 ok
        -  grant L2 x test
        -  ack L2
        -  complete L2 fail tests failed
        -  state R                    -> REPORTED FAILED
        -  rerun S R                  -> QUEUED
        -  planned S                  -> docs:skip:unchanged built:reuse:reuse(?) lint:run:changed test:run:changed
        -  count S PENDING            -> 2
        -  trust S                    -> untrusted
        -  rerun T R failed           -> QUEUED
        -  planned T                  -> docs:skip:unchanged built:reuse:reuse(?) lint:reuse:reuse(R/lint) test:run:changed
        -  count T PENDING            -> 1
        -  queued T                   -> 1
    ",
    );
}

#[test]
fn a_success_is_found_by_its_key_until_a_newer_one_is() {
    check(
        "
        0s run R a:key=1 b:key=2 c
        0s successes 1 2              -> none
        0s grant L1 x R/a
        0s ack L1
        0s complete L1 ok
        0s grant L2 x R/b
        0s ack L2
        0s complete L2 fail tests failed
        0s successes 1 2              -> a
        1s run S a:key=1
        1s successes 1                -> R/a
        1s grant L3 x S/a
        1s ack L3
        1s complete L3 ok
        1s successes 1                -> a
    ",
    );
}
