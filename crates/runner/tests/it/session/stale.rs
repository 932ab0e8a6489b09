//! After `StaleLease`: stop, and never speak again.

use crate::script::check;

#[test]
fn a_stale_heartbeat_stops_the_job_and_ends_all_talk() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   written 10
        0.2s   tick                      -> log 0
        0.3s   heartbeat stale expired   -> kill
        0.4s   log logged 10
        0.5s   written 20
        1s     finished succeeded        -> over stale LeaseExpired
        2s     tick
    ",
    );
}

#[test]
fn a_stale_log_while_running_stops_the_job() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        0.2s   written 10
        0.3s   tick                      -> log 0
        0.4s   log stale revoked         -> kill
        0.5s   gone                      -> over stale LeaseRevoked
    ",
    );
}

#[test]
fn a_lease_that_goes_stale_while_the_log_is_uploaded_is_not_completed() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        0.2s   written 10
        0.25s  finished succeeded        -> log 0
        0.3s   log stale expired         -> over stale LeaseExpired
    ",
    );
}

#[test]
fn a_stale_complete_is_final() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        1s     finished succeeded        -> complete SUCCEEDED 0 (2 steps succeeded)
        1.1s   complete stale expired    -> over stale LeaseExpired
        -      wakes                     -> never
    ",
    );
}

#[test]
fn a_heartbeat_overtaken_by_the_completion_tells_that_it_was_taken() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     finished succeeded        -> complete SUCCEEDED 0 (2 steps succeeded)
        1.1s   heartbeat stale completed -> over completed succeeded
        1.2s   complete unknown
        -      wakes                     -> never
    ",
    );
}

#[test]
fn a_revoked_lease_told_to_a_late_heartbeat_ends_the_final_word() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     finished succeeded        -> complete SUCCEEDED 0 (2 steps succeeded)
        1.1s   heartbeat stale revoked   -> over stale LeaseRevoked
        1.2s   complete unknown
        -      wakes                     -> never
    ",
    );
}
