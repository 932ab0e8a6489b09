//! Load: each ask is answered with what it names, whole, and with nothing when there is nothing.

use decisions::book::{Kept, Shelf};
use decisions::records::{AttemptKey, GroupId, Plan, Trust};
use decisions::{Ask, Book};
use store::Store;
use wire::{MessageId, TenantId};

use crate::commands::{
    ack, complete, exec_id, fail, job_id, lease, lease_job, plan_job, queue, run, run_id, runner, shared,
    submit, tenant, webhook,
};
use crate::desk::Desk;
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    what_does_not_exist_is_not_in_the_book,
    nothing_asked_brings_nothing,
    a_tenant_is_found_by_id_and_by_name,
    a_run_comes_with_its_tenants_webhooks,
    a_plan_is_read_as_it_was_written,
    only_jobs_that_succeeded_are_named,
    a_family_is_a_job_with_its_latest_attempt_and_that_ones_execution,
    an_execution_comes_with_its_own_attempt_and_the_rest_of_its_family,
    a_lost_lease_of_the_latest_attempt_comes_with_the_live_one,
    a_runner_is_known_after_its_first_lease,
    a_trigger_key_leads_to_its_run,
    a_job_key_leads_to_its_family,
    a_specification_is_read_as_it_was_written,
    a_delivery_comes_with_the_run_it_reports,
    asks_for_the_same_thing_agree,
]);

fn keys<R: Kept>(shelf: &Shelf<R>) -> Vec<R::Key> {
    shelf.peek_all().map(Kept::key).collect()
}

fn attempt(job: wire::JobId, index: u32) -> AttemptKey {
    AttemptKey { job, index }
}

fn is_empty(book: &Book) -> bool {
    let records = keys(&book.tenants).len()
        + keys(&book.runs).len()
        + keys(&book.jobs).len()
        + keys(&book.attempts).len()
        + keys(&book.executions).len()
        + keys(&book.runners).len()
        + keys(&book.queues).len()
        + keys(&book.deliveries).len()
        + keys(&book.webhooks).len();
    let indexes = book.tenant_names.len() + book.triggers.len() + book.job_keys.len();
    let texts = book.specs.len() + book.plans.len() + book.ready.len();
    let lists = book.sweeps.values().chain(book.dependents.values()).flatten().count();
    records + indexes + texts + lists + book.succeeded.values().flatten().count() == 0
}

async fn what_does_not_exist_is_not_in_the_book<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(webhook("ops", &["job.finished"])).await;
    desk.must(submit(1)).await;
    let asks = [
        Ask::Tenant(TenantId::from_u128(7)),
        Ask::TenantName("nobody".into()),
        Ask::Run(run_id(7)),
        Ask::Plan(run_id(7)),
        Ask::Succeeded(run_id(7)),
        Ask::Group(GroupId::of(tenant(), None, Trust::Trusted, "nothing")),
        Ask::GroupOf(run_id(7), Some("nothing".into())),
        Ask::Family(job_id(7)),
        Ask::Execution(exec_id(7)),
        Ask::Runner(shared("nobody")),
        Ask::Trigger(tenant(), "nothing".into()),
        Ask::JobKey(tenant(), "nothing".into()),
        Ask::Ready { queues: vec![queue(&["os:none"])], count: 5 },
        Ask::Spec(job_id(7)),
        Ask::Sweep(run_id(7)),
        Ask::Release(job_id(7)),
        Ask::Delivery(MessageId::from_u128(7)),
    ];
    for ask in &asks {
        assert!(is_empty(&desk.book(std::slice::from_ref(ask)).await), "{ask:?}");
    }
    let loaded = desk.load(&asks).await;
    assert!(is_empty(&loaded.book) && loaded.book.is_unchanged());
    desk.store.save(loaded.session, loaded.book).await.unwrap();
}

async fn nothing_asked_brings_nothing<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    assert!(is_empty(&desk.book(&[]).await));
}

async fn a_tenant_is_found_by_id_and_by_name<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(webhook("ops", &["job.finished"])).await;
    let by_id = desk.book(&[Ask::Tenant(tenant())]).await;
    let by_name = desk.book(&[Ask::TenantName("default".into())]).await;
    let stored = desk.store.tenants().await.unwrap();
    for book in [&by_id, &by_name] {
        assert_eq!(book.tenants.peek_all().cloned().collect::<Vec<_>>(), stored);
        assert_eq!(keys(&book.webhooks).len(), 1);
    }
    assert_eq!(by_name.tenant_names.get("default"), Some(&tenant()));
}

async fn a_run_comes_with_its_tenants_webhooks<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(webhook("ops", &["run.finished", "job.finished"])).await;
    desk.must(run(1, vec![plan_job("lint", &[])])).await;
    desk.must(run(2, vec![plan_job("lint", &[])])).await;
    let book = desk.book(&[Ask::Run(run_id(1))]).await;
    assert_eq!(book.runs.peek_all().cloned().collect::<Vec<_>>(), [desk.run(run_id(1)).await]);
    assert_eq!(keys(&book.jobs), []);
    let hook = book.webhooks.peek_all().next().unwrap();
    assert_eq!((hook.key.name.as_str(), hook.url.as_str()), ("ops", "https://example.org/ops"));
    assert_eq!(hook.events, ["run.finished", "job.finished"]);
}

async fn a_plan_is_read_as_it_was_written<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let plan = Plan::from(vec![plan_job("größe", &[]), plan_job("two", &["größe"])]);
    desk.must(run(1, plan.clone())).await;
    let book = desk.book(&[Ask::Plan(run_id(1))]).await;
    assert_eq!(&*book.plans[&run_id(1)], serde_json::to_string(&plan).unwrap());
    let read = serde_json::from_str::<Plan>(&book.plans[&run_id(1)]).unwrap().jobs;
    assert_eq!(read[1].needs, ["größe"]);
}

async fn only_jobs_that_succeeded_are_named<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(run(1, vec![plan_job("a", &[]), plan_job("b", &[]), plan_job("c", &[])])).await;
    for (number, succeeds) in [(1, true), (2, false)] {
        let lease = lease(number);
        desk.must(lease.clone()).await;
        desk.must(ack(&lease)).await;
        desk.must(if succeeds { complete(&lease) } else { fail(&lease, "tests failed") }).await;
    }
    let done = desk.job(desk.store.execution_job(exec_id(1)).await.unwrap().unwrap()).await;
    let book = desk.book(&[Ask::Succeeded(run_id(1))]).await;
    let succeeded: Vec<_> = book.succeeded[&run_id(1)].iter().collect();
    assert_eq!(succeeded, [(&done.job.name, &done.job.id)]);
}

async fn a_family_is_a_job_with_its_latest_attempt_and_that_ones_execution<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(webhook("ops", &["job.finished"])).await;
    desk.must(run(1, vec![plan_job("a", &[]), plan_job("b", &[])])).await;
    let first = lease(1);
    let job = desk.must_grant(first.clone()).await.job;
    desk.must(ack(&first)).await;

    let book = desk.book(&[Ask::Family(job)]).await;
    assert_eq!((keys(&book.jobs), keys(&book.runs)), (vec![job], vec![run_id(1)]));
    assert_eq!((keys(&book.attempts), keys(&book.executions)), (vec![attempt(job, 1)], vec![exec_id(1)]));
    assert_eq!(keys(&book.webhooks).len(), 1);
    let file = desk.job(job).await;
    assert_eq!(book.jobs.peek(&job), Some(&file.job));
    assert_eq!(book.attempts.peek(&attempt(job, 1)), file.attempts.first());
    assert_eq!(book.executions.peek(&exec_id(1)), file.executions.first());

    desk.must(fail(&first, "connection reset")).await;
    let book = desk.book(&[Ask::Family(job)]).await;
    assert_eq!((keys(&book.attempts), keys(&book.executions)), (vec![attempt(job, 2)], vec![]));
    desk.must(lease_job(2, job)).await;
    let book = desk.book(&[Ask::Family(job)]).await;
    assert_eq!((keys(&book.attempts), keys(&book.executions)), (vec![attempt(job, 2)], vec![exec_id(2)]));
}

async fn an_execution_comes_with_its_own_attempt_and_the_rest_of_its_family<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(run(1, vec![plan_job("a", &[])])).await;
    let first = lease(1);
    let job = desk.must_grant(first.clone()).await.job;
    desk.must(ack(&first)).await;
    desk.must(fail(&first, "connection reset")).await;
    let mut second = lease(2);
    second.runner = runner("r2");
    desk.must_grant(second).await;
    let book = desk.book(&[Ask::Execution(exec_id(1))]).await;
    assert_eq!((keys(&book.jobs), keys(&book.runs)), (vec![job], vec![run_id(1)]));
    assert_eq!(keys(&book.attempts), [attempt(job, 1), attempt(job, 2)]);
    assert_eq!(keys(&book.executions), [exec_id(1), exec_id(2)]);
    assert!(book.runners.has(&shared("r1")));
    let file = desk.job(job).await;
    assert_eq!(book.executions.peek_all().cloned().collect::<Vec<_>>(), file.executions);
    assert_eq!(book.attempts.peek_all().cloned().collect::<Vec<_>>(), file.attempts);
}

async fn a_lost_lease_of_the_latest_attempt_comes_with_the_live_one<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    let hasty = desk.with_policy(|policy| policy.ack_timeout = std::time::Duration::ZERO);
    hasty.must(lease(1)).await;
    desk.must(decisions::leases::ExecutionDue { execution: exec_id(1) }).await;
    desk.must_grant(lease(2)).await;
    let book = desk.book(&[Ask::Execution(exec_id(1))]).await;
    assert_eq!(keys(&book.attempts), [attempt(job_id(1), 1)]);
    assert_eq!(keys(&book.executions), [exec_id(1), exec_id(2)]);
}

async fn a_runner_is_known_after_its_first_lease<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(lease(1)).await; // there is no work, but it was seen
    let book = desk.book(&[Ask::Runner(shared("r1"))]).await;
    let known = book.runners.peek(&shared("r1")).unwrap();
    assert_eq!((known.acks_missed, known.barred_until), (0, None));
    assert_eq!(keys(&book.runners).len(), 1);
}

async fn a_trigger_key_leads_to_its_run<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let mut create = run(1, vec![plan_job("a", &[])]);
    create.trigger_key = Some("push/ä".into());
    desk.must(create).await;
    desk.must(run(2, vec![])).await;
    let book = desk.book(&[Ask::Trigger(tenant(), "push/ä".into())]).await;
    assert_eq!(book.triggers.get(&(tenant(), "push/ä".into())), Some(&run_id(1)));
    assert_eq!(keys(&book.runs), [run_id(1)]);
    let other = TenantId::from_u128(2);
    assert!(is_empty(&desk.book(&[Ask::Trigger(other, "push/ä".into())]).await), "another tenant's key");
}

async fn a_job_key_leads_to_its_family<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let mut keyed = submit(1);
    keyed.key = Some("nightly-1".into());
    desk.must(keyed).await;
    desk.must(lease(1)).await;
    let book = desk.book(&[Ask::JobKey(tenant(), "nightly-1".into())]).await;
    assert_eq!(book.job_keys.get(&(tenant(), "nightly-1".into())), Some(&job_id(1)));
    assert_eq!((keys(&book.jobs), keys(&book.attempts)), (vec![job_id(1)], vec![attempt(job_id(1), 1)]));
    assert_eq!(keys(&book.executions), [exec_id(1)]);
    let other = TenantId::from_u128(2);
    assert!(is_empty(&desk.book(&[Ask::JobKey(other, "nightly-1".into())]).await), "another tenant's key");
}

async fn a_specification_is_read_as_it_was_written<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let mut submitted = submit(1);
    submitted.payload = crate::commands::raw(r#"{"b": 1.0,  "a":["\u0000ü", null]}"#);
    desk.must(submitted).await;
    let book = desk.book(&[Ask::Spec(job_id(1))]).await;
    let spec = format!(r#"{{"name":"{}","payload":{{"b": 1.0,  "a":["\u0000ü", null]}}}}"#, job_id(1));
    assert_eq!(&*book.specs[&job_id(1)], spec);
    assert_eq!(keys(&book.jobs), []);
}

async fn a_delivery_comes_with_the_run_it_reports<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(webhook("ops", &["run.finished", "job.finished"])).await;
    desk.must(run(1, vec![])).await; // nothing to run: over at once
    desk.must(submit(1)).await;
    let lease = lease(1);
    desk.must(lease.clone()).await;
    desk.must(ack(&lease)).await;
    desk.must(complete(&lease)).await;
    for delivery in desk.contents().await.deliveries {
        let book = desk.book(&[Ask::Delivery(delivery.id)]).await;
        assert_eq!(book.deliveries.peek_all().cloned().collect::<Vec<_>>(), std::slice::from_ref(&delivery));
        assert_eq!(keys(&book.runs), delivery.reports.into_iter().collect::<Vec<_>>(), "{}", delivery.event);
    }
}

async fn asks_for_the_same_thing_agree<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(run(1, vec![plan_job("a", &[]), plan_job("b", &["a"])])).await;
    let first = lease(1);
    let job = desk.must_grant(first.clone()).await.job;
    desk.must(ack(&first)).await;
    desk.must(fail(&first, "connection reset")).await;
    desk.must(lease_job(2, job)).await;
    let asks = [
        Ask::Family(job),
        Ask::Family(job),
        Ask::Execution(exec_id(1)),
        Ask::Execution(exec_id(2)),
        Ask::Release(job),
        Ask::Run(run_id(1)),
        Ask::Sweep(run_id(1)),
        Ask::Spec(job),
        Ask::Ready { queues: vec![queue(&[])], count: 3 },
    ];
    let book = desk.book(&asks).await;
    assert_eq!((keys(&book.jobs).len(), keys(&book.runs)), (2, vec![run_id(1)]));
    assert_eq!((keys(&book.attempts).len(), keys(&book.executions)), (3, vec![exec_id(1), exec_id(2)]));
    assert_eq!(book.dependents[&job].len(), 1);
    assert_eq!(book.sweeps[&run_id(1)].len(), 2);
}
