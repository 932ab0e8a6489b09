//! What may exist once exists once, whoever wrote it: the constraints hold without the decisions.

use decisions::Changes;
use decisions::draft::Stated;
use decisions::records::{Execution, Job, Queue, Run, Tenant};
use machines::{execution, lease};
use store::{Store, StoreError};

use crate::commands::{job_id, run_id};
use crate::desk::{Contents, Desk};
use crate::forged::{
    bare_attempt, bare_execution, bare_job, bare_run, little_world, some_queue, some_tenant,
};
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    a_tenants_name_is_taken_once,
    a_trigger_key_is_taken_once_per_tenant,
    a_job_key_is_taken_once_per_tenant,
    an_attempt_has_one_live_lease,
    a_job_commits_once,
    a_token_is_given_once_per_job,
    an_id_is_taken_once,
]);

/// The change is refused as a whole: somebody else was faster, or no race can explain it.
async fn refuse<S: Store>(desk: &Desk<S>, changes: Changes) {
    let before = desk.contents().await;
    let refused = desk.forge(changes).await;
    let is_refusal = matches!(refused, Err(StoreError::Conflict(_) | StoreError::Violation(_)));
    assert!(is_refusal, "{refused:?}");
    assert_eq!(desk.contents().await, before);
}

/// No race makes these, so the caller is told to look for the guilty command.
async fn violate<S: Store>(desk: &Desk<S>, changes: Changes) {
    let before: Contents = desk.contents().await;
    let refused = desk.forge(changes).await;
    assert!(matches!(refused, Err(StoreError::Violation(_))), "{refused:?}");
    assert_eq!(desk.contents().await, before);
}

fn tenants(tenants: impl IntoIterator<Item = Tenant>) -> Changes {
    let tenants = tenants.into_iter().map(|tenant| (tenant.id, tenant)).collect();
    Changes { tenants, ..Changes::default() }
}

fn runs(runs: impl IntoIterator<Item = Run>) -> Changes {
    Changes { runs: runs.into_iter().map(|run| (run.id, run)).collect(), ..Changes::default() }
}

fn jobs(jobs: impl IntoIterator<Item = Job>) -> Changes {
    Changes { jobs: jobs.into_iter().map(|job| (job.id, job)).collect(), ..Changes::default() }
}

fn executions(executions: impl IntoIterator<Item = Execution>) -> Changes {
    let executions = executions.into_iter().map(|execution| (execution.id, execution)).collect();
    Changes { executions, ..Changes::default() }
}

async fn a_tenants_name_is_taken_once<S: Store>(desk: Desk<S>) {
    desk.forge(tenants([some_tenant(1)])).await.unwrap();
    refuse(&desk, tenants([Tenant { name: "tenant-1".into(), ..some_tenant(2) }])).await;
    desk.forge(tenants([some_tenant(2)])).await.unwrap();
}

async fn a_trigger_key_is_taken_once_per_tenant<S: Store>(desk: Desk<S>) {
    let (ours, theirs) = (some_tenant(1), some_tenant(2));
    desk.forge(tenants([ours.clone(), theirs.clone()])).await.unwrap();
    let keyed = |number, tenant| Run { trigger_key: Some("push".into()), ..bare_run(number, tenant) };
    desk.forge(runs([keyed(1, ours.id)])).await.unwrap();
    refuse(&desk, runs([keyed(2, ours.id)])).await;
    desk.forge(runs([keyed(3, theirs.id), bare_run(4, ours.id), bare_run(5, ours.id)])).await.unwrap();
}

async fn a_job_key_is_taken_once_per_tenant<S: Store>(desk: Desk<S>) {
    let (ours, theirs) = (some_tenant(1), some_tenant(2));
    let (queue, their_queue) = (some_queue(ours.id), Queue::for_requirements(theirs.id, &[]));
    let mut world = tenants([ours.clone(), theirs.clone()]);
    world.queues.extend([&queue, &their_queue].map(|queue| (queue.id, queue.clone())));
    desk.forge(world).await.unwrap();
    let keyed = |number, tenant, queue| Job { key: Some("mine".into()), ..bare_job(number, tenant, queue) };
    desk.forge(jobs([keyed(1, ours.id, queue.id)])).await.unwrap();
    refuse(&desk, jobs([keyed(2, ours.id, queue.id)])).await;
    let theirs = keyed(3, theirs.id, their_queue.id);
    let others = [theirs, bare_job(4, ours.id, queue.id), bare_job(5, ours.id, queue.id)];
    desk.forge(jobs(others)).await.unwrap();
}

fn live(number: u128, token: u32) -> Execution {
    let attempt = decisions::records::AttemptKey { job: job_id(50), index: 1 };
    Execution {
        lease: Stated::stored(lease::State::Granted),
        status: Stated::stored(execution::State::Leased),
        finished_at: None,
        ..bare_execution(number, attempt, token)
    }
}

async fn an_attempt_has_one_live_lease<S: Store>(desk: Desk<S>) {
    desk.forge(little_world()).await.unwrap();
    violate(&desk, executions([live(51, 2), live(52, 3)])).await;
    desk.forge(executions([live(51, 2)])).await.unwrap();
    violate(&desk, executions([live(52, 3)])).await;
    let active = Execution { lease: Stated::stored(lease::State::Active), ..live(52, 3) };
    violate(&desk, executions([active])).await;

    let mut second_attempt = executions([Execution {
        attempt: decisions::records::AttemptKey { job: job_id(50), index: 2 },
        ..live(53, 4)
    }]);
    let attempt = bare_attempt(50, 2, some_queue(some_tenant(50).id).id);
    second_attempt.attempts.insert(attempt.key, attempt);
    desk.forge(second_attempt).await.unwrap(); // another attempt is another matter
}

async fn a_job_commits_once<S: Store>(desk: Desk<S>) {
    desk.forge(little_world()).await.unwrap();
    let committed = |number, token, status| Execution {
        lease: Stated::stored(lease::State::Completed),
        status: Stated::stored(status),
        finished_at: Some(crate::forged::at(1)),
        ..live(number, token)
    };
    let (committed_state, done) = (execution::State::Committed, execution::State::Done);
    violate(&desk, executions([committed(51, 2, done), committed(52, 3, done)])).await;
    desk.forge(executions([committed(51, 2, committed_state)])).await.unwrap();
    for state in [committed_state, done] {
        violate(&desk, executions([committed(52, 3, state)])).await;
    }
    desk.forge(executions([committed(52, 3, execution::State::Aborted)])).await.unwrap();
}

async fn a_token_is_given_once_per_job<S: Store>(desk: Desk<S>) {
    desk.forge(little_world()).await.unwrap();
    let ended = |number, token| Execution {
        lease: Stated::stored(lease::State::Expired),
        status: Stated::stored(execution::State::Aborted),
        finished_at: Some(crate::forged::at(1)),
        ..live(number, token)
    };
    refuse(&desk, executions([ended(51, 1)])).await;
    desk.forge(executions([ended(51, 2)])).await.unwrap();
}

async fn an_id_is_taken_once<S: Store>(desk: Desk<S>) {
    let world = little_world();
    desk.forge(world.clone()).await.unwrap();
    let only = |take: fn(&mut Changes, &Changes)| {
        let mut changes = Changes::default();
        take(&mut changes, &world);
        changes
    };
    refuse(&desk, only(|to, from| to.tenants = from.tenants.clone())).await;
    refuse(&desk, only(|to, from| to.runs = from.runs.clone())).await;
    refuse(&desk, only(|to, from| to.jobs = from.jobs.clone())).await;
    refuse(&desk, only(|to, from| to.attempts = from.attempts.clone())).await;
    refuse(&desk, only(|to, from| to.executions = from.executions.clone())).await;
    refuse(&desk, only(|to, from| to.deliveries = from.deliveries.clone())).await;
    assert_eq!(desk.run(run_id(50)).await, world.runs[&run_id(50)]);
}
