//! Complete and its answers.

use crate::script::check;

#[test]
fn a_lost_answer_to_complete_is_asked_for_again() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        1s     finished succeeded        -> complete SUCCEEDED 0 (2 steps succeeded)
        11s    complete unknown
        11.2s  tick                      -> complete SUCCEEDED 0 (2 steps succeeded)
        11.3s  complete accepted         -> over completed succeeded
    ",
    );
}

#[test]
fn complete_is_tried_until_the_lease_ends_and_not_after() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        1s     finished succeeded        -> complete SUCCEEDED 0 (2 steps succeeded)
        119.5s complete unknown
        119.7s tick                      -> complete SUCCEEDED 0 (2 steps succeeded)
        120s   tick                      -> over lease lost
        120.1s complete accepted
        -      wakes                     -> never
    ",
    );
}

#[test]
fn a_complete_refused_for_good_is_not_repeated() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     finished succeeded        -> complete SUCCEEDED 0 (2 steps succeeded)
        1.1s   complete refused invalid_input -> over refused Complete invalid_input
        -      wakes                     -> never
    ",
    );
}

#[test]
fn a_token_that_is_no_longer_good_stops_the_job() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat unauthorized    -> kill
        0.2s   gone                      -> over unauthorized
    ",
    );
}
