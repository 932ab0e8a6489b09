//! Mistakes that random commands have found, told again as stories, on every store.

use std::time::Duration;

use decisions::deliveries::RedriveDelivery;
use decisions::jobs::{CancelJob, ReleaseDependents, RetryJob};
use decisions::leases::ExecutionDue;
use decisions::runs::SweepRun;
use decisions::{Answer, Command};
use machines::run;
use store::Store;
use wire::{JobId, MessageId};

use crate::commands::{
    ack, cancel_run, claim, complete, delivered, exec_id, fail, fan_out, heartbeat, job_id, lease, plan_job,
    run, run_id, submit, tenant, undelivered, webhook,
};
use crate::desk::Desk;
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    a_lease_beside_a_lost_one_is_answered,
    a_lease_beside_a_retried_failure_is_answered,
    a_lease_beside_a_retry_by_a_person_is_answered,
    a_lease_beside_a_release_is_answered,
    a_lease_under_a_ttl_that_became_shorter_is_looked_at_in_time,
    a_run_that_fails_fast_does_not_succeed_because_its_first_failure_is_retried,
    a_job_that_is_opened_beside_a_sweep_is_swept_too,
    a_message_that_is_sent_again_does_not_stand_for_another,
    a_run_that_was_reported_stays_reported_when_a_message_is_sent_again,
]);

fn run_named(number: u128, fail_fast: bool, jobs: &[(&str, bool)]) -> decisions::runs::CreateRun {
    let plan = jobs.iter().map(|(name, required)| {
        let mut job = plan_job(name, &[]);
        job.required = *required;
        job
    });
    decisions::runs::CreateRun { fail_fast, ..run(number, plan.collect::<Vec<_>>()) }
}

async fn job_named<S: Store>(desk: &Desk<S>, name: &str) -> JobId {
    let jobs = desk.contents().await.jobs;
    jobs.iter().find(|file| file.job.name == name).expect("the plan names it").job.id
}

/// What makes an attempt ready and a lease that asks for one, in one batch: the lease is granted or finds nothing, and
/// whatever was made ready is leased by the next.
async fn lease_beside<S: Store>(desk: &Desk<S>, makes_ready: impl Into<Command>) {
    let answers = desk.must_all([makes_ready.into(), lease(100).into()]).await;
    match &answers[1] {
        Answer::Granted(_) => {}
        Answer::NoWork { .. } => drop(desk.must_grant(lease(101)).await),
        other => panic!("{other:?}"),
    }
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn a_lease_beside_a_lost_one_is_answered<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    desk.with_policy(|policy| policy.ack_timeout = Duration::ZERO).must_grant(lease(1)).await;
    lease_beside(&desk, ExecutionDue { execution: exec_id(1) }).await;
}

async fn a_lease_beside_a_retried_failure_is_answered<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    let first = lease(1);
    desk.must_grant(first.clone()).await;
    desk.must(ack(&first)).await;
    lease_beside(&desk, fail(&first, "connection reset")).await;
}

async fn a_lease_beside_a_retry_by_a_person_is_answered<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    desk.must(CancelJob { tenant: tenant(), job: job_id(1) }).await;
    lease_beside(&desk, RetryJob { tenant: tenant(), job: job_id(1) }).await;
}

async fn a_lease_beside_a_release_is_answered<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(fan_out(1, 1)).await;
    let first = lease(1);
    let job = desk.must_grant(first.clone()).await.job;
    desk.must(ack(&first)).await;
    desk.must(complete(&first)).await;
    lease_beside(&desk, ReleaseDependents { job }).await;
}

/// A server that starts again may have been told another TTL.
async fn a_lease_under_a_ttl_that_became_shorter_is_looked_at_in_time<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    let lease = lease(1);
    desk.must(lease.clone()).await;
    desk.must(ack(&lease)).await;
    desk.with_policy(|policy| policy.lease_ttl = Duration::ZERO).must(heartbeat(&lease)).await;
    assert_eq!(desk.store.due(desk.now(), 9).await.unwrap().executions, [exec_id(1)]);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

/// The sweep stops the retried job; nobody may then say that every required job succeeded.
async fn a_run_that_fails_fast_does_not_succeed_because_its_first_failure_is_retried<S: Store>(
    desk: Desk<S>,
) {
    let desk = desk.open().await;
    desk.must(run_named(1, true, &[("needed", true), ("extra", false)])).await;
    let job = job_named(&desk, "needed").await;
    desk.must(CancelJob { tenant: tenant(), job }).await;
    desk.must(RetryJob { tenant: tenant(), job }).await;
    desk.must(SweepRun { run: run_id(1) }).await;
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
    assert_eq!(desk.run(run_id(1)).await.outcome, Some(run::State::Failed));
}

/// The sweep's list was made before the job was opened again.
async fn a_job_that_is_opened_beside_a_sweep_is_swept_too<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(run_named(1, false, &[("one", true), ("other", true)])).await;
    let job = job_named(&desk, "one").await;
    desk.must(CancelJob { tenant: tenant(), job }).await;
    let batch: [Command; 3] =
        [RetryJob { tenant: tenant(), job }.into(), cancel_run(1).into(), SweepRun { run: run_id(1) }.into()];
    desk.must_all(batch).await;
    const ROUNDS_MAX: u32 = 3;
    for _ in 0..ROUNDS_MAX {
        let due = desk.store.due(desk.now(), 10).await.unwrap();
        desk.must_all(due.sweeps.iter().map(|run| SweepRun { run: *run })).await;
    }
    let run = desk.run(run_id(1)).await;
    assert_eq!((run.outcome, run.jobs_open), (Some(run::State::Canceled), 0), "it must not wait for ever");
}

/// Two are told about the end of a run; the first message dies.
async fn one_of_two_messages_died<S: Store>(desk: &Desk<S>) -> [MessageId; 2] {
    desk.must(webhook("ops", &["run.finished"])).await;
    desk.must(webhook("chat", &["run.finished"])).await;
    desk.must(run(1, vec![])).await;
    let messages = desk.claimable(9).await;
    desk.must_all(messages.iter().map(|message| claim(*message))).await;
    desk.with_policy(|policy| policy.delivery_tries_max = 1).must(undelivered(messages[0], 1)).await;
    messages.try_into().unwrap()
}

/// The run has given the dead one up; it waits for the other, and only for that.
async fn a_message_that_is_sent_again_does_not_stand_for_another<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let [dead, other] = one_of_two_messages_died(&desk).await;
    desk.must(RedriveDelivery { delivery: dead }).await;
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
    desk.must(claim(dead)).await;
    desk.must(delivered(dead, 2)).await;
    assert_eq!(desk.run(run_id(1)).await.state.get(), run::State::Success, "the other is still on its way");
    desk.must(delivered(other, 1)).await;
    assert_eq!(desk.run(run_id(1)).await.state.get(), run::State::Reported);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn a_run_that_was_reported_stays_reported_when_a_message_is_sent_again<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let [dead, other] = one_of_two_messages_died(&desk).await;
    desk.must(delivered(other, 1)).await;
    assert_eq!(desk.run(run_id(1)).await.state.get(), run::State::Reported);
    desk.must(RedriveDelivery { delivery: dead }).await;
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0], "an operator may do this");
    desk.must(claim(dead)).await;
    desk.must(delivered(dead, 2)).await;
    assert_eq!(desk.run(run_id(1)).await.state.get(), run::State::Reported);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}
