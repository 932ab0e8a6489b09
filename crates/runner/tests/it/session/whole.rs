//! Jobs from beginning to end.

use crate::script::check;

#[test]
fn a_job_is_acknowledged_executed_and_completed() {
    check(
        "
        0s     begin                     -> ack
        0.01s  ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.02s  heartbeat beaten          -> extend 115.01s
        0.03s  step 0
        0.04s  written 10
        0.1s   written 12
        0.14s  tick                      -> log 0
        0.2s   log logged 12
        20.01s tick                      -> heartbeat running step 0 sent 12
        20.1s  heartbeat beaten          -> extend 135.01s
        30s    step 1
        -      written 40
        30.01s finished succeeded        -> log 12
        30.02s log logged 40             -> complete SUCCEEDED 0 (2 steps succeeded)
        30.03s complete accepted         -> over completed succeeded
        -      wakes                     -> never
    ",
    );
}

#[test]
fn a_job_without_output_completes_at_once() {
    check(
        "
        0s    begin                      -> ack
        0.1s  ack acked                  -> start until 115s, heartbeat running step - sent 0
        0.2s  finished succeeded         -> complete SUCCEEDED 0 (2 steps succeeded)
        0.3s  complete accepted          -> over completed succeeded
        # The heartbeat that was on its way finds nothing more to say.
        0.4s  heartbeat stale completed
    ",
    );
}

#[test]
fn a_failed_step_is_reported_with_its_exit_code() {
    check(
        "
        0s    begin                      -> ack
        0.1s  ack acked                  -> start until 115s, heartbeat running step - sent 0
        0.2s  heartbeat beaten           -> extend 115.1s
        0.3s  step 0
        0.4s  finished failed 0 101      -> complete FAILED 101 (step 1 of 2 ended with exit code 101)
        0.5s  complete accepted          -> over completed failed
    ",
    );
}
