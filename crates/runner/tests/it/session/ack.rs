//! The lease is acknowledged before anything starts.

use crate::script::check;

#[test]
fn a_lost_ack_is_repeated_and_the_lease_counts_from_the_first() {
    check(
        "
        0s    begin                      -> ack
        10s   ack unknown
        10.2s tick                       -> ack
        20s   ack unknown
        20.4s tick                       -> ack
        20.5s ack acked                  -> start until 115s, heartbeat running step - sent 0
        20.6s heartbeat beaten           -> extend 135.5s
    ",
    );
}

#[test]
fn an_ack_that_never_comes_through_ends_with_the_lease() {
    check(
        "
        0s    begin                      -> ack
        119s  ack unknown
        119.2s tick                      -> ack
        120s  tick                       -> over lease lost
        121s  ack acked
    ",
    );
}

#[test]
fn an_ack_whose_answer_took_as_long_as_the_lease_starts_nothing() {
    check(
        "
        0s    begin                      -> ack
        116s  ack acked                  -> over lease lost
    ",
    );
}

#[test]
fn a_stale_ack_ends_it_before_it_began() {
    check(
        "
        0s    begin                      -> ack
        0.1s  ack stale revoked          -> over stale LeaseRevoked
        -     wakes                      -> never
    ",
    );
}

#[test]
fn a_heartbeat_that_finds_no_ack_says_it_again() {
    check(
        "
        0s    begin                      -> ack
        0.1s  ack acked                  -> start until 115s, heartbeat running step - sent 0
        0.2s  heartbeat not-acknowledged -> ack
        0.3s  ack unknown
        0.5s  tick                       -> ack
        0.6s  ack acked                  -> heartbeat running step - sent 0
        0.7s  heartbeat beaten           -> extend 115.6s
    ",
    );
}

#[test]
fn a_complete_that_finds_no_ack_says_it_again() {
    check(
        "
        0s    begin                      -> ack
        0.1s  ack acked                  -> start until 115s, heartbeat running step - sent 0
        0.2s  heartbeat beaten           -> extend 115.1s
        1s    finished succeeded         -> complete SUCCEEDED 0 (2 steps succeeded)
        1.1s  complete not-acknowledged  -> ack
        1.2s  ack acked
        1.3s  tick                       -> complete SUCCEEDED 0 (2 steps succeeded)
        1.4s  complete accepted          -> over completed succeeded
    ",
    );
}
