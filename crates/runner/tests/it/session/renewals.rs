//! Renewals may fail until the lease's own deadline and not a moment longer.

use std::time::Duration;

use runner::session::{Plan, Terms};

use crate::script::{check, check_with, usual};

#[test]
fn renewals_that_fail_until_just_before_the_deadline_do_no_harm() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     heartbeat beaten          -> extend 115s
        20s    tick                      -> heartbeat running step - sent 0
        30s    heartbeat unknown
        30.2s  tick                      -> heartbeat running step - sent 0
        40.2s  heartbeat unknown
        40.6s  tick                      -> heartbeat running step - sent 0
        50.6s  heartbeat unknown
        51.4s  tick                      -> heartbeat running step - sent 0
        61.4s  heartbeat unknown
        63s    tick                      -> heartbeat running step - sent 0
        73s    heartbeat unknown
        76.2s  tick                      -> heartbeat running step - sent 0
        86.2s  heartbeat unknown
        91.2s  tick                      -> heartbeat running step - sent 0
        101.2s heartbeat unknown
        106.2s tick                      -> heartbeat running step - sent 0
        114.9s heartbeat beaten          -> extend 221.2s
        126.2s tick                      -> heartbeat running step - sent 0
        126.3s heartbeat beaten          -> extend 241.2s
        127s   finished succeeded        -> complete SUCCEEDED 0 (2 steps succeeded)
        128s   complete accepted         -> over completed succeeded
    ",
    );
}

#[test]
fn renewals_that_fail_past_the_deadline_stop_the_job_without_a_word() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        110s   heartbeat unknown
        110.2s tick                      -> heartbeat running step - sent 0
        115s   tick                      -> kill
        # Too late: even an answer that renews changes nothing.
        115.1s heartbeat beaten
        116s   gone                      -> over lease lost
        -      wakes                     -> never
    ",
    );
}

#[test]
fn an_answer_that_comes_with_the_deadline_comes_too_late() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        115s   heartbeat beaten          -> kill
        -      finished succeeded        -> over lease lost
    ",
    );
}

#[test]
fn a_heartbeat_that_does_not_extend_moves_no_deadline() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     heartbeat beaten not-extended
        20s    tick                      -> heartbeat running step - sent 0
        115s   tick                      -> kill
        116s   gone                      -> over lease lost
    ",
    );
}

#[test]
fn an_unexpected_refusal_of_a_heartbeat_is_tried_again() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     heartbeat refused bad_gateway
        1.2s   tick                      -> heartbeat running step - sent 0
        1.3s   heartbeat beaten          -> extend 116.2s
    ",
    );
}

#[test]
fn a_server_that_answers_late_gets_the_next_heartbeat_at_once() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        # The time limit of requests is the agent's; here an answer came after all.
        25s    heartbeat beaten          -> extend 115s, heartbeat running step - sent 0
    ",
    );
}

#[test]
fn a_short_lease_leaves_a_quarter_for_killing() {
    let terms = Terms {
        lease_ttl: Duration::from_secs(2),
        heartbeat_interval: Duration::from_millis(500),
        ..usual()
    };
    check_with(
        terms,
        Plan::Run,
        "
0s     begin                     -> ack
        0s     ack acked ttl 2s          -> start until 1.5s, heartbeat running step - sent 0
        0.1s   heartbeat beaten ttl 2s   -> extend 1.5s
        0.5s   tick                      -> heartbeat running step - sent 0
        0.875s heartbeat unknown
        1s     tick                      -> heartbeat running step - sent 0
        1.1s   heartbeat beaten ttl 1s   -> extend 1.75s
    ",
    );
}
