//! SIGTERM to the runner: finish or hand back.

use crate::script::check;

#[test]
fn a_runner_that_must_go_hands_its_job_back() {
    check("
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        1s     step 0
        2s     stop                      -> cancel within 5s
        -      stop
        2.1s   written 7
        2.15s  finished canceled         -> log 0
        2.2s   log logged 7              -> complete INFRA 125 (executor unavailable: the runner was told to stop and hands the job back)
        2.3s   complete accepted         -> over completed infra
    ");
}

#[test]
fn a_job_that_finishes_while_it_is_handed_back_is_finished() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        2s     stop                      -> cancel within 5s
        2.1s   finished succeeded        -> complete SUCCEEDED 0 (2 steps succeeded)
    ",
    );
}

#[test]
fn a_keeper_that_does_not_hand_back_is_killed() {
    check("
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        2s     stop                      -> cancel within 5s
        12s    tick                      -> kill
        12.1s  gone                      -> complete INFRA 125 (executor unavailable: the runner was told to stop and hands the job back)
    ");
}

#[test]
fn a_runner_that_must_go_before_its_lease_is_acknowledged_starts_nothing() {
    check("
        0s     begin                     -> ack
        1s     stop
        2s     ack acked                 -> complete INFRA 125 (executor unavailable: the runner was told to stop and hands the job back)
        2.1s   complete accepted         -> over completed infra
    ");
}

#[test]
fn a_runner_that_must_go_waits_ten_seconds_for_an_acknowledgement() {
    check(
        "
        0s     begin                     -> ack
        1s     stop
        11s    tick                      -> over lease lost
    ",
    );
}

#[test]
fn a_cancel_wins_over_handing_back() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        2s     stop                      -> cancel within 5s
        3s     heartbeat beaten cancel 30s -> extend 115s, cancel within 18s
        4s     finished canceled         -> cancel-ack (canceled before the first step)
    ",
    );
}

#[test]
fn a_result_on_its_way_is_not_taken_back() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     finished succeeded        -> complete SUCCEEDED 0 (2 steps succeeded)
        1.1s   stop
        1.2s   complete accepted         -> over completed succeeded
    ",
    );
}
