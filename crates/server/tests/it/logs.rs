//! What jobs print: taken in order and only once, from who holds the lease, and bounded.

use decisions::logs::AppendLog;
use decisions::{Answer, Hint, Policy, decide};
use store::{Memory, Store};

use crate::script::{block_on, check, check_timeless, check_with};
use crate::words::Words;
use crate::world::World;

#[test]
fn a_log_is_taken_in_order() {
    check_timeless(
        "
        -    submit J
        -    grant L a
        -    ack L
        -    log L 0 hello      -> 5
        -    log L 5 world      -> 10
        -    kept L             -> 0..10
        -    log L 10 !         -> 11
        -    complete L ok
        -    kept L             -> 0..11
    ",
    );
}

/// The runner learns where to go on, whatever it believed.
#[test]
fn what_came_before_or_leaves_a_gap_is_refused_with_the_right_offset() {
    check_timeless(
        "
        -    submit J
        -    grant L a
        -    ack L
        -    log L 0 hello      -> 5
        # Said twice: the first answer was lost.
        -    log L 0 hello      -> refused log_offset 5
        # An overlap and a gap.
        -    log L 3 loworld    -> refused log_offset 5
        -    log L 6 world      -> refused log_offset 5
        -    log L 5 world      -> 10
        -    kept L             -> 0..10
    ",
    );
}

#[test]
fn an_empty_part_asks_where_to_go_on() {
    check_timeless(
        "
        -    submit J
        -    grant L a
        -    ack L
        -    log L 0            -> 0
        -    log L 0 hello      -> 5
        -    log L 0            -> 5
        -    log L 99           -> 5
    ",
    );
}

#[test]
fn two_parts_in_one_batch_follow_each_other() {
    check_timeless(
        "
        -    submit J
        -    grant L a
        -    ack L
        -    log L 0 one        -> 3
        +    log L 3 two        -> 6
        +    log L 3 two        -> refused log_offset 6
        -    kept L             -> 0..6
    ",
    );
}

#[test]
fn a_log_is_fenced_by_its_lease_and_not_by_a_name() {
    check(
        "
        0s    submit J
        0s    grant L a
        0s    log L 0 x               -> refused lease_not_acknowledged
        0s    ack L
        0s    log L 0 x               -> 1
        0s    log L 1 x as=somebody   -> 2
        0s    log L 2 x secret=guess  -> refused stale_lease LEASE_UNKNOWN
        0s    log unknown 0 x         -> refused stale_lease LEASE_UNKNOWN
        120s  log L 2 x               -> refused stale_lease LEASE_EXPIRED
        120s  tick                    -> moved 1
        120s  log L 2 x               -> refused stale_lease LEASE_EXPIRED
        120s  kept L                  -> 0..2
        # Offsets count per lease.
        120s  grant M a               -> GRANTED J 1
        120s  ack M
        120s  log M 2 x               -> refused log_offset 0
        120s  log M 0 x               -> 1
        120s  complete M ok
        120s  log M 1 x               -> refused stale_lease LEASE_COMPLETED
        120s  log M 1                 -> refused stale_lease LEASE_COMPLETED
        120s  kept L                  -> 0..2
    ",
    );
}

#[test]
fn printing_does_not_renew_a_lease() {
    check(
        "
        0s    submit J
        0s    grant L a
        0s    ack L
        119s  log L 0 x               -> 1
        120s  log L 1 x               -> refused stale_lease LEASE_EXPIRED
    ",
    );
}

#[test]
fn a_job_that_is_being_cancelled_may_still_print() {
    check(
        "
        0s    run R a b
        0s    grant L one a
        0s    ack L
        0s    cancel R
        0s    log L 0 bye             -> 3
        0s    heartbeat L             -> CANCEL_REQUESTED
        0s    log L 3 bye             -> 6
        0s    cancel-ack L            -> CANCELED
        0s    log L 6 bye             -> refused stale_lease LEASE_CANCELED
    ",
    );
}

#[test]
fn a_run_that_is_over_takes_no_more() {
    let policy = Policy { run_timeout: std::time::Duration::from_secs(60), ..Policy::default() };
    check_with(
        policy,
        "
        0s    run R a
        0s    grant L one a
        0s    ack L
        60s   look R                  -> moved
        60s   log L 0 x               -> refused stale_lease LEASE_REVOKED
    ",
    );
}

/// Head and tail stay, whole parts go; what is kept never exceeds the two and one part.
#[test]
fn a_log_that_does_not_end_keeps_its_head_and_its_tail() {
    let policy = Policy { log_head_bytes_max: 25, log_tail_bytes_max: 30, ..Policy::default() };
    check_with(
        policy,
        "
        0s    submit J
        0s    grant L a
        0s    ack L
        0s    log L 0 size=20         -> 20
        0s    log L 20 size=20        -> 40
        0s    kept L                  -> 0..40
        0s    log L 40 size=15        -> 55
        0s    kept L                  -> 0..55
        # 55 are all that fit; from here on the middle goes, part by part.
        0s    log L 55 size=10        -> 65 truncated
        0s    kept L                  -> 0..65
        0s    log L 65 size=10        -> 75 truncated
        0s    kept L                  -> 0..25 40..75
        0s    restart
        0s    log L 75 size=30        -> 105 truncated
        0s    kept L                  -> 0..25 75..105
        0s    log L 105 size=1        -> 106 truncated
        0s    kept L                  -> 0..25 75..106
        0s    log L 0                 -> 106 truncated
    ",
    );
}

/// The fence is the lease: whatever ended it, nothing more can come.
#[test]
fn a_log_is_archived_when_nothing_can_be_added() {
    check(
        "
        0s    submit J
        0s    grant L a
        0s    ack L
        0s    log L 0 hello           -> 5
        0s    archive L               -> refused log_grows
        120s  archive L               -> refused log_grows
        120s  tick                    -> moved 1
        120s  archive L               -> upload 5
        120s  kept L                  -> 0..5
        120s  log L 5 x               -> refused stale_lease LEASE_EXPIRED
        120s  archive L placed        -> moved
        120s  kept L                  ->
        120s  log L 5 x               -> refused stale_lease LEASE_EXPIRED
        120s  archive L placed        -> nothing
        120s  archive L by=other      -> nothing
        # The next lease has a log of its own.
        120s  grant M a               -> GRANTED J 1
        120s  ack M
        120s  log M 0 hello           -> 5
        120s  complete M ok
        120s  restart
        120s  archive M               -> moved
    ",
    );
}

#[test]
fn the_bounds_are_four_mebibytes_each_and_a_quarter_for_one_part() {
    let policy = Policy::default();
    let bounds = (policy.log_head_bytes_max, policy.log_tail_bytes_max, policy.log_chunk_bytes_max);
    assert_eq!(bounds, (4 << 20, 4 << 20, 256 << 10));
}

/// Whoever follows a log is woken when there is more, and when no more comes.
#[test]
fn more_of_a_log_and_its_end_are_hinted_at() {
    block_on(async {
        let mut world = World::begin(std::sync::Arc::new(Memory::default()), Policy::default()).await;
        for (verb, words) in [("submit", "J"), ("grant", "L a"), ("ack", "L")] {
            let command = world.command(verb, &Words::split(words, ' ')).await.unwrap();
            world.perform_one(command).await.unwrap();
        }
        let job = world.job_named("J").unwrap();
        let lease = world.lease_named("L").unwrap().lease.key();
        let append = AppendLog { lease, offset: 0, bytes: (*b"hello").into() };
        let complete = world.command("complete", &Words::split("L ok", ' ')).await.unwrap();
        let nothing = AppendLog { bytes: [].into(), ..append.clone() };
        for (command, hinted) in [(append.into(), true), (nothing.into(), false), (complete, true)] {
            let mut asks = Vec::new();
            decisions::Command::asks(&command, &mut asks);
            let loaded = world.store.load(&asks, world.now).await.unwrap();
            let decision = decide(&loaded.book, &command, world.now, &world.policy).unwrap();
            assert_eq!(decision.hints.contains(&Hint::Logged(job)), hinted, "{command:?}");
            assert!(!matches!(decision.answer, Answer::Settled { .. }));
        }
    });
}
