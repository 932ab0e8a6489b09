//! What a decision has read still holds when it is saved: no update is lost, and no decision rests on the past.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use decisions::book::Kept;
use decisions::jobs::CancelJob;
use decisions::records::{Attempt, AttemptKey, Delivery, Execution, Job, Log, Run, Runner, Tenant, Token};
use decisions::{Answer, Ask, Book, Changes};
use store::{Sqlite, Store, StoreError};
use wire::{MessageId, TenantId};

use crate::commands::{
    ack, cancel_run, complete, exec_id, heartbeat, job_id, lease, lease_job, run_id, runner, shared, submit,
    tenant, token_id, wide_run,
};
use crate::desk::Desk;
use crate::forged::{full_runner, little_world};
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    the_last_two_jobs_of_a_run_cannot_both_miss_its_end,
    runners_at_once_never_share_a_job,
    the_same_key_at_once_is_one_job,
]);

on_stores!(memory, postgres => [
    a_decision_on_a_record_that_moved_is_a_conflict,
    every_kind_of_record_that_was_read_is_protected,
    what_was_loaded_but_not_read_may_move,
    decisions_on_different_records_do_not_meet,
    a_new_record_that_somebody_else_made_is_a_conflict,
]);

on_stores!(sqlite => [the_second_load_waits_for_the_first_save, the_second_load_waits_for_a_dropped_session]);

fn is_conflict<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict(_)))
}

async fn a_decision_on_a_record_that_moved_is_a_conflict<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    let lease = lease(1);
    desk.must(lease.clone()).await;
    desk.must(ack(&lease)).await;
    let completing = desk.prepare([complete(&lease)]).await.unwrap();
    desk.must(CancelJob { tenant: tenant(), job: job_id(1) }).await;
    let late = desk.finish(completing).await;
    assert!(is_conflict(&late), "{late:?}");
    let again = desk.must(complete(&lease)).await;
    assert_eq!(again, Answer::Completed { accepted: false }, "decided again, the cancel has won");
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

/// Reads `key`, writes something else, and lets somebody move what was read in between.
async fn read_then_moved<S: Store, R: Kept>(desk: &Desk<S>, ask: Ask, key: R::Key, read: bool, moved: R) {
    let mut loaded = desk.load(std::slice::from_ref(&ask)).await;
    assert!(R::shelf(&loaded.book).has(&key), "{ask:?}");
    if read {
        R::shelf(&loaded.book).get(&key);
    }
    let mut elsewhere = Changes::default();
    let kind = std::any::type_name::<R>().rsplit("::").next().unwrap();
    let bystander = Runner { key: shared(&format!("bystander-of-{kind}")), ..full_runner() };
    elsewhere.runners.insert(bystander.key.clone(), bystander);
    loaded.book.apply(elsewhere);

    let mut changes = Changes::default();
    R::changed_mut(&mut changes).insert(key, moved);
    desk.forge_after(std::slice::from_ref(&ask), changes).await.unwrap();
    let saved = desk.store.save(loaded.session, loaded.book).await;
    assert_eq!(is_conflict(&saved), read, "{ask:?}: {saved:?}");
}

fn stored<R: Kept>(book: &Book, key: &R::Key) -> R {
    R::shelf(book).peek(key).unwrap().clone()
}

/// For each kind of record that a decision may read, somebody else moves it.
async fn each_kind_moves<S: Store>(desk: &Desk<S>, read: bool) {
    desk.forge(little_world()).await.unwrap();
    let attempt = AttemptKey { job: job_id(50), index: 1 };
    let (tenant, delivery) = (TenantId::from_u128(50), MessageId::from_u128(50));
    let (family, runner) = (Ask::Execution(exec_id(50)), Ask::Runner(full_runner().key));
    let asks = [
        Ask::Tenant(tenant),
        Ask::Delivery(delivery),
        family.clone(),
        runner.clone(),
        Ask::Token(token_id(50)),
        Ask::Log(exec_id(50)),
    ];
    let book = desk.book(&asks).await;
    let later = crate::forged::at(77);

    let moved = Tenant { updated_at: later, ..stored(&book, &tenant) };
    read_then_moved(desk, Ask::Tenant(tenant), tenant, read, moved).await;
    let moved = Run { updated_at: later, ..stored(&book, &run_id(50)) };
    read_then_moved(desk, family.clone(), run_id(50), read, moved).await;
    let moved = Job { updated_at: later, ..stored(&book, &job_id(50)) };
    read_then_moved(desk, family.clone(), job_id(50), read, moved).await;
    let moved = Attempt { updated_at: later, ..stored(&book, &attempt) };
    read_then_moved(desk, family.clone(), attempt, read, moved).await;
    let moved = Execution { expires_at: later, ..stored(&book, &exec_id(50)) };
    read_then_moved(desk, family, exec_id(50), read, moved).await;
    let moved = Runner { last_seen_at: later, ..stored(&book, &full_runner().key) };
    read_then_moved(desk, runner, full_runner().key, read, moved).await;
    let moved = Delivery { updated_at: later, ..stored(&book, &delivery) };
    read_then_moved(desk, Ask::Delivery(delivery), delivery, read, moved).await;
    let moved = Token { revoked_at: Some(later), ..stored(&book, &token_id(50)) };
    read_then_moved(desk, Ask::Token(token_id(50)), token_id(50), read, moved).await;
    let moved = Log { received: 0, head: 0, tail_from: 0, ..stored(&book, &exec_id(50)) };
    read_then_moved(desk, Ask::Log(exec_id(50)), exec_id(50), read, moved).await;
}

async fn every_kind_of_record_that_was_read_is_protected<S: Store>(desk: Desk<S>) {
    each_kind_moves(&desk, true).await;
}

async fn what_was_loaded_but_not_read_may_move<S: Store>(desk: Desk<S>) {
    each_kind_moves(&desk, false).await;
}

async fn decisions_on_different_records_do_not_meet<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(lease(9)).await; // no work yet, but the runner is known
    desk.must_all([submit(1), submit(2)]).await;
    let (first, second) = (lease_job(1, job_id(1)), lease_job(2, job_id(2)));
    desk.must_all([first.clone(), second.clone()]).await;
    desk.must_all([ack(&first), ack(&second)]).await;
    let one = desk.prepare([complete(&first)]).await.unwrap();
    let other = desk.prepare([complete(&second)]).await.unwrap();
    desk.finish(other).await.unwrap();
    desk.finish(one).await.unwrap();
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn a_new_record_that_somebody_else_made_is_a_conflict<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let mine = desk.prepare([submit(1)]).await.unwrap();
    desk.must(submit(1)).await;
    let late = desk.finish(mine).await;
    assert!(is_conflict(&late), "{late:?}");
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn is_pending<T>(mut future: std::pin::Pin<&mut impl Future<Output = T>>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

async fn the_second_load_waits_for_the_first_save(desk: Desk<Sqlite>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    let first = desk.prepare([lease(1)]).await.unwrap();
    let other = desk.clone();
    let mut second = pin!(other.prepare([lease(2)]));
    assert!(is_pending(second.as_mut()).await, "nobody else may look while a decision is open");
    desk.finish(first).await.unwrap();
    let second = second.await.unwrap();
    assert_eq!(second.answers, [Ok(Answer::NoWork { barred_until: None })], "it sees what was saved");
    desk.finish(second).await.unwrap();
}

async fn the_second_load_waits_for_a_dropped_session(desk: Desk<Sqlite>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    let first = desk.prepare([lease(1)]).await.unwrap();
    let other = desk.clone();
    let mut second = pin!(other.prepare([lease(2)]));
    assert!(is_pending(second.as_mut()).await);
    drop(first);
    let second = second.await.unwrap();
    assert!(matches!(second.answers[0], Ok(Answer::Granted(_))), "it sees that nothing was saved");
    desk.finish(second).await.unwrap();
}

/// Performs until nobody else was faster.
async fn insist<S: Store>(desk: &Desk<S>, command: impl Into<decisions::Command> + Clone) -> Answer {
    const TRIES_MAX: u32 = 1_000;
    for _ in 0..TRIES_MAX {
        match desk.perform([command.clone()]).await {
            Ok(mut answers) => return answers.remove(0).unwrap(),
            Err(StoreError::Conflict(_)) => tokio::task::yield_now().await,
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("never got through");
}

/// Each would see the other's job as open, if what it read were not protected.
async fn the_last_two_jobs_of_a_run_cannot_both_miss_its_end<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    const RUNS: u128 = 8;
    for number in 1..=RUNS {
        desk.must(wide_run(number, 2)).await;
    }
    let leases: Vec<_> = (1..=2 * RUNS).map(lease).collect();
    desk.must_all(leases.clone()).await;
    desk.must_all(leases.iter().map(ack)).await;
    let mut tasks = Vec::new();
    for lease in leases {
        let desk = desk.clone();
        tasks.push(tokio::spawn(async move {
            insist(&desk, heartbeat(&lease)).await;
            insist(&desk, complete(&lease)).await
        }));
    }
    for task in tasks {
        assert_eq!(task.await.unwrap(), Answer::Completed { accepted: true });
    }
    for number in 1..=RUNS {
        let run = desk.run(run_id(number)).await;
        assert_eq!((run.jobs_open, run.outcome), (0, Some(machines::run::State::Success)));
    }
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
    assert!(desk.try_one(cancel_run(1)).await.is_err(), "over is over");
}

async fn runners_at_once_never_share_a_job<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    const JOBS: u128 = 12;
    desk.must_all((1..=JOBS).map(submit)).await;
    let mut tasks = Vec::new();
    for number in 1..=JOBS + 4 {
        let (desk, mut lease) = (desk.clone(), lease(number));
        lease.runner = runner(&format!("r{number}"));
        tasks.push(tokio::spawn(async move { insist(&desk, lease).await }));
    }
    let mut granted = Vec::new();
    for task in tasks {
        match task.await.unwrap() {
            Answer::Granted(grant) => granted.push(grant.job.as_u128()),
            Answer::NoWork { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    // Others may hold all candidates for a moment, so a runner may leave without; what is left goes to the next.
    for number in 0..JOBS + 1 {
        if let Answer::Granted(grant) = desk.must(lease(100 + number)).await {
            granted.push(grant.job.as_u128());
        }
    }
    granted.sort();
    assert_eq!(granted, (1..=JOBS).collect::<Vec<_>>());
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn the_same_key_at_once_is_one_job<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let mut tasks = Vec::new();
    for number in 1..=8 {
        let desk = desk.clone();
        let mut keyed = submit(number);
        keyed.key = Some("mine".into());
        tasks.push(tokio::spawn(async move { insist(&desk, keyed).await }));
    }
    let mut made = Vec::new();
    for task in tasks {
        let Answer::JobSubmitted { job, existing } = task.await.unwrap() else { panic!("no job") };
        made.push((job, existing));
    }
    assert_eq!(made.iter().filter(|(_, existing)| !existing).count(), 1);
    assert!(made.iter().all(|(job, _)| *job == made[0].0));
    assert_eq!(desk.contents().await.jobs.len(), 1);
}
