//! Two-phase cancellation, at every moment.

use crate::script::check;

#[test]
fn a_running_job_is_canceled_with_time_left_for_its_log() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        0.2s   step 1
        20s    tick                      -> heartbeat running step 1 sent 0
        20s    heartbeat beaten cancel 30s -> extend 135s, cancel within 20s
        21s    written 5
        21.05s finished canceled         -> log 0
        21.1s  log logged 5              -> cancel-ack (canceled during step 2 of 2)
        21.2s  cancel-ack cancel-acked   -> over canceled
    ",
    );
}

#[test]
fn a_job_is_canceled_before_its_first_step() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0s     heartbeat beaten cancel 30s -> extend 115s, cancel within 20s
        0.1s   finished canceled         -> cancel-ack (canceled before the first step)
        0.2s   cancel-ack unknown
        0.4s   tick                      -> cancel-ack (canceled before the first step)
        0.5s   cancel-ack cancel-acked   -> over canceled
    ",
    );
}

#[test]
fn a_cancel_told_again_is_the_same_cancel() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0s     heartbeat beaten cancel 30s -> extend 115s, cancel within 20s
        20s    tick                      -> heartbeat running step - sent 0
        20s    heartbeat beaten cancel 10s -> extend 135s
        20.1s  finished canceled forced  -> cancel-ack (canceled before the first step)
    ",
    );
}

#[test]
fn a_keeper_that_does_not_cancel_is_killed() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0s     heartbeat beaten cancel 9s -> extend 115s, cancel within 6s
        7s     tick                      -> kill
        7.1s   gone                      -> cancel-ack (canceled before the first step)
        7.2s   cancel-ack cancel-acked   -> over canceled
    ",
    );
}

#[test]
fn a_cancel_while_uploading_ends_in_an_acknowledgement() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        0.2s   written 600K              -> log 0
        0.3s   finished succeeded        -> heartbeat uploading step - sent 0
        0.3s   heartbeat beaten cancel 30s
        0.4s   log logged 256K           -> log 262144
        0.5s   log logged 512K           -> log 524288
        0.6s   log logged 600K           -> cancel-ack (canceled while the log was uploaded)
        0.7s   cancel-ack cancel-acked   -> over canceled
    ",
    );
}

#[test]
fn a_cancel_does_not_wait_for_a_log_that_does_not_move() {
    check("
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0s     heartbeat beaten cancel 9s -> extend 115s, cancel within 6s
        1s     written 5
        1.05s  finished canceled         -> log 0
        8s     tick                      -> cancel-ack (canceled before the first step (the log could not be uploaded whole))
        8.1s   log unknown
        8.2s   cancel-ack cancel-acked   -> over canceled
    ");
}

#[test]
fn a_job_that_finished_while_it_was_canceled_is_canceled() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0s     heartbeat beaten cancel 30s -> extend 115s, cancel within 20s
        0.1s   step 1
        0.2s   finished succeeded        -> cancel-ack (canceled during step 2 of 2)
        0.3s   cancel-ack cancel-acked   -> over canceled
    ",
    );
}

#[test]
fn a_cancel_that_crosses_the_completion_is_settled_by_its_answer() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        1s     finished failed 0 1       -> complete FAILED 1 (step 1 of 2 ended with exit code 1)
        1.1s   heartbeat beaten cancel 30s
        1.2s   complete not-accepted     -> over canceled
    ",
    );
}

#[test]
fn a_lease_that_goes_stale_during_a_cancel_is_not_acknowledged() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0s     heartbeat beaten cancel 30s -> extend 115s, cancel within 20s
        20s    tick                      -> heartbeat running step - sent 0
        20s    heartbeat stale revoked   -> kill
        20.1s  finished canceled forced  -> over stale LeaseRevoked
    ",
    );
}
