//! Commands that share a batch: each sees what those before it did, and each is answered.

use std::sync::Arc;

use decisions::leases::{ExecutionDue, Lease, Wanted};
use decisions::records::PlanJob;
use decisions::runs::{PlanAccepted, RerunRun};
use decisions::{Answer, Ask, Command, Hint, Policy};
use serde_json::json;
use server::perform::{BATCH_MAX, Batch, Perform};
use store::{Store, StoreError};
use wire::{ExecId, LeaseId, RunId, RunnerId, TenantId};

use crate::script::{block_on, check, check_timeless};
use crate::stores::{InFile, InMemory, Place};
use crate::words::Words;
use crate::world::World;

/// What another command of the batch has just made ready was not loaded as ready; whoever asks for work in the same
/// batch may get it or not, but is answered.
#[test]
fn a_lease_in_the_batch_of_a_retry_is_answered() {
    check(
        "
        -  submit J
        -  grant L1 a                            -> GRANTED J 1
        -  ack L1                                -> ACTIVE
        -  complete L1 fail connection reset     -> COMPLETED
        +  grant L2 b
        -  grant L3 c
        -  attempt J                             -> LEASED
    ",
    );
}

#[test]
fn a_lease_in_the_batch_of_a_rescue_is_answered() {
    check(
        "
        0s    submit J
        0s    grant L1 a         -> GRANTED J 1
        31s   look L1            -> moved
        +     grant L2 b
        31s   grant L3 c
        31s   attempt J          -> LEASED
    ",
    );
}

#[test]
fn a_lease_in_the_batch_of_a_release_is_answered() {
    check_timeless(
        "
        -  run R build test:needs=build
        -  grant L1 a            -> GRANTED build
        -  ack L1                -> ACTIVE
        -  complete L1 ok        -> COMPLETED
        -  release build         -> moved
        +  grant L2 b
        -  grant L3 c
        -  attempt test          -> LEASED
    ",
    );
}

#[test]
fn runners_with_different_abilities_in_one_batch_all_find_work() {
    check_timeless(
        "
        -  submit one
        -  submit two
        -  submit other on=linux
        -  grant L0 a can=linux other  -> GRANTED other
        # Both may take from the plain queue; the second also from another one, which is empty.
        -  grant L1 a                  -> GRANTED
        +  grant L2 b can=linux        -> GRANTED
        -  attempt one                 -> LEASED
        -  attempt two                 -> LEASED
    ",
    );
}

/// Ids carry the time of their birth, and two servers' clocks differ: a successor's id may sort before the lost one's.
#[test]
fn a_successor_in_the_batch_of_the_rescue_may_have_any_id() {
    block_on(async {
        successor_with_a_smaller_id(InMemory::default().open().await).await;
        successor_with_a_smaller_id(InFile::new().open().await).await;
    });
}

async fn successor_with_a_smaller_id<S: Store>(store: Arc<S>) {
    let mut world = World::begin(store, Policy::default()).await;
    for (verb, words) in [("submit", "J"), ("grant", "L1 a")] {
        let command = world.command(verb, &Words::split(words, ' ')).await.unwrap();
        world.perform_one(command).await.unwrap();
    }
    world.now = world.now.plus(world.policy.ack_timeout);
    let lost = world.lease_named("L1").unwrap().execution;
    let successor = Lease {
        runner: RunnerId::parse("b").unwrap(),
        tenant: None,
        capabilities: vec![],
        wanted: Wanted::Job(world.job_named("J").unwrap()),
        execution: ExecId::FIRST,
        lease: LeaseId::minted(ExecId::FIRST, world.random()),
    };
    let answers = world.perform(vec![ExecutionDue { execution: lost }.into(), successor.into()]).await;
    assert!(matches!(answers[1], Ok(Answer::Granted(_))), "{answers:?}");
    let report = server::doctor::examine(&*world.store, |_| ()).await.unwrap();
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

/// What a store takes for new and is not would be a conflict again and again.
#[test]
fn after_a_conflict_nothing_is_taken_for_new() {
    block_on(async {
        let mut world = World::begin(InMemory::default().open().await, Policy::default()).await;
        let submit = world.command("submit", &Words::split("J", ' ')).await.unwrap();
        let mut core = Perform::new(Policy::default());
        core.handle_command(submit, ()).unwrap();
        let takes_for_new = |batch: &Batch<()>| batch.asks().iter().any(|ask| matches!(ask, Ask::NewJob(_)));
        let batch = core.poll_batch(BATCH_MAX).unwrap();
        assert!(takes_for_new(&batch));
        core.handle_saved(batch, Err(StoreError::Conflict("jobs_pkey".into())));
        assert!(!takes_for_new(&core.poll_batch(BATCH_MAX).unwrap()));
    });
}

/// The tickets of the next batch.
fn next_batch(core: &mut Perform<u32>) -> Vec<u32> {
    let Some(batch) = core.poll_batch(BATCH_MAX) else { return Vec::new() };
    let settled = core.handle_saved(batch, Err(StoreError::Unavailable("for this test".into())));
    settled.answers.into_iter().map(|(ticket, _)| ticket).collect()
}

fn rerun() -> Command {
    let of = RunId::from_u128(1);
    RerunRun { id: RunId::from_u128(2), tenant: TenantId::FIRST, of, failed_only: false }.into()
}

/// A run whose jobs have specifications of this size.
fn run_of(jobs: usize, spec_bytes: usize) -> Command {
    let job = |number| json!({ "name": format!("job-{number}"), "spec": "x".repeat(spec_bytes) });
    let jobs: Vec<PlanJob> = (0..jobs).map(|number| serde_json::from_value(job(number)).unwrap()).collect();
    PlanAccepted { run: RunId::from_u128(3), plan: jobs.into() }.into()
}

fn small() -> Command {
    ExecutionDue { execution: ExecId::FIRST }.into()
}

/// A plan may have ten thousand jobs; a batch full of them would decide gigabytes.
#[test]
fn whole_runs_are_spread_over_batches_and_hold_up_nobody() {
    let mut core = Perform::new(Policy::default());
    for (ticket, command) in
        [small(), rerun(), small(), rerun(), small(), run_of(3, 10_000_000), rerun(), small()]
            .into_iter()
            .enumerate()
    {
        core.handle_command(command, ticket as u32).unwrap();
    }
    assert_eq!(core.waiting(), 8);
    assert_eq!(next_batch(&mut core), [0, 1, 2, 4, 7]);
    core.handle_command(small(), 8).unwrap();
    assert_eq!(next_batch(&mut core), [3, 8]);
    assert_eq!(next_batch(&mut core), [5], "what is too heavy for any batch goes alone");
    assert_eq!(next_batch(&mut core), [6]);
    assert_eq!((next_batch(&mut core), core.waiting()), (vec![], 0));
}

#[test]
fn small_plans_share_a_batch_in_the_order_of_their_arrival() {
    let mut core = Perform::new(Policy::default());
    for ticket in 0..100 {
        let command = if ticket % 3 == 0 { small() } else { run_of(10, 100) };
        core.handle_command(command, ticket).unwrap();
    }
    assert!(next_batch(&mut core).into_iter().eq(0..100));
}

/// Two servers that trip over each other again and again let each other through.
#[test]
fn who_meets_conflict_after_conflict_waits_longer_each_time() {
    let mut core = Perform::new(Policy::default());
    core.handle_command(small(), 0).unwrap();
    let mut pauses = Vec::new();
    while let Some(batch) = core.poll_batch(BATCH_MAX) {
        pauses.push(batch.pause().as_millis());
        core.handle_saved(batch, Err(StoreError::Conflict("theirs".into())));
    }
    assert_eq!(pauses[..9], [0, 0, 1, 2, 4, 8, 16, 32, 50]);
    assert_eq!((pauses.len(), pauses.last()), (65, Some(&50)));
}

/// Work that is on its way is told of once: ahead of its save where whoever listens can find the queue, otherwise after.
#[test]
fn a_queue_with_work_is_told_of_once() {
    block_on(async {
        for told in [false, true] {
            let mut world = World::begin(InMemory::default().open().await, Policy::default()).await;
            let submit = world.command("submit", &Words::split("J", ' ')).await.unwrap();
            let mut core = Perform::new(Policy::default());
            core.handle_command(submit, ()).unwrap();
            let mut batch = core.poll_batch(BATCH_MAX).unwrap();
            let mut loaded = world.store.load(&batch.asks(), world.now).await.unwrap();
            batch.handle_loaded(&mut loaded.book, loaded.now);
            let ahead = batch.ready_ahead(|_| told).filter(is_ready).count();
            let saved = world.store.save(loaded.session, loaded.book).await;
            let after = core.handle_saved(batch, saved).hints.iter().filter(|hint| is_ready(hint)).count();
            assert_eq!((ahead, after), if told { (1, 0) } else { (0, 1) });
        }
    });
}

fn is_ready(hint: &Hint) -> bool {
    matches!(hint, Hint::Ready(_))
}
