//! FM_001: a worker outlives its lease, the job runs again, and both apply their effect.
//!
//! Shown first with the boundary switched off: the decisions are the real ones, but they are shown a world in which the
//! first lease never ended. Then with the boundary, and then with the code defeated and only the database in the way.

use std::sync::Arc;

use decisions::leases::Commit;
use decisions::records::{Attempt, Execution};
use decisions::{Answer, Changes, Command, Policy, decide};
use machines::{attempt, execution, lease};
use serde_json::json;
use server::perform::Failure;
use store::{Loaded, Store, StoreError};
use wire::Time;
use wire::runner::Effect;

use decisions::draft::Stated;

use crate::script::{block_on, check};
use crate::stores::{InFile, InMemory, Place};
use crate::words::Words;
use crate::world::{LeaseName, World};

/// Worker `a` holds lease A and works; A expires; worker `b` gets lease B for the same job and works too.
async fn two_workers_on_one_job<S: Store>(store: Arc<S>) -> World<S> {
    let mut world = World::begin(store, Policy::default()).await;
    for (seconds, verb, words) in [
        (0, "submit", "J"),
        (0, "grant", "A a"),
        (0, "ack", "A"),
        (120, "", ""),
        (121, "grant", "B b"),
        (121, "ack", "B"),
    ] {
        world.now = crate::world::BEGIN.plus(std::time::Duration::from_secs(seconds));
        if verb.is_empty() {
            world.tick().await;
            continue;
        }
        let command = world.command(verb, &Words::split(words, ' ')).await.unwrap();
        world.perform_one(command).await.unwrap();
    }
    world
}

fn commit(name: &LeaseName) -> Commit {
    let effects = vec![Effect::Result { value: json!("charged the card") }];
    Commit { lease: name.lease.key(), runner: name.runner.clone(), effects }
}

/// The double: what a queue without a fence believes. The lease never ended, the attempt is still its own.
fn without_fence(execution: &Execution, attempt: &Attempt) -> (Execution, Attempt) {
    let execution = Execution {
        lease: Stated::stored(lease::State::Active),
        status: Stated::stored(execution::State::InProgress),
        expires_at: Time::from_micros(i64::MAX),
        finished_at: None,
        ..execution.clone()
    };
    let attempt = Attempt { state: Stated::stored(attempt::State::Running), ..attempt.clone() };
    (execution, attempt)
}

/// A book as loaded, but for one execution and its attempt.
async fn load_without_fence<S: Store>(
    world: &World<S>,
    command: &Command,
    name: &LeaseName,
) -> Loaded<S::Session> {
    let mut asks = Vec::new();
    command.asks(&mut asks);
    let mut loaded = world.store.load(&asks, world.now).await.unwrap();
    let execution = loaded.book.executions.peek(&name.execution).unwrap();
    let attempt = loaded.book.attempts.peek(&execution.attempt).unwrap();
    let (execution, attempt) = without_fence(execution, attempt);
    let believed = Changes {
        executions: [(execution.id, execution)].into(),
        attempts: [(attempt.key, attempt)].into(),
        ..Changes::default()
    };
    loaded.book.apply(believed);
    loaded
}

/// `b` has committed, and that is saved. Where nothing but the fence stood in the way, `a` is then told that it has, too: the
/// card is charged twice for one job. (What the store would say to such a world is the test after the next.)
#[test]
fn without_the_boundary_both_workers_apply_the_effect() {
    block_on(async {
        let mut world = two_workers_on_one_job(InMemory::default().open().await).await;
        let (rightful, late) = (world.lease_named("B").unwrap(), world.lease_named("A").unwrap());
        world.perform_one(commit(&rightful)).await.unwrap();
        let mut charged = world.job_file(world.job_named("J").unwrap()).await.effects;

        let command: Command = commit(&late).into();
        let mut loaded = load_without_fence(&world, &command, &late).await;
        let decision = decide(&loaded.book, &command, world.now, &Policy::default()).unwrap();
        assert_eq!(decision.answer, Answer::Committed { duplicate: false });
        charged.extend(decision.changes.appended.effects.iter().cloned());
        loaded.book.apply(decision.changes);

        let by: Vec<_> = charged.iter().map(|effect| effect.execution).collect();
        assert_eq!(by, [rightful.execution, late.execution], "the failure mode can be reproduced");
        assert!(charged.iter().all(|effect| effect.body.contains("charged the card")));
        let late = loaded.book.executions.peek(&late.execution).unwrap();
        assert!(late.status.get().has_committed(), "beside the one that is stored");
    });
}

#[test]
fn with_the_boundary_one_worker_applies_the_effect_whichever_is_first() {
    check(
        "
        0s    submit J
        0s    grant A a          -> GRANTED J 1
        0s    ack A              -> ACTIVE
        120s  tick               -> moved 1
        121s  grant B b          -> GRANTED J 1
        121s  ack B              -> ACTIVE
        122s  commit A           -> refused stale_lease LEASE_EXPIRED
        123s  commit B           -> COMMITTED
        124s  commit A           -> refused stale_lease LEASE_EXPIRED
        125s  complete A ok      -> refused stale_lease LEASE_EXPIRED
        126s  complete B ok      -> COMPLETED
        127s  complete A ok      -> refused stale_lease LEASE_EXPIRED
        127s  effects J          -> 1
        127s  commits J          -> 1
        127s  execution A        -> ABORTED
        127s  execution B        -> DONE
    ",
    );
    check(
        "
        0s    submit J
        0s    grant A a          -> GRANTED J 1
        0s    ack A              -> ACTIVE
        # The effect happens in time; the runner is lost before it can say so.
        119s  commit A           -> COMMITTED
        121s  tick               -> moved 1
        121s  grant B b          -> nothing
        122s  grant B b J        -> refused job_over SUCCEEDED
        122s  effects J          -> 1
        122s  commits J          -> 1
    ",
    );
}

#[test]
fn with_the_code_defeated_the_database_still_refuses_a_second_commit() {
    block_on(async {
        second_commit_is_a_violation(InMemory::default().open().await).await;
        second_commit_is_a_violation(InFile::new().open().await).await;
    });
}

async fn second_commit_is_a_violation<S: Store>(store: Arc<S>) {
    let mut world = two_workers_on_one_job(store).await;
    let rightful = world.lease_named("B").unwrap();
    world.perform_one(commit(&rightful)).await.unwrap();
    world.log_growth().await;

    let late = world.lease_named("A").unwrap();
    let command: Command = commit(&late).into();
    let mut loaded = load_without_fence(&world, &command, &late).await;
    let decision = decide(&loaded.book, &command, world.now, &Policy::default()).unwrap();
    loaded.book.apply(decision.changes);
    let saved = world.store.save(loaded.session, loaded.book).await;
    assert!(matches!(saved, Err(StoreError::Violation(_))), "{saved:?}");

    assert_eq!(world.log_growth().await, 0);
    let file = world.job_file(world.job_named("J").unwrap()).await;
    assert_eq!(file.effects.len(), 1);
    let committed = file.executions.iter().filter(|it| it.status.get().has_committed());
    assert_eq!(committed.map(|it| it.id).collect::<Vec<_>>(), [rightful.execution]);
}

/// Nothing but the one forged row: no second live lease, no second effect at the same place.
#[test]
fn a_second_committed_execution_is_a_violation_by_itself() {
    let committed = |it| Execution { status: Stated::stored(execution::State::Committed), ..it };
    block_on(async {
        forged_row(InMemory::default().open().await, "executions_committed", committed).await;
        forged_row(InFile::new().open().await, "UNIQUE constraint failed: executions.job_id", committed)
            .await;
    });
}

#[test]
fn a_second_live_lease_of_an_attempt_is_a_violation_by_itself() {
    let live = |it| Execution { lease: Stated::stored(lease::State::Active), finished_at: None, ..it };
    let columns = "UNIQUE constraint failed: executions.job_id, executions.attempt";
    block_on(async {
        forged_row(InMemory::default().open().await, "executions_live", live).await;
        forged_row(InFile::new().open().await, columns, live).await;
    });
}

async fn forged_row<S: Store>(store: Arc<S>, constraint: &str, forge: impl Fn(Execution) -> Execution) {
    let mut world = two_workers_on_one_job(store).await;
    let rightful = world.lease_named("B").unwrap();
    world.perform_one(commit(&rightful)).await.unwrap();
    world.log_growth().await;

    let late = world.lease_named("A").unwrap();
    let asks = [decisions::Ask::Execution(late.execution)];
    let mut loaded = world.store.load(&asks, world.now).await.unwrap();
    let execution = forge(loaded.book.executions.peek(&late.execution).unwrap().clone());
    loaded.book.apply(Changes { executions: [(execution.id, execution)].into(), ..Changes::default() });
    match world.store.save(loaded.session, loaded.book).await {
        Err(StoreError::Violation(what)) => assert!(what.contains(constraint), "{what}"),
        other => panic!("{other:?}"),
    }
    // What was refused left no trace, in the store or in what it remembers.
    assert_eq!(world.log_growth().await, 0);
    let refused = world.perform_one(commit(&late)).await;
    assert!(matches!(refused, Err(Failure::Refused(_))), "{refused:?}");
}
