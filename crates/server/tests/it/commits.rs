//! COMMITTED is the only door: after it there is one way, whatever becomes of the runner.

use crate::script::{check, check_timeless};

#[test]
fn a_commit_then_a_completion_is_the_usual_way() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a            -> GRANTED
        -  ack L1                -> ACTIVE
        -  execution L1          -> IN_PROGRESS
        -  commit L1 effects=2   -> COMMITTED
        -  effects J             -> 2
        -  state J               -> RUNNING
        -  complete L1 ok        -> COMPLETED
        -  execution L1          -> DONE
        -  state J               -> SUCCEEDED
        -  effects J             -> 2
    ",
    );
}

#[test]
fn a_repeated_commit_gets_the_same_answer_and_applies_nothing() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a            -> GRANTED
        -  ack L1                -> ACTIVE
        -  commit L1             -> COMMITTED
        +  commit L1 effects=3   -> COMMITTED
        -  commit L1 effects=3   -> COMMITTED
        -  effects J             -> 1
        -  complete L1 ok        -> COMPLETED
        -  commit L1 effects=3   -> DONE
        -  effects J             -> 1
    ",
    );
}

#[test]
fn a_completion_without_a_commit_commits() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a            -> GRANTED
        -  ack L1                -> ACTIVE
        -  complete L1 ok        -> COMPLETED
        -  execution L1          -> DONE
        -  commits J             -> 1
    ",
    );
}

/// The lease has ended, and what it would bring now would be acknowledged and lost.
#[test]
fn a_commit_after_the_last_word_is_too_late() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a            -> GRANTED
        -  ack L1                -> ACTIVE
        -  complete L1 ok        -> COMPLETED
        -  commit L1 effects=2   -> refused stale_lease LEASE_COMPLETED
        -  effects J             -> 0
    ",
    );
}

#[test]
fn a_failed_completion_commits_nothing() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a                                      -> GRANTED
        -  ack L1                                          -> ACTIVE
        -  complete L1 fail exit=101 2 tests failed        -> COMPLETED
        -  execution L1                                    -> ABORTED
        -  commits J                                       -> 0
        -  state J                                         -> FAILED
        -  class J                                         -> test
        -  commit L1                                       -> refused stale_lease LEASE_COMPLETED
        -  effects J                                       -> 0
    ",
    );
}

#[test]
fn a_cancel_after_the_commit_is_refused_and_the_job_succeeds() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a            -> GRANTED
        -  ack L1                -> ACTIVE
        -  commit L1             -> COMMITTED
        -  cancel J              -> refused already_committed
        -  heartbeat L1          -> RUNNING
        -  cancel-ack L1         -> refused cancel_not_requested
        -  complete L1 ok        -> COMPLETED
        -  state J               -> SUCCEEDED
    ",
    );
}

#[test]
fn a_completion_that_says_failed_after_the_commit_is_a_success_with_a_note() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a            -> GRANTED
        -  ack L1                -> ACTIVE
        -  commit L1             -> COMMITTED
        -  complete L1 fail      -> COMPLETED
        -  attempt J             -> SUCCEEDED
        -  state J               -> SUCCEEDED
        -  attempts J            -> 1 of 3
        -  cause J               -> Complete FAILED, but the effect had happened
        -  complete L1 fail      -> COMPLETED
        -  complete L1 ok        -> refused stale_lease LEASE_COMPLETED
    ",
    );
}

#[test]
fn a_lease_lost_after_the_commit_ends_as_a_success_without_a_second_effect() {
    check(
        "
        0s    submit J
        0s    grant L1 a         -> GRANTED
        0s    ack L1             -> ACTIVE
        1s    commit L1          -> COMMITTED
        121s  complete L1 ok     -> refused stale_lease LEASE_EXPIRED
        121s  grant L2 b         -> nothing
        121s  tick               -> moved 1
        121s  state L1           -> EXPIRED
        121s  execution L1       -> DONE
        121s  attempt J          -> SUCCEEDED
        121s  state J            -> SUCCEEDED
        121s  effects J          -> 1
        122s  commit L1          -> DONE
        122s  grant L3 b         -> nothing
        122s  retry J            -> refused job_not_retryable it has not failed
        122s  effects J          -> 1
    ",
    );
}

/// Its effect has happened, but whether all that it made was brought, only its runner could have said.
#[test]
fn a_success_without_its_runners_word_is_not_reused() {
    check(
        "
        0s    run R a:key=1 b:key=2
        0s    grant L1 x a
        0s    grant L2 x b
        0s    ack L1
        0s    ack L2
        1s    commit L1          -> COMMITTED
        1s    commit L2          -> COMMITTED
        2s    complete L1 ok     -> COMPLETED
        121s  tick               -> moved 1
        121s  state R            -> REPORTED SUCCESS
        121s  successes 1 2      -> a
    ",
    );
}

#[test]
fn a_crash_between_the_commit_and_its_end_is_healed_by_a_tick_after_the_restart() {
    check(
        "
        0s    submit J once
        0s    grant L1 a         -> GRANTED
        0s    ack L1             -> ACTIVE
        1s    commit L1          -> COMMITTED
        2s    restart
        2s    execution L1       -> COMMITTED
        2s    effects J          -> 1
        100s  tick
        100s  execution L1       -> COMMITTED
        121s  tick               -> moved 1
        121s  execution L1       -> DONE
        121s  state J            -> SUCCEEDED
        122s  restart
        122s  state J            -> SUCCEEDED
        122s  effects J          -> 1
        122s  commits J          -> 1
    ",
    );
}

#[test]
fn the_runner_may_go_on_after_a_restart_of_the_server() {
    check(
        "
        0s    submit J
        0s    grant L1 a         -> GRANTED
        1s    restart
        2s    ack L1             -> ACTIVE
        3s    restart
        4s    heartbeat L1       -> RUNNING
        5s    commit L1          -> COMMITTED
        6s    restart
        7s    commit L1          -> COMMITTED
        8s    complete L1 ok     -> COMPLETED
        9s    restart
        10s   complete L1 ok     -> COMPLETED
        10s   effects J          -> 1
    ",
    );
}

#[test]
fn a_job_that_times_out_after_the_commit_has_succeeded() {
    check(
        "
        0s    submit J timeout=60s
        0s    grant L1 a         -> GRANTED
        0s    ack L1             -> ACTIVE
        1s    commit L1          -> COMMITTED
        80s   heartbeat L1       -> RUNNING
        90s   tick               -> moved 1
        90s   state L1           -> REVOKED
        90s   execution L1       -> DONE
        90s   state J            -> SUCCEEDED
        90s   effects J          -> 1
    ",
    );
}

#[test]
fn an_effect_for_an_address_is_one_message_in_the_outbox() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a                 -> GRANTED
        -  ack L1                     -> ACTIVE
        -  messages job.effect        -> 0
        -  commit L1 to=deployed      -> COMMITTED
        -  commit L1 to=deployed      -> COMMITTED
        -  complete L1 ok             -> COMPLETED
        -  commit L1 to=deployed      -> DONE
        -  messages job.effect        -> 1
        -  message M job.effect deployed  -> pending
    ",
    );
}
