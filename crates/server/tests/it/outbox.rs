//! The outbox: told at least once, with growing pauses, given up after the last try, and never sat on by the dead.

use std::time::Duration;

use decisions::Policy;
use decisions::deliveries::backoff;

use crate::script::{check, check_timeless, check_with};

#[test]
fn a_run_is_reported_when_its_last_subscriber_has_been_told() {
    check_timeless(
        "
        -  webhook one run.finished
        -  webhook two run.finished job.finished
        -  webhook three job.finished
        -  run R a
        -  grant L1 x
        -  ack L1
        -  complete L1 ok
        -  state R                            -> SUCCESS
        -  message J2 job.finished two        -> pending
        -  message J3 job.finished three      -> pending
        -  message M1 run.finished one        -> pending
        -  message M2 run.finished two        -> pending
        -  ready                              -> J2 J3 M1 M2
        -  claim J2                           -> delivering try 1
        -  delivered J2                       -> moved
        -  claim M1                           -> delivering try 1
        -  claim M1                           -> nothing
        -  delivered M1                       -> moved
        -  delivered M1                       -> nothing
        -  state R                            -> SUCCESS
        -  claim M2                           -> delivering try 1
        -  delivered M2                       -> moved
        -  state R                            -> REPORTED SUCCESS
        -  cause R                            -> its final status is delivered
        -  ready                              -> J3
    ",
    );
}

#[test]
fn a_run_that_nobody_asked_about_is_reported_at_once() {
    check_timeless(
        "
        -  webhook one job.finished
        -  run R                              -> REPORTED SUCCESS
        -  cause R                            -> nobody asked to be told
    ",
    );
}

#[test]
fn a_run_whose_end_cannot_be_told_is_reported_as_undeliverable() {
    check_with(
        Policy { delivery_tries_max: 1, ..Policy::default() },
        "
        0s  webhook ci run.finished
        0s  run R                             -> SUCCESS
        0s  message M run.finished            -> pending
        0s  claim M                           -> delivering try 1
        0s  failed M no route to host         -> moved
        0s  state M                           -> dead_letter
        0s  state R                           -> REPORTED SUCCESS
        0s  cause R                           -> undeliverable
    ",
    );
}

#[test]
fn pauses_double_until_the_eighth_try_is_the_last() {
    check(
        "
        0s    webhook ci run.finished
        0s    run R
        0s    message M run.finished
        0s    claim M                         -> delivering try 1
        0s    failed M 503                    -> moved
        0s    state M                         -> retry_wait
        0s    due M                           -> 1s
        0.9s  claim M                         -> nothing
        0.9s  ready                           -> nothing
        1s    ready                           -> M
        1s    claim M                         -> delivering try 2
        1s    failed M 503
        1s    due M                           -> 2s
        3s    claim M                         -> delivering try 3
        3s    failed M 503
        3s    due M                           -> 4s
        7s    claim M                         -> delivering try 4
        7s    failed M 503
        7s    due M                           -> 8s
        15s   claim M                         -> delivering try 5
        15s   failed M 503
        15s   due M                           -> 16s
        31s   claim M                         -> delivering try 6
        31s   failed M 503
        31s   due M                           -> 32s
        63s   claim M                         -> delivering try 7
        63s   failed M 503
        63s   due M                           -> 64s
        127s  state R                         -> SUCCESS
        127s  claim M                         -> delivering try 8
        127s  failed M 503
        127s  state M                         -> dead_letter
        127s  due M                           -> never
        127s  state R                         -> REPORTED SUCCESS
        127s  cause R                         -> undeliverable
        999s  ready                           -> nothing
        999s  claim M                         -> nothing
        999s  tick                            -> nothing
    ",
    );
}

#[test]
fn a_pause_is_at_most_five_minutes_and_jitter_takes_up_to_half_of_it() {
    check_with(
        Policy {
            delivery_tries_max: 20,
            delivery_backoff_first: Duration::from_secs(200),
            ..Policy::default()
        },
        "
        0s    webhook ci run.finished
        0s    run R
        0s    message M run.finished
        0s    claim M
        0s    failed M 503 jitter=1
        0s    due M                           -> 100s
        100s  claim M
        100s  failed M 503
        100s  due M                           -> 300s
        400s  claim M
        400s  failed M 503 jitter=0.5
        400s  due M                           -> 225s
        625s  claim M
        625s  failed M 503 jitter=1
        625s  due M                           -> 150s
    ",
    );
}

#[test]
fn a_pause_stays_within_its_bounds_for_every_try_and_jitter() {
    let policy = Policy::default();
    for tries in 1..=100 {
        let whole = backoff(&policy, tries, 0.0);
        let doubled = Duration::from_secs(1 << (tries - 1).min(20));
        assert_eq!(whole, doubled.min(Duration::from_secs(300)), "try {tries}");
        for jitter in [0.0, 0.1, 0.5, 0.999, 1.0] {
            let pause = backoff(&policy, tries, jitter);
            assert!(
                pause <= whole && pause >= whole / 2,
                "try {tries}, jitter {jitter}: {pause:?} of {whole:?}"
            );
        }
    }
}

#[test]
fn a_claim_runs_out_and_counts_as_a_failed_try() {
    check(
        "
        0s   webhook ci run.finished
        0s   run R
        0s   message M run.finished
        0s   claim M                          -> delivering try 1
        59s  tick                             -> nothing
        60s  ready                            -> nothing
        60s  tick                             -> moved 1
        60s  state M                          -> retry_wait
        60s  cause M                          -> the worker did not report back in time
        61s  claim M                          -> delivering try 2
        # The first worker wakes up.
        62s  delivered M claim=1                -> refused claim_lost
        62s  failed M 503 claim=1               -> refused claim_lost
        62s  state M                          -> delivering
        63s  delivered M                      -> moved
        64s  delivered M claim=1                -> refused claim_lost
        64s  state R                          -> REPORTED SUCCESS
    ",
    );
}

#[test]
fn a_claim_that_ran_out_cannot_be_reported_before_the_next_one_either() {
    check(
        "
        0s   webhook ci run.finished
        0s   run R
        0s   message M run.finished
        0s   claim M                          -> delivering try 1
        60s  expire M                         -> moved
        +    delivered M                      -> refused claim_lost
        60s  state M                          -> retry_wait
        61s  claim M                          -> delivering try 2
        120s expire M                         -> nothing
        121s expire M                         -> moved
    ",
    );
}

#[test]
fn the_last_claim_that_runs_out_makes_a_dead_letter() {
    check_with(
        Policy { delivery_tries_max: 1, ..Policy::default() },
        "
        0s   webhook ci run.finished
        0s   run R
        0s   message M run.finished
        0s   claim M                          -> delivering try 1
        60s  tick                             -> moved 1
        60s  state M                          -> dead_letter
        60s  state R                          -> REPORTED SUCCESS
        60s  cause R                          -> undeliverable
        61s  delivered M                      -> refused claim_lost
    ",
    );
}

#[test]
fn a_dead_letter_is_redriven_from_zero() {
    check_with(
        Policy { delivery_tries_max: 2, ..Policy::default() },
        "
        0s  webhook ci job.finished
        0s  submit J
        0s  cancel J                          -> over
        0s  message M job.finished
        0s  redrive M                         -> refused delivery_not_dead pending
        0s  claim M                           -> delivering try 1
        0s  failed M 503
        1s  claim M                           -> delivering try 2
        1s  failed M 503
        1s  state M                           -> dead_letter
        2s  redrive M                         -> moved
        2s  state M                           -> pending
        2s  ready                             -> M
        2s  claim M                           -> delivering try 1
        2s  failed M 503
        2s  state M                           -> retry_wait
        2s  due M                             -> 1s
        3s  claim M                           -> delivering try 2
        3s  delivered M                       -> moved
        3s  redrive M                         -> refused delivery_not_dead delivered
    ",
    );
}

#[test]
fn redriving_the_report_of_a_run_leaves_the_run_reported() {
    check_with(
        Policy { delivery_tries_max: 1, ..Policy::default() },
        "
        0s  webhook ci run.finished
        0s  run R
        0s  message M run.finished
        0s  claim M
        0s  failed M 503
        0s  state R                           -> REPORTED SUCCESS
        1s  redrive M                         -> moved
    ",
    );
}

/// A run is reported when every final status has ended; one that is sent again does not stand for another.
#[test]
fn redriving_one_report_does_not_stand_for_another() {
    check_with(
        Policy { delivery_tries_max: 1, ..Policy::default() },
        "
        0s  webhook one run.finished
        0s  webhook two run.finished
        0s  run R                             -> SUCCESS
        0s  message M1 run.finished one
        0s  message M2 run.finished two
        0s  claim M1
        0s  failed M1 503
        0s  state M1                          -> dead_letter
        1s  redrive M1                        -> moved
        1s  claim M1
        1s  delivered M1                      -> moved
        1s  state M2                          -> pending
        1s  state R                           -> SUCCESS
        2s  claim M2
        2s  delivered M2                      -> moved
        2s  state R                           -> REPORTED SUCCESS
    ",
    );
}

/// The fence must not begin again where it began before: a worker that slept through the redrive is an older claim.
#[test]
fn a_result_from_before_a_redrive_is_refused() {
    check_with(
        Policy { delivery_tries_max: 1, ..Policy::default() },
        "
        0s    webhook ci job.finished
        0s    submit J
        0s    cancel J
        0s    message M job.finished
        0s    claim M                         -> delivering
        # The worker sleeps; its claim runs out, and an operator sends the message again.
        60s   tick                            -> moved 1
        60s   state M                         -> dead_letter
        61s   redrive M                       -> moved
        61s   claim M                         -> delivering
        # The first worker wakes up and reports its failure.
        62s   failed M 503 claim=1              -> refused claim_lost
        62s   state M                         -> delivering
    ",
    );
}

/// One at a time, in the order of what happened; only a dead letter is passed.
#[test]
fn an_ordered_lane_is_delivered_in_order() {
    check_with(
        Policy { delivery_tries_max: 2, ..Policy::default() },
        "
        0s  webhook ci job.finished run.finished ordered=yes
        0s  run R a
        0s  grant L1 x
        0s  ack L1
        0s  complete L1 ok
        0s  message J job.finished            -> pending
        0s  message M run.finished            -> pending
        0s  ready                             -> J
        0s  claim M                           -> nothing
        0s  claim J                           -> delivering try 1
        0s  claim M                           -> nothing
        0s  failed J 503                      -> moved
        0s  ready                             -> nothing
        0s  claim M                           -> nothing
        1s  ready                             -> J
        1s  claim J                           -> delivering try 2
        1s  failed J 503
        1s  state J                           -> dead_letter
        1s  ready                             -> M
        1s  claim M                           -> delivering try 1
        1s  delivered M                       -> moved
        1s  state R                           -> REPORTED SUCCESS
        2s  redrive J                         -> moved
        2s  claim J                           -> delivering try 1
    ",
    );
}
