//! Queues: who is served first, from which queues, and who is not there any more.

use std::collections::BTreeSet;
use std::time::Duration;

use decisions::leases::ExecutionDue;
use decisions::records::QueueId;
use decisions::{Answer, Ask, Book};
use store::Store;
use wire::JobId;

use crate::commands::{exec_id, job_id, lease, lease_from, lease_job, queue, runner, submit, tenant};
use crate::desk::{Answers, Desk};
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    the_order_is_priority_then_age_then_id,
    as_many_come_as_are_asked_for,
    candidates_come_with_family_and_specification,
    only_the_queues_asked_for_are_looked_at,
    the_best_over_several_queues_goes_first,
    asks_for_the_same_queues_are_served_together,
    asks_that_share_a_queue_do_not_share_candidates,
    an_attempt_that_lost_its_lease_keeps_its_place,
    what_is_leased_or_stopped_is_not_ready,
    a_lease_that_ends_makes_room_for_the_next_in_the_same_batch,
]);

const MICRO: Duration = Duration::from_micros(1);

/// The jobs of a queue that are ready, in the order in which they are served.
async fn first_ready<S: Store>(desk: &Desk<S>, queue: QueueId, count: usize) -> Vec<u128> {
    let numbers = |book: &Book| book.ready.iter().map(|key| key.attempt.job.as_u128()).collect();
    desk.look(&[Ask::Ready { queues: vec![queue], count }], numbers).await
}

async fn submit_with<S: Store>(desk: &Desk<S>, number: u128, priority: i32, runs_on: &[&str]) {
    let mut command = submit(number);
    command.priority = priority;
    command.runs_on = runs_on.iter().map(|it| (*it).into()).collect();
    desk.must(command).await;
    desk.pass(MICRO);
}

fn granted(answers: &Answers) -> Vec<JobId> {
    let jobs = answers.iter().filter_map(|answer| match answer {
        Ok(Answer::Granted(granted)) => Some(granted.job),
        Ok(_) | Err(_) => None,
    });
    jobs.collect()
}

async fn the_order_is_priority_then_age_then_id<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let priorities = [(9, 0), (8, 5), (7, i32::MIN), (6, -5), (5, 5), (4, i32::MAX), (3, 0)];
    for (number, priority) in priorities {
        submit_with(&desk, number, priority, &[]).await;
    }
    desk.must_all([submit(22), submit(21), submit(20)]).await; // born together
    let order = [4, 8, 5, 9, 3, 20, 21, 22, 6, 7];
    assert_eq!(first_ready(&desk, queue(&[]), 100).await, order);
    for job in order {
        assert_eq!(desk.must_grant(lease(100 + job)).await.job, job_id(job));
    }
    assert_eq!(desk.must(lease(200)).await, Answer::NoWork { barred_until: None });
}

async fn as_many_come_as_are_asked_for<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    for number in 1..=5 {
        submit_with(&desk, number, 0, &[]).await;
    }
    for count in 1..=5 {
        let first: Vec<u128> = (1..=count as u128).collect();
        assert_eq!(first_ready(&desk, queue(&[]), count).await, first);
    }
    assert_eq!(first_ready(&desk, queue(&[]), 6).await.len(), 5);
}

async fn candidates_come_with_family_and_specification<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(crate::commands::wide_run(1, 3)).await;
    let book = desk.book(&[Ask::Ready { queues: vec![queue(&[])], count: 2 }]).await;
    assert_eq!(book.ready.len(), 2);
    for key in &book.ready {
        let job = book.jobs.peek(&key.attempt.job).unwrap();
        assert!(book.attempts.has(&key.attempt) && book.runs.has(&job.run.unwrap()));
        assert!(book.specs[&job.id].contains(&job.name));
    }
}

async fn only_the_queues_asked_for_are_looked_at<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    submit_with(&desk, 1, 0, &["os:linux"]).await;
    submit_with(&desk, 2, 9, &["os:mac"]).await;
    submit_with(&desk, 3, 0, &["toolchain:rust", "os:linux", "os:linux"]).await;
    assert_eq!(first_ready(&desk, queue(&["os:linux"]), 9).await, [1]);
    assert_eq!(first_ready(&desk, queue(&["os:mac"]), 9).await, [2]);
    assert_eq!(first_ready(&desk, queue(&["os:linux", "toolchain:rust"]), 9).await, [3]);
    assert_eq!(first_ready(&desk, queue(&[]), 9).await, [] as [u128; 0]);
    let elsewhere =
        decisions::records::Queue::for_requirements(wire::TenantId::from_u128(2), &["os:mac".into()]);
    assert_eq!(first_ready(&desk, elsewhere.id, 9).await, [] as [u128; 0], "another tenant's queue");
    assert_ne!(elsewhere.tenant, tenant());
}

async fn the_best_over_several_queues_goes_first<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let kinds = [(1, 0, "a"), (2, 3, "b"), (3, 3, "a"), (4, 1, "c"), (5, 9, "d")];
    for (number, priority, needs) in kinds {
        submit_with(&desk, number, priority, &[needs]).await;
    }
    let queues = [queue(&["a"]), queue(&["b"]), queue(&["c"])];
    let numbers = |book: &Book| book.ready.iter().map(|key| key.attempt.job.as_u128()).collect();
    let brought: BTreeSet<u128> =
        desk.look(&[Ask::Ready { queues: queues.to_vec(), count: 2 }], numbers).await;
    assert!(brought.is_superset(&BTreeSet::from([2, 3])) && !brought.contains(&5), "{brought:?}");
    for job in [2, 3, 4, 1] {
        assert_eq!(desk.must_grant(lease_from(job, &queues)).await.job, job_id(job));
    }
}

async fn asks_for_the_same_queues_are_served_together<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    for number in 1..=4 {
        submit_with(&desk, number, 0, if number == 2 { &["a"] } else { &[] }).await;
    }
    let queues = [queue(&[]), queue(&["a"])];
    let leases: Vec<_> = (1..=5).map(|number| lease_from(number, &queues)).collect();
    let answers = desk.perform(leases).await.unwrap();
    assert_eq!(granted(&answers), [1, 2, 3, 4].map(job_id));
    assert_eq!(answers[4], Ok(Answer::NoWork { barred_until: None }));
}

/// Two runners, one of which can do more: both are served from the queue that both can serve.
async fn asks_that_share_a_queue_do_not_share_candidates<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    submit_with(&desk, 1, 0, &[]).await;
    submit_with(&desk, 2, 0, &[]).await;
    let plain = lease_from(1, &[queue(&[])]);
    let mut able = lease_from(2, &[queue(&[]), queue(&["os:linux"])]);
    able.runner = runner("r2");
    let answers = desk.perform([plain, able]).await.unwrap();
    assert_eq!(granted(&answers), [1, 2].map(job_id), "{answers:?}");
}

async fn an_attempt_that_lost_its_lease_keeps_its_place<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    submit_with(&desk, 2, 0, &[]).await;
    submit_with(&desk, 1, 0, &[]).await;
    let hasty = desk.with_policy(|policy| policy.ack_timeout = Duration::ZERO);
    hasty.must_grant(lease(1)).await;
    assert_eq!(first_ready(&desk, queue(&[]), 9).await, [1]);
    desk.must(ExecutionDue { execution: exec_id(1) }).await;
    assert_eq!(first_ready(&desk, queue(&[]), 9).await, [2, 1]);
}

async fn what_is_leased_or_stopped_is_not_ready<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    for number in 1..=3 {
        submit_with(&desk, number, 0, &[]).await;
    }
    desk.must_grant(lease(1)).await;
    desk.must(decisions::jobs::CancelJob { tenant: tenant(), job: job_id(2) }).await;
    assert_eq!(first_ready(&desk, queue(&[]), 9).await, [3]);
    assert_eq!(desk.job(job_id(3)).await.ready.len(), 1);
    assert_eq!((desk.job(job_id(1)).await.ready, desk.job(job_id(2)).await.ready), (vec![], vec![]));
}

/// Executions are written in the order of their ids, which need not be the order of the leases.
async fn a_lease_that_ends_makes_room_for_the_next_in_the_same_batch<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    let hasty = desk.with_policy(|policy| policy.ack_timeout = Duration::ZERO);
    for number in [5, 6, 4] {
        let live = desk.job(job_id(1)).await.executions.last().map(|execution| execution.id);
        let ends = live.map(|execution| decisions::Command::from(ExecutionDue { execution }));
        let batch = ends.into_iter().chain([lease_job(number, job_id(1)).into()]);
        assert_eq!(granted(&hasty.perform(batch).await.unwrap()), [job_id(1)]);
    }
    assert_eq!(desk.job(job_id(1)).await.executions.len(), 3);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}
