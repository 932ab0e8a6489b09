//! Named questions: who is due, in which order, how many; who is there, page by page.

use std::time::Duration;

use decisions::records::Queue;
use decisions::runs::CreateRun;
use store::{Due, Store};
use wire::{MessageId, Time};

use crate::commands::{
    START, ack, cancel_run, claim, complete, delivered, ensure_tenant, exec_id, fan_out, job_id, lease,
    lease_job, plan_job, run, run_id, submit, tenant, undelivered, webhook,
};
use crate::desk::Desk;
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    nothing_is_due_in_an_empty_store,
    leases_are_due_in_the_order_of_their_deadlines,
    leases_due_together_are_ordered_by_id,
    runs_are_due_in_the_order_of_their_deadlines,
    runs_that_are_swept_are_due_until_they_are_not,
    jobs_that_release_are_due_until_they_have,
    claims_are_due_when_they_run_out,
    messages_wait_until_they_are_claimed_or_over,
    messages_that_waited_longest_come_first,
    queues_are_found_once_each,
    tenants_are_listed,
    what_is_not_there_is_not_found,
    an_execution_leads_to_its_job,
    jobs_are_paged_in_the_order_of_their_ids,
    runs_are_paged_with_their_jobs_and_log,
    deliveries_are_paged_in_the_order_of_their_ids,
    a_job_file_holds_everything_filed_under_a_job,
    a_sound_store_has_nothing_to_complain_about,
]);

on_stores!(memory, sqlite => [a_deadline_has_passed_at_its_very_moment]);

fn queue(requires: &[&str]) -> Queue {
    let requires: Vec<String> = requires.iter().map(|it| (*it).into()).collect();
    Queue::for_requirements(tenant(), &requires)
}

const MICRO: Duration = Duration::from_micros(1);
const ALL: usize = usize::MAX;

async fn due<S: Store>(desk: &Desk<S>, limit: usize) -> Due {
    desk.store.due(desk.now(), limit).await.unwrap()
}

async fn nothing_is_due_in_an_empty_store<S: Store>(desk: Desk<S>) {
    assert!(due(&desk, ALL).await.is_empty());
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    desk.must(lease(1)).await;
    assert!(due(&desk, ALL).await.is_empty(), "a deadline that is far away");
}

async fn leases_are_due_in_the_order_of_their_deadlines<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let hasty = desk.with_policy(|policy| policy.ack_timeout = Duration::ZERO);
    desk.must_all((1..=4).map(submit)).await;
    desk.must(lease_job(99, job_id(4))).await; // has time
    for number in [30, 10, 20] {
        hasty.must(lease(number)).await;
        desk.pass(MICRO);
    }
    assert_eq!(due(&desk, ALL).await.executions, [30, 10, 20].map(exec_id));
    assert_eq!(due(&desk, 2).await.executions, [30, 10].map(exec_id));
    assert_eq!(due(&desk, 1).await.executions, [exec_id(30)]);
}

async fn leases_due_together_are_ordered_by_id<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let hasty = desk.with_policy(|policy| policy.ack_timeout = Duration::ZERO);
    desk.must_all((1..=3).map(submit)).await;
    hasty.must_all([30, 10, 20].map(lease)).await;
    assert_eq!(due(&desk, ALL).await.executions, [10, 20, 30].map(exec_id));
    assert_eq!(due(&desk, 2).await.executions, [10, 20].map(exec_id));
}

async fn a_deadline_has_passed_at_its_very_moment<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    desk.must(lease(1)).await;
    desk.must(CreateRun { plan: None, ..run(1, vec![]) }).await;
    let ack_timeout = START.plus(desk.policy.ack_timeout);
    let plan_timeout = START.plus(desk.policy.plan_timeout);
    let just_before = |time: Time| Time::from_micros(time.as_micros() - 1);
    let due = async |now| desk.store.due(now, ALL).await.unwrap();
    assert!(due(just_before(ack_timeout)).await.executions.is_empty());
    assert_eq!(due(ack_timeout).await.executions, [exec_id(1)]);
    assert!(due(just_before(plan_timeout)).await.runs.is_empty());
    assert_eq!(due(plan_timeout).await.runs, [run_id(1)]);
}

async fn runs_are_due_in_the_order_of_their_deadlines<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let hasty = desk.with_policy(|policy| policy.plan_timeout = Duration::ZERO);
    for number in [7, 5, 6] {
        hasty.must(CreateRun { plan: None, ..run(number, vec![]) }).await;
        desk.pass(MICRO);
    }
    desk.must(CreateRun { plan: None, ..run(9, vec![]) }).await;
    assert_eq!(due(&desk, ALL).await.runs, [7, 5, 6].map(run_id));
    assert_eq!(due(&desk, 2).await.runs, [7, 5].map(run_id));
}

async fn runs_that_are_swept_are_due_until_they_are_not<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    for number in [3, 1, 2, 4] {
        desk.must(run(number, vec![plan_job("a", &[])])).await;
    }
    for number in [3, 1, 2] {
        desk.must(cancel_run(number)).await;
    }
    assert_eq!(due(&desk, ALL).await.sweeps, [1, 2, 3].map(run_id));
    assert_eq!(due(&desk, 2).await.sweeps, [1, 2].map(run_id));
    desk.must(decisions::runs::SweepRun { run: run_id(1) }).await;
    assert_eq!(due(&desk, 2).await.sweeps, [2, 3].map(run_id));
}

async fn jobs_that_release_are_due_until_they_have<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must_all([fan_out(1, 1), fan_out(2, 1), fan_out(3, 1)]).await;
    let leases = [lease(1), lease(2), lease(3)];
    desk.must_all(leases.clone()).await;
    desk.must_all(leases.iter().map(ack)).await;
    desk.must_all(leases.iter().map(complete)).await;
    let mut over: Vec<_> = desk.contents().await.jobs.into_iter().filter(|file| file.job.releasing).collect();
    over.sort_by_key(|file| file.job.id);
    let over: Vec<_> = over.iter().map(|file| file.job.id).collect();
    assert_eq!(over.len(), 3);
    assert_eq!(due(&desk, ALL).await.releases, over);
    assert_eq!(due(&desk, 2).await.releases, over[..2]);
    desk.must(decisions::jobs::ReleaseDependents { job: over[0] }).await;
    assert_eq!(due(&desk, ALL).await.releases, over[1..]);
}

/// Messages about jobs that were cancelled one after the other, oldest first.
async fn messages<S: Store>(desk: &Desk<S>, count: u128) -> Vec<MessageId> {
    desk.must(webhook("ops", &["job.finished"])).await;
    let mut messages = Vec::new();
    for number in 1..=count {
        desk.must(submit(number)).await;
        desk.must(decisions::jobs::CancelJob { tenant: tenant(), job: job_id(number) }).await;
        let all = desk.store.deliveries_after(None, ALL).await.unwrap();
        messages.extend(all.iter().map(|it| it.id).find(|id| !messages.contains(id)));
        desk.pass(MICRO);
    }
    messages
}

async fn claims_are_due_when_they_run_out<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let messages = messages(&desk, 4).await;
    assert_eq!(due(&desk, ALL).await.claims, [], "what waits for a worker is not a claim");
    desk.must(claim(messages[3])).await; // has time
    let hasty = desk.with_policy(|policy| policy.delivery_claim_ttl = Duration::ZERO);
    for index in [2, 0, 1] {
        hasty.must(claim(messages[index])).await;
        desk.pass(MICRO);
    }
    assert_eq!(due(&desk, ALL).await.claims, [messages[2], messages[0], messages[1]]);
    assert_eq!(due(&desk, 1).await.claims, [messages[2]]);
}

async fn messages_that_waited_longest_come_first<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let messages = messages(&desk, 12).await;
    assert_eq!(desk.claimable(ALL).await, messages);
    assert_eq!(desk.claimable(5).await, messages[..5]);
}

async fn messages_wait_until_they_are_claimed_or_over<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let messages = messages(&desk, 5).await;
    let ready = async || desk.claimable(ALL).await;
    let hasty = desk.with_policy(|policy| policy.delivery_backoff_first = Duration::ZERO);
    let dead = desk.with_policy(|policy| policy.delivery_tries_max = 1);
    desk.must_all(messages[..4].iter().map(|message| claim(*message))).await;
    assert_eq!(ready().await, messages[4..], "claimed");
    desk.must(delivered(messages[0], 1)).await;
    hasty.must(undelivered(messages[1], 1)).await;
    desk.must(undelivered(messages[2], 1)).await; // pauses
    dead.must(undelivered(messages[3], 1)).await;
    desk.pass(MICRO);
    assert_eq!(ready().await, [messages[4], messages[1]]);
    desk.must(decisions::deliveries::RedriveDelivery { delivery: messages[3] }).await;
    assert_eq!(ready().await, [messages[4], messages[1], messages[3]]);
}

async fn queues_are_found_once_each<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    for (number, runs_on) in [(1, vec!["b", "a"]), (2, vec!["a", "b", "a"]), (3, vec![]), (4, vec!["größe"])]
    {
        let mut command = submit(number);
        command.runs_on = runs_on.into_iter().map(Into::into).collect();
        desk.must(command).await;
    }
    let asked = [vec!["a", "b"], vec![], vec!["größe"], vec!["unheard of"]];
    let mut asked: Vec<Queue> = asked.iter().map(|requires| queue(requires)).collect();
    let ids = asked.iter().chain(&asked[..1]).map(|queue| queue.id).collect();
    let found = desk.store.queues_named(ids).await.unwrap();
    asked.pop();
    asked.sort_by_key(|queue| queue.id);
    assert_eq!(found, asked);
}

async fn tenants_are_listed<S: Store>(desk: Desk<S>) {
    assert_eq!(desk.store.tenants().await.unwrap(), []);
    let desk = desk.open().await;
    let second = decisions::tenants::EnsureTenant { id: wire::TenantId::from_u128(2), name: "second".into() };
    desk.must_all([second.clone(), second, ensure_tenant()]).await;
    let names: Vec<String> = desk.store.tenants().await.unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["default", "second"]);
}

async fn what_is_not_there_is_not_found<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    assert_eq!(desk.store.run(run_id(1)).await, Ok(None));
    assert_eq!(desk.store.job_file(job_id(1)).await, Ok(None));
    assert_eq!(desk.store.execution_job(exec_id(1)).await, Ok(None));
    assert_eq!(desk.store.job_files_after(None, ALL).await, Ok(vec![]));
    assert_eq!(desk.store.run_files_after(None, ALL).await, Ok(vec![]));
    assert_eq!(desk.store.deliveries_after(None, ALL).await, Ok(vec![]));
    assert_eq!(desk.claimable(ALL).await, []);
    assert_eq!(desk.store.queues_named(vec![queue(&[]).id]).await, Ok(vec![]));
    assert_eq!(desk.store.queues_named(vec![]).await, Ok(vec![]));
    assert_eq!(desk.store.events_of(&job_id(1).to_string()).await, Ok(vec![]));
    assert_eq!(desk.store.events_of("'; DROP TABLE events; --").await, Ok(vec![]));
}

async fn an_execution_leads_to_its_job<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must_all([submit(1), submit(2)]).await;
    desk.must_all([lease_job(11, job_id(1)), lease_job(12, job_id(2))]).await;
    assert_eq!(desk.store.execution_job(exec_id(11)).await, Ok(Some(job_id(1))));
    assert_eq!(desk.store.execution_job(exec_id(12)).await, Ok(Some(job_id(2))));
}

async fn jobs_are_paged_in_the_order_of_their_ids<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must_all((1..=25).rev().map(|number| submit(number * 2))).await;
    let mut seen = Vec::new();
    for expected in [10, 10, 5, 0] {
        let page = desk.store.job_files_after(seen.last().copied(), 10).await.unwrap();
        assert_eq!(page.len(), expected);
        seen.extend(page.iter().map(|file| file.job.id));
    }
    assert_eq!(seen, (1..=25).map(|number| job_id(number * 2)).collect::<Vec<_>>());
    let between = desk.store.job_files_after(Some(job_id(47)), ALL).await.unwrap();
    assert_eq!(between.iter().map(|file| file.job.id).collect::<Vec<_>>(), [48, 50].map(job_id));
}

async fn runs_are_paged_with_their_jobs_and_log<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(webhook("ops", &["run.finished"])).await;
    desk.must(webhook("chat", &["run.finished"])).await;
    desk.must(run(1, vec![plan_job("a", &[]), plan_job("b", &["a"])])).await;
    desk.must(run(2, vec![])).await; // over at once; two are told
    desk.must(run(3, vec![plan_job("c", &[])])).await;
    let first = desk.store.run_files_after(None, 2).await.unwrap();
    let rest = desk.store.run_files_after(Some(run_id(2)), 2).await.unwrap();
    let numbers = [&first[..], &rest[..]].concat();
    assert_eq!(numbers.iter().map(|file| file.run.id).collect::<Vec<_>>(), [1, 2, 3].map(run_id));
    assert_eq!(numbers.iter().map(|file| file.jobs.len()).collect::<Vec<_>>(), [2, 0, 1]);
    assert_eq!(numbers.iter().map(|file| file.reports_open).collect::<Vec<_>>(), [0, 2, 0]);
    for file in &numbers {
        assert!(file.jobs.is_sorted_by_key(|job| job.id));
        assert_eq!(file.run, desk.run(file.run.id).await);
        assert_eq!(file.events, desk.store.events_of(&file.run.id.to_string()).await.unwrap());
    }
    let message = desk.claimable(1).await[0];
    desk.must(claim(message)).await;
    desk.must(delivered(message, 1)).await;
    let second = desk.store.run_files_after(Some(run_id(1)), 1).await.unwrap();
    assert_eq!(second[0].reports_open, 1);
}

async fn deliveries_are_paged_in_the_order_of_their_ids<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let mut messages = messages(&desk, 7).await;
    messages.sort();
    let mut seen: Vec<MessageId> = Vec::new();
    for expected in [3, 3, 1, 0] {
        let page = desk.store.deliveries_after(seen.last().copied(), 3).await.unwrap();
        assert_eq!(page.len(), expected);
        seen.extend(page.iter().map(|delivery| delivery.id));
    }
    assert_eq!(seen, messages);
}

async fn a_job_file_holds_everything_filed_under_a_job<S: Store>(desk: Desk<S>) {
    use wire::runner::Effect;
    let desk = desk.open().await;
    desk.must_all([submit(1), submit(2)]).await;
    let (first, second) = (lease_job(22, job_id(1)), lease_job(11, job_id(1)));
    desk.must(first.clone()).await;
    desk.must(ack(&first)).await;
    desk.must(crate::commands::fail(&first, "connection reset")).await;
    assert_eq!(desk.job(job_id(1)).await.ready.len(), 1);
    desk.must(second.clone()).await;
    desk.must(ack(&second)).await;
    let effects = vec![
        Effect::Result { value: serde_json::json!({"ü": [1.5, null]}) },
        Effect::Webhook { url: "https://example.org".into(), body: serde_json::json!("x") },
    ];
    desk.must(crate::commands::commit(&second, effects)).await;
    let file = desk.job(job_id(1)).await;
    assert_eq!(file.attempts.iter().map(|it| it.key.index).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(file.executions.iter().map(|it| it.id).collect::<Vec<_>>(), [22, 11].map(exec_id), "by token");
    assert_eq!(
        file.effects.iter().map(|it| (it.position, it.kind)).collect::<Vec<_>>(),
        [(0, "result"), (1, "webhook")]
    );
    assert_eq!(file.effects[0].body, r#"{"kind":"result","value":{"ü":[1.5,null]}}"#);
    assert_eq!(file.events, desk.store.events_of(&job_id(1).to_string()).await.unwrap());
    assert!(file.ready.is_empty() && file.events.len() > 10);
    assert_eq!(desk.store.job_files_after(None, 1).await.unwrap(), [file]);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn a_sound_store_has_nothing_to_complain_about<S: Store>(desk: Desk<S>) {
    assert_eq!(desk.store.integrity().await.unwrap(), [] as [&str; 0]);
    let desk = desk.open().await;
    messages(&desk, 3).await;
    desk.must(run(1, vec![plan_job("a", &[]), plan_job("b", &["a"])])).await;
    desk.must(lease(1)).await;
    assert_eq!(desk.store.integrity().await.unwrap(), [] as [&str; 0]);
}
