//! Save: all of it or nothing, and nothing without it.

use decisions::jobs::CancelJob;
use decisions::{Ask, Changes};
use store::{Fault, Memory, Store, StoreError};

use crate::commands::{
    ack, cancel_run, complete, exec_id, job_id, lease, lease_id, plan_job, run, run_id, submit, wide_run,
};
use crate::desk::Desk;
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    what_is_saved_is_there_at_once,
    a_save_is_all_or_nothing,
    a_dropped_session_changes_nothing,
    a_book_without_changes_saves_nothing,
    the_second_command_of_a_batch_sees_the_first,
    one_batch_may_move_a_record_many_times,
    a_large_batch_is_one_save,
    what_cannot_be_stored_is_a_violation_and_harms_nobody_else,
]);

on_stores!(memory => [a_store_in_memory_fails_on_demand]);

async fn what_is_saved_is_there_at_once<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    for number in 1..=20 {
        desk.must(submit(number)).await;
        assert!(desk.store.job_file(job_id(number)).await.unwrap().is_some());
        assert!(desk.book(&[Ask::Family(job_id(number))]).await.jobs.has(&job_id(number)));
    }
}

/// A second live lease on an attempt is refused; everything that came along is refused with it.
async fn a_save_is_all_or_nothing<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    desk.must_grant(lease(1)).await;
    let before = desk.contents().await;
    let live = desk.job(job_id(1)).await.executions.remove(0);

    let commands = [submit(2).into(), decisions::Command::from(run(1, vec![plan_job("a", &[])]))];
    let mut prepared = desk.prepare(commands).await.unwrap();
    let mut forged = Changes::default();
    let second =
        decisions::records::Execution { id: exec_id(9), lease_hash: lease_id(9).hash(), token: 2, ..live };
    forged.executions.insert(second.id, second);
    prepared.loaded.book.apply(forged);
    let refused = desk.finish(prepared).await.unwrap_err();
    assert!(matches!(refused, StoreError::Violation(_)), "{refused:?}");
    assert_eq!(desk.contents().await, before);

    desk.must_all([submit(2)]).await; // the innocent alone pass
    assert_eq!(desk.contents().await.jobs.len(), 2);
}

async fn a_dropped_session_changes_nothing<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(wide_run(1, 3)).await;
    let before = desk.contents().await;
    drop(desk.prepare([lease(1)]).await.unwrap());
    drop(desk.prepare([cancel_run(1)]).await.unwrap());
    drop(desk.load(&[Ask::Sweep(run_id(1))]).await);
    assert_eq!(desk.contents().await, before);
    desk.must_grant(lease(2)).await; // and keeps nobody else from going on
}

async fn a_book_without_changes_saves_nothing<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    let before = desk.contents().await;
    desk.must(submit(1)).await; // said twice
    let stranger = wire::TenantId::from_u128(9);
    desk.try_one(CancelJob { tenant: stranger, job: job_id(1) }).await.unwrap_err();
    assert_eq!(desk.contents().await, before);
}

async fn the_second_command_of_a_batch_sees_the_first<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let mut keyed = submit(1);
    keyed.key = Some("mine".into());
    let mut again = keyed.clone();
    again.id = job_id(2);
    let answers = desk.must_all([keyed, again]).await;
    let answer = |existing| decisions::Answer::JobSubmitted { job: job_id(1), existing };
    assert_eq!(answers, [answer(false), answer(true)]);
    assert_eq!(desk.contents().await.jobs.len(), 1);
}

async fn one_batch_may_move_a_record_many_times<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    let lease = lease(1);
    desk.must_grant(lease.clone()).await;
    let batch: [decisions::Command; 2] = [ack(&lease).into(), complete(&lease).into()];
    desk.must_all(batch).await; // STARTING, RUNNING, UPLOADING, SUCCEEDED in one save
    let contents = desk.contents().await;
    assert_eq!(contents.jobs[0].job.state, machines::job::State::Succeeded);
    assert_eq!(contents.problems(), [] as [&str; 0]);
}

async fn a_large_batch_is_one_save<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must_all((1..=512).map(submit)).await;
    let leases: Vec<_> = (1..=512).map(lease).collect();
    desk.must_all(leases.clone()).await;
    desk.must_all(leases.iter().map(ack)).await;
    desk.must_all(leases.iter().map(complete)).await;
    let contents = desk.contents().await;
    assert_eq!(contents.jobs.len(), 512);
    assert_eq!(contents.problems(), [] as [&str; 0]);
    assert_eq!(desk.store.integrity().await.unwrap(), [] as [&str; 0]);
}

/// A zero byte may come from a runner's summary. A store may keep it, or say that this batch cannot be stored, so that
/// it is split; not that the store is away, which would send everybody away.
async fn what_cannot_be_stored_is_a_violation_and_harms_nobody_else<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must_all([submit(1), submit(2)]).await;
    let (first, second) = (lease(1), lease(2));
    desk.must_all([first.clone(), second.clone()]).await;
    desk.must_all([ack(&first), ack(&second)]).await;
    let mut zero = complete(&first);
    zero.summary = "before\0after".into();
    match desk.perform([zero.clone(), complete(&second)]).await {
        Ok(answers) => assert!(answers.iter().all(Result::is_ok)),
        Err(StoreError::Violation(_)) => {
            desk.must(complete(&second)).await;
            let alone = desk.perform([zero]).await;
            assert!(matches!(alone, Err(StoreError::Violation(_))), "{alone:?}");
        }
        Err(error) => panic!("{error:?}"),
    }
    assert_eq!(desk.job(job_id(2)).await.job.state, machines::job::State::Succeeded);
}

async fn a_store_in_memory_fails_on_demand(desk: Desk<Memory>) {
    let desk = desk.open().await;
    desk.store.inject([Fault::LoseRequest, Fault::Conflict, Fault::LoseAnswer]);
    let before = desk.contents().await;
    let lost = desk.perform([submit(1)]).await.unwrap_err();
    assert!(matches!(lost, StoreError::Unavailable(_)));
    let moved = desk.perform([submit(1)]).await.unwrap_err();
    assert!(matches!(moved, StoreError::Conflict(_)));
    assert_eq!(desk.contents().await, before, "not written");
    let unknown = desk.perform([submit(1)]).await.unwrap_err();
    assert!(matches!(unknown, StoreError::Unknown(_)));
    assert!(desk.store.job_file(job_id(1)).await.unwrap().is_some(), "written, but nobody was told");
    let again = desk.must(submit(1)).await;
    assert_eq!(again, decisions::Answer::JobSubmitted { job: job_id(1), existing: true });
}
