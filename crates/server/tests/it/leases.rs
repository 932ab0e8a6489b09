//! The fence: only the runner that holds the lease, while it holds it, speaks for the attempt.

use crate::script::{check, check_timeless};

#[test]
fn a_late_ack_does_not_disturb_the_successor() {
    check(
        "
        0s    submit J
        0s    grant L1 a        -> GRANTED J 1
        31s   tick              -> moved 1
        31s   state L1          -> REVOKED
        32s   grant L2 b        -> GRANTED J 1
        33s   ack L1            -> refused stale_lease LEASE_REVOKED
        33s   state L2          -> GRANTED
        34s   ack L2            -> ACTIVE
        35s   ack L1            -> refused stale_lease LEASE_REVOKED
        35s   state L2          -> ACTIVE
        36s   complete L2 ok    -> COMPLETED
        36s   state J           -> SUCCEEDED
    ",
    );
}

#[test]
fn an_ack_at_the_end_of_its_window_is_late_even_before_the_tick() {
    check(
        "
        0s    submit J
        0s    grant L1 a        -> GRANTED
        30s   ack L1            -> refused stale_lease LEASE_EXPIRED
        30s   state L1          -> GRANTED
        30s   tick              -> moved 1
        30s   state L1          -> REVOKED
        30s   attempt J         -> QUEUED
    ",
    );
}

#[test]
fn a_new_process_under_an_old_runner_id_does_not_inherit_the_lease() {
    check(
        "
        0s    submit J
        0s    grant L1 a        -> GRANTED J 1
        1s    ack L1            -> ACTIVE
        121s  tick              -> moved 1
        122s  grant L2 a        -> GRANTED J 1
        123s  ack L2            -> ACTIVE
        # Both say they are `a`; only one has the lease.
        124s  heartbeat L1      -> refused stale_lease LEASE_EXPIRED
        124s  commit L1         -> refused stale_lease LEASE_EXPIRED
        125s  complete L1 ok    -> refused stale_lease LEASE_EXPIRED
        125s  state J           -> RUNNING
        126s  complete L2 ok    -> COMPLETED
        127s  complete L1 ok    -> refused stale_lease LEASE_EXPIRED
        127s  commits J         -> 1
    ",
    );
}

#[test]
fn a_heartbeat_after_the_ttl_renews_nothing_even_before_the_tick() {
    check(
        "
        0s    submit J
        0s    grant L1 a        -> GRANTED
        0s    ack L1            -> ACTIVE
        119s  heartbeat L1      -> RUNNING
        239s  heartbeat L1      -> refused stale_lease LEASE_EXPIRED
        239s  state L1          -> ACTIVE
        239s  tick              -> moved 1
        239s  state L1          -> EXPIRED
        240s  heartbeat L1      -> refused stale_lease LEASE_EXPIRED
        240s  attempt J         -> QUEUED
    ",
    );
}

#[test]
fn a_heartbeat_in_time_moves_the_end_of_the_lease() {
    check(
        "
        0s      submit J
        0s      grant L1 a      -> GRANTED
        0s      ack L1          -> ACTIVE
        119.9s  heartbeat L1    -> RUNNING
        120s    tick            -> moved 1
        120s    state L1        -> ACTIVE
        239.8s  heartbeat L1    -> RUNNING
        239.9s  tick
        359.7s  complete L1 ok  -> COMPLETED
        359.7s  state J         -> SUCCEEDED
    ",
    );
}

#[test]
fn a_repeated_ack_does_not_extend_the_lease() {
    check(
        "
        0s    submit J
        0s    grant L1 a        -> GRANTED
        10s   ack L1            -> ACTIVE
        100s  ack L1            -> ACTIVE
        130s  ack L1            -> refused stale_lease LEASE_EXPIRED
        130s  tick              -> moved 1
        130s  state L1          -> EXPIRED
    ",
    );
}

#[test]
fn a_completion_after_the_ttl_is_stale_even_before_the_tick() {
    check(
        "
        0s    submit J
        0s    grant L1 a        -> GRANTED
        0s    ack L1            -> ACTIVE
        120s  complete L1 ok    -> refused stale_lease LEASE_EXPIRED
        120s  state J           -> RUNNING
        120s  tick              -> moved 1
        120s  state J           -> PENDING
        121s  complete L1 ok    -> refused stale_lease LEASE_EXPIRED
        121s  grant L2 b        -> GRANTED J 1
        121s  ack L2            -> ACTIVE
        122s  complete L1 ok    -> refused stale_lease LEASE_EXPIRED
        122s  state J           -> RUNNING
        123s  complete L2 ok    -> COMPLETED
        123s  state J           -> SUCCEEDED
        123s  execution L1      -> ABORTED
        123s  execution L2      -> DONE
    ",
    );
}

#[test]
fn a_commit_after_the_ttl_is_stale_even_before_the_tick() {
    check(
        "
        0s    submit J
        0s    grant L1 a        -> GRANTED
        0s    ack L1            -> ACTIVE
        120s  commit L1         -> refused stale_lease LEASE_EXPIRED
        120s  effects J         -> 0
        120s  tick              -> moved 1
        120s  commit L1         -> refused stale_lease LEASE_EXPIRED
        120s  effects J         -> 0
    ",
    );
}

#[test]
fn a_lease_belongs_to_the_runner_it_was_granted_to() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a                 -> GRANTED
        -  ack L1 as=b                -> refused stale_lease LEASE_UNKNOWN
        -  ack L1                     -> ACTIVE
        -  heartbeat L1 as=b          -> refused stale_lease LEASE_UNKNOWN
        -  commit L1 as=b             -> refused stale_lease LEASE_UNKNOWN
        -  complete L1 ok as=b        -> refused stale_lease LEASE_UNKNOWN
        -  cancel J                   -> asked
        -  cancel-ack L1 as=b         -> refused stale_lease LEASE_UNKNOWN
        -  state L1                   -> ACTIVE
        -  cancel-ack L1              -> CANCELED
    ",
    );
}

#[test]
fn knowing_the_execution_is_not_holding_its_lease() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a                        -> GRANTED
        -  ack L1 secret=guessed             -> refused stale_lease LEASE_UNKNOWN
        -  ack L1                            -> ACTIVE
        -  heartbeat L1 secret=guessed       -> refused stale_lease LEASE_UNKNOWN
        -  commit L1 secret=guessed          -> refused stale_lease LEASE_UNKNOWN
        -  complete L1 ok secret=guessed     -> refused stale_lease LEASE_UNKNOWN
        -  cancel J                          -> asked
        -  cancel-ack L1 secret=guessed      -> refused stale_lease LEASE_UNKNOWN
        -  state L1                          -> ACTIVE
    ",
    );
}

#[test]
fn a_lease_that_was_never_granted_is_unknown() {
    check_timeless(
        "
        -  ack unknown           -> refused stale_lease LEASE_UNKNOWN
        -  heartbeat unknown     -> refused stale_lease LEASE_UNKNOWN
        -  commit unknown        -> refused stale_lease LEASE_UNKNOWN
        -  complete unknown ok   -> refused stale_lease LEASE_UNKNOWN
        -  cancel-ack unknown    -> refused stale_lease LEASE_UNKNOWN
    ",
    );
}

#[test]
fn before_its_ack_a_lease_says_nothing() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a            -> GRANTED
        -  heartbeat L1          -> refused lease_not_acknowledged
        -  commit L1             -> refused lease_not_acknowledged
        -  complete L1 ok        -> refused lease_not_acknowledged
        -  complete L1 fail      -> refused lease_not_acknowledged
        -  cancel-ack L1         -> refused lease_not_acknowledged
        -  state L1              -> GRANTED
        -  attempt J             -> LEASED
        -  execution L1          -> LEASED
    ",
    );
}

#[test]
fn the_same_completion_twice_gets_the_same_answer_and_another_one_is_stale() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a                 -> GRANTED
        -  ack L1                     -> ACTIVE
        -  complete L1 ok             -> COMPLETED
        -  complete L1 ok             -> COMPLETED
        -  complete L1 fail           -> refused stale_lease LEASE_COMPLETED
        -  heartbeat L1               -> refused stale_lease LEASE_COMPLETED
        -  state J                    -> SUCCEEDED
        -  commits J                  -> 1
    ",
    );
}

#[test]
fn a_repeated_failure_does_not_queue_a_second_retry() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a                                -> GRANTED J 1
        -  ack L1                                    -> ACTIVE
        -  complete L1 fail exit=9 connection reset  -> COMPLETED
        -  attempts J                                -> 2 of 3
        -  complete L1 fail exit=9 connection reset  -> COMPLETED
        -  complete L1 fail exit=8 connection reset  -> refused stale_lease LEASE_COMPLETED
        -  complete L1 ok                            -> refused stale_lease LEASE_COMPLETED
        -  attempts J                                -> 2 of 3
        -  attempt J#1                               -> FAILED
        -  attempt J#2                               -> QUEUED
        # Also while the successor is at work.
        -  grant L2 b                                -> GRANTED J 2
        -  ack L2                                    -> ACTIVE
        -  complete L1 fail exit=9 connection reset  -> COMPLETED
        -  complete L1 ok                            -> refused stale_lease LEASE_COMPLETED
        -  state L2                                  -> ACTIVE
        -  complete L2 ok                            -> COMPLETED
        -  commits J                                 -> 1
    ",
    );
}

#[test]
fn one_batch_with_two_completions_of_one_lease_takes_the_first() {
    check(
        "
        -  submit J
        -  grant L1 a                 -> GRANTED
        -  ack L1                     -> ACTIVE
        -  complete L1 fail           -> COMPLETED
        +  complete L1 ok             -> refused stale_lease LEASE_COMPLETED
        +  complete L1 fail           -> COMPLETED
        -  state J                    -> FAILED
        -  commits J                  -> 0
    ",
    );
}

#[test]
fn the_rescue_of_a_lease_wins_over_a_completion_behind_it() {
    check(
        "
        0s    submit J
        0s    grant L1 a        -> GRANTED
        0s    ack L1            -> ACTIVE
        120s  look L1           -> moved
        +     complete L1 ok    -> refused stale_lease LEASE_EXPIRED
        120s  state J           -> PENDING
        120s  commits J         -> 0
    ",
    );
}

#[test]
fn a_completion_in_time_wins_over_the_rescue_behind_it() {
    check(
        "
        0s    submit J
        0s    grant L1 a        -> GRANTED
        0s    ack L1            -> ACTIVE
        119s  complete L1 ok    -> COMPLETED
        +     look L1           -> nothing
        120s  look L1           -> nothing
        120s  tick              -> nothing
        120s  state J           -> SUCCEEDED
        120s  state L1          -> COMPLETED
    ",
    );
}

#[test]
fn one_job_is_leased_to_one_runner_at_a_time() {
    check_timeless(
        "
        -  submit J
        -  grant L1 a            -> GRANTED J 1
        +  grant L2 b            -> nothing
        -  grant L3 b            -> nothing
        -  grant L4 b J          -> refused job_leased
        -  ack L1                -> ACTIVE
        -  grant L5 b J          -> refused job_leased
        -  complete L1 ok        -> COMPLETED
        -  grant L6 b J          -> refused job_over SUCCEEDED
        -  grant L7 b            -> nothing
    ",
    );
}

#[test]
fn higher_priority_goes_first_then_age() {
    check(
        "
        0s   submit old
        1s   submit young
        2s   submit urgent priority=5
        3s   submit idle priority=-1
        4s   grant L1 a          -> GRANTED urgent
        4s   grant L2 a          -> GRANTED old
        4s   grant L3 a          -> GRANTED young
        4s   grant L4 a          -> GRANTED idle
        4s   grant L5 a          -> nothing
    ",
    );
}

#[test]
fn an_attempt_that_lost_its_lease_keeps_its_place_in_the_queue() {
    check(
        "
        0s    submit old
        1s    grant L1 a         -> GRANTED old
        2s    submit young
        31s   tick               -> moved 1
        32s   grant L2 b         -> GRANTED old
        32s   grant L3 b         -> GRANTED young
    ",
    );
}

#[test]
fn a_runner_gets_only_what_it_can_do() {
    check_timeless(
        "
        -  submit plain
        -  submit linux on=linux
        -  submit both on=linux+gpu
        -  grant L1 a can=gpu          -> GRANTED plain
        -  grant L2 a can=gpu          -> nothing
        -  grant L3 b can=linux        -> GRANTED linux
        -  grant L4 b can=linux        -> nothing
        -  grant L5 c can=gpu+linux    -> GRANTED both
    ",
    );
}
