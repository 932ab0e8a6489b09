//! The log: one chunk at a time, from the acknowledged offset.

use crate::script::check;

#[test]
fn output_is_gathered_and_a_full_chunk_does_not_wait() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        1s     written 1
        1.05s  written 2
        -      wakes                     -> 1.1s
        1.06s  written 256K              -> log 0
        # One at a time.
        1.07s  written 700K
        1.08s  log logged 256K           -> log 262144
        1.09s  log logged 512K
        1.19s  tick                      -> log 524288
        1.2s   log logged 700K
        -      wakes                     -> 20s
    ",
    );
}

#[test]
fn a_lost_answer_to_a_chunk_repeats_it_and_the_right_offset_is_taken_up() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        1s     written 10
        1.1s   tick                      -> log 0
        1.2s   log unknown
        1.3s   written 20
        1.4s   tick                      -> log 0
        1.5s   log wrong-offset 10
        1.6s   tick                      -> log 10
        1.7s   log logged 20
        2s     finished succeeded        -> complete SUCCEEDED 0 (2 steps succeeded)
    ",
    );
}

#[test]
fn a_log_goes_back_to_where_it_is_told_to() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        1s     written 10
        1.1s   tick                      -> log 0
        1.2s   log logged 10
        1.3s   written 20
        1.35s  finished succeeded        -> log 10
        1.4s   log wrong-offset 4        -> log 4
        1.5s   log logged 20             -> complete SUCCEEDED 0 (2 steps succeeded)
    ",
    );
}

#[test]
fn an_offset_beyond_the_log_gives_it_up_but_not_the_job() {
    check("
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        1s     written 10
        1.05s  finished succeeded        -> log 0
        1.1s   log wrong-offset 99       -> complete SUCCEEDED 0 (2 steps succeeded (the log could not be uploaded whole))
        1.2s   complete accepted         -> over completed succeeded
    ");
}

#[test]
fn a_log_that_cannot_be_uploaded_holds_the_result_up_for_half_a_minute() {
    check("
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        1s     written 10
        1.05s  finished failed 0 2       -> log 0
        11.05s log unknown
        11.25s tick                      -> log 0
        20s    tick                      -> heartbeat uploading step - sent 0
        20.1s  heartbeat beaten
        21.25s log unknown
        21.65s tick                      -> log 0
        31.05s tick                      -> complete FAILED 2 (step 1 of 2 ended with exit code 2 (the log could not be uploaded whole))
        31.1s  complete accepted         -> over completed failed
    ");
}

#[test]
fn a_refused_log_does_not_stop_the_job() {
    check("
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        1s     written 10
        1.1s   tick                      -> log 0
        1.2s   log refused payload_too_large
        1.3s   written 20
        2s     finished succeeded        -> complete SUCCEEDED 0 (2 steps succeeded (the log could not be uploaded whole))
    ");
}

#[test]
fn a_job_is_told_once_that_its_log_is_cut() {
    check(
        "
        0s     begin                     -> ack
        0s     ack acked                 -> start until 115s, heartbeat running step - sent 0
        0.1s   heartbeat beaten          -> extend 115s
        1s     written 256K              -> log 0
        1.1s   log logged 256K truncated -> note truncated
        1.2s   written 512K              -> log 262144
        1.3s   log logged 512K truncated
    ",
    );
}
