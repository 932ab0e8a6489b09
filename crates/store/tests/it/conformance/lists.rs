//! What people and the API ask for: lists page by page, and what belongs to whom.

use decisions::leases::Lease;
use decisions::records::{RunnerKey, TokenKind};
use decisions::tenants::EnsureTenant;
use decisions::tokens::{CreateToken, RevokeToken, TokenScope};
use store::Store;
use wire::{JobId, RunId, TenantId};

use crate::commands::{
    ack, complete, ensure_tenant, exec_id, job_id, lease, lease_job, plan_job, queue, run, run_id, runner,
    shared, submit, tenant, token, token_id, webhook,
};
use crate::desk::Desk;
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    nothing_is_listed_in_an_empty_store,
    a_tenant_is_found_by_id_and_by_name,
    tenants_are_paged_in_the_order_of_their_ids,
    tokens_are_paged_by_whose_they_are,
    a_revoked_token_says_when,
    runs_of_a_tenant_come_newest_first,
    a_plan_is_read_as_it_was_stored,
    jobs_of_a_run_are_paged_in_the_order_of_their_ids,
    a_job_is_found_by_its_submitters_name,
    runners_are_listed_by_whose_they_are,
    live_executions_come_with_their_tenant,
    a_lease_finds_the_runner_it_was_granted_to,
    the_log_is_scanned_for_one_tenant,
    a_scan_goes_on_where_the_last_one_ended,
    queues_are_ready_while_something_waits_in_them,
    runs_that_wait_for_a_plan_are_found,
]);

const ALL: usize = 1_000_000;

fn other() -> TenantId {
    TenantId::from_u128(2)
}

/// A desk with two tenants.
async fn both<S: Store>(desk: Desk<S>) -> Desk<S> {
    desk.must_all([ensure_tenant(), EnsureTenant { id: other(), name: "second".into() }]).await;
    desk
}

async fn runs_that_wait_for_a_plan_are_found<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(run(4, vec![plan_job("planned", &[])])).await;
    for number in [1, 3, 2] {
        desk.must(decisions::runs::CreateRun { plan: None, ..run(number, vec![]) }).await;
    }
    let waiting = async |after, limit| desk.store.runs_planning(after, limit).await.unwrap();
    assert_eq!(waiting(None, ALL).await, [run_id(1), run_id(2), run_id(3)]);
    assert_eq!(waiting(Some(run_id(1)), 1).await, [run_id(2)]);
    desk.must(decisions::runs::PlanFailed { run: run_id(2), message: "no".into() }).await;
    assert_eq!(waiting(None, ALL).await, [run_id(1), run_id(3)]);
}

async fn nothing_is_listed_in_an_empty_store<S: Store>(desk: Desk<S>) {
    let store = &desk.store;
    assert_eq!(store.tenant(tenant()).await, Ok(None));
    assert_eq!(store.tenant_named("default").await, Ok(None));
    assert_eq!(store.tenants_after(None, ALL).await, Ok(vec![]));
    assert_eq!(store.token(token_id(1)).await, Ok(None));
    assert_eq!(store.tokens_of(None, None, ALL).await, Ok(vec![]));
    assert_eq!(store.runners_of(Some(tenant()), None, ALL).await, Ok(vec![]));
    assert_eq!(store.executions_live(ALL).await, Ok(vec![]));
    assert_eq!(store.runs_of(tenant(), None, ALL).await, Ok(vec![]));
    assert_eq!(store.plan(run_id(1)).await, Ok(None));
    assert_eq!(store.jobs_of_run(run_id(1), None, ALL).await, Ok(vec![]));
    assert_eq!(store.job_keyed(tenant(), "'; DROP TABLE jobs; --").await, Ok(None));
    assert_eq!(store.queues_ready().await, Ok(vec![]));
    assert_eq!(store.log(exec_id(1)).await, Ok(None));
    assert_eq!(store.log_chunks(exec_id(1), 0, ALL).await, Ok(vec![]));
    assert_eq!(store.events_scan(tenant(), 0, 10).await, Ok((vec![], 0)));
    assert_eq!(store.events_scan(tenant(), 7, 10).await, Ok((vec![], 7)), "never back");
}

async fn a_tenant_is_found_by_id_and_by_name<S: Store>(desk: Desk<S>) {
    let desk = both(desk).await;
    let second = desk.store.tenant(other()).await.unwrap().unwrap();
    assert_eq!((second.id, second.name.as_str(), second.version), (other(), "second", 1));
    assert_eq!((second.desired_config.as_str(), second.status_message.as_str()), ("{}", ""));
    assert_eq!(second.config_hash(), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    assert_eq!(desk.store.tenant_named("second").await, Ok(Some(second)));
    assert_eq!(desk.store.tenant_named("secon").await, Ok(None));
    assert_eq!(desk.store.tenant_named("SECOND").await, Ok(None));
}

async fn tenants_are_paged_in_the_order_of_their_ids<S: Store>(desk: Desk<S>) {
    let ensure =
        |number: u128| EnsureTenant { id: TenantId::from_u128(number), name: format!("tenant-{number}") };
    desk.must_all([5, 3, 4, 1, 2].map(ensure)).await;
    let ids = async |after: Option<u128>, limit| {
        let page = desk.store.tenants_after(after.map(TenantId::from_u128), limit).await.unwrap();
        page.into_iter().map(|it| it.id.as_u128()).collect::<Vec<_>>()
    };
    assert_eq!(ids(None, 2).await, [1, 2]);
    assert_eq!(ids(Some(2), 2).await, [3, 4]);
    assert_eq!(ids(Some(4), 2).await, [5]);
    assert_eq!(ids(Some(5), 2).await, [] as [u128; 0]);
}

async fn tokens_are_paged_by_whose_they_are<S: Store>(desk: Desk<S>) {
    let desk = both(desk).await;
    let of = |number, kind, tenant| CreateToken { kind, tenant, ..token(number) };
    desk.must_all([
        of(5, TokenKind::Runner, None),
        of(1, TokenKind::Admin, None),
        of(2, TokenKind::Tenant, Some(tenant())),
        of(4, TokenKind::Runner, Some(tenant())),
        of(3, TokenKind::Runner, Some(other())),
    ])
    .await;
    let ids = async |tenant, after: Option<u128>, limit| {
        let page = desk.store.tokens_of(tenant, after.map(token_id), limit).await.unwrap();
        assert!(page.iter().all(|token| token.tenant == tenant));
        page.into_iter().map(|token| token.id.as_u128()).collect::<Vec<_>>()
    };
    assert_eq!(ids(None, None, ALL).await, [1, 5]);
    assert_eq!(ids(None, Some(1), ALL).await, [5]);
    assert_eq!(ids(Some(tenant()), None, 1).await, [2]);
    assert_eq!(ids(Some(tenant()), Some(2), 1).await, [4]);
    assert_eq!(ids(Some(other()), None, ALL).await, [3]);
}

async fn a_revoked_token_says_when<S: Store>(desk: Desk<S>) {
    let desk = both(desk).await;
    desk.must(token(1)).await;
    let made = desk.store.token(token_id(1)).await.unwrap().unwrap();
    assert_eq!((made.revoked_at, made.name.as_str(), made.hash), (None, "token 1", token(1).hash));
    desk.must(RevokeToken { id: token_id(1), scope: TokenScope::Any }).await;
    let revoked = desk.store.token(token_id(1)).await.unwrap().unwrap();
    assert!(revoked.revoked_at.is_some_and(|at| at >= made.created_at));
    assert_eq!(decisions::records::Token { revoked_at: None, ..revoked.clone() }, made);
    desk.must(RevokeToken { id: token_id(1), scope: TokenScope::Any }).await;
    assert_eq!(desk.store.token(token_id(1)).await, Ok(Some(revoked.clone())), "the first time counts");
    assert_eq!(desk.store.tokens_of(Some(tenant()), None, ALL).await, Ok(vec![revoked]));
}

async fn runs_of_a_tenant_come_newest_first<S: Store>(desk: Desk<S>) {
    let desk = both(desk).await;
    desk.must_all([2, 4, 1, 5].map(|number| run(number, vec![]))).await;
    desk.must(decisions::runs::CreateRun { tenant: other(), ..run(3, vec![]) }).await;
    let ids = async |tenant, before: Option<u128>, limit| {
        let page = desk.store.runs_of(tenant, before.map(RunId::from_u128), limit).await.unwrap();
        page.into_iter().map(|run| run.id.as_u128()).collect::<Vec<_>>()
    };
    assert_eq!(ids(tenant(), None, 2).await, [5, 4]);
    assert_eq!(ids(tenant(), Some(4), 2).await, [2, 1]);
    assert_eq!(ids(tenant(), Some(1), 2).await, [] as [u128; 0]);
    assert_eq!(ids(other(), None, ALL).await, [3]);
    let newest = desk.store.runs_of(tenant(), None, 1).await.unwrap();
    assert_eq!(newest, [desk.run(run_id(5)).await]);
}

async fn a_plan_is_read_as_it_was_stored<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(run(1, vec![plan_job("größe", &[])])).await;
    let plan = desk.store.plan(run_id(1)).await.unwrap().unwrap();
    let jobs = serde_json::from_str::<decisions::records::Plan>(&plan).unwrap().jobs;
    assert_eq!((jobs.len(), jobs[0].name.as_str()), (1, "größe"));
    assert_eq!(desk.store.plan(run_id(2)).await, Ok(None));
}

async fn jobs_of_a_run_are_paged_in_the_order_of_their_ids<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must_all([1, 2].map(|number| run(number, ["a", "b", "c"].map(|name| plan_job(name, &[])).to_vec())))
        .await;
    let whole = desk.store.jobs_of_run(run_id(1), None, ALL).await.unwrap();
    assert_eq!(whole.len(), 3);
    assert!(whole.is_sorted_by_key(|job| job.id) && whole.iter().all(|job| job.run == Some(run_id(1))));
    assert_eq!(desk.store.jobs_of_run(run_id(1), None, 2).await.unwrap(), whole[..2]);
    assert_eq!(desk.store.jobs_of_run(run_id(1), Some(whole[1].id), 2).await.unwrap(), whole[2..]);
    assert_eq!(desk.store.jobs_of_run(run_id(1), Some(whole[2].id), 2).await.unwrap(), []);
}

async fn a_job_is_found_by_its_submitters_name<S: Store>(desk: Desk<S>) {
    let desk = both(desk).await;
    let keyed = |number, tenant| {
        let key = Some("nightly".into());
        decisions::jobs::SubmitJob { tenant, key, ..submit(number) }
    };
    desk.must_all([keyed(1, tenant()), keyed(2, other()), submit(3)]).await;
    let found = async |tenant, key: &str| desk.store.job_keyed(tenant, key).await.unwrap();
    assert_eq!(found(tenant(), "nightly").await, Some(job_id(1)));
    assert_eq!(found(other(), "nightly").await, Some(job_id(2)));
    assert_eq!(found(tenant(), "Nightly").await, None);
    assert_eq!(found(tenant(), "").await, None);
}

/// The lease of a runner that belongs to this tenant.
fn scoped(number: u128, name: &str, tenant: Option<TenantId>, job: JobId) -> Lease {
    Lease { runner: runner(name), tenant, ..lease_job(number, job) }
}

async fn runners_are_listed_by_whose_they_are<S: Store>(desk: Desk<S>) {
    let desk = both(desk).await;
    desk.must_all((1..=4).map(submit)).await;
    desk.must_all([
        scoped(1, "b", None, job_id(1)),
        scoped(2, "a", None, job_id(2)),
        scoped(3, "a", Some(tenant()), job_id(3)),
    ])
    .await;
    let ids = async |tenant, after: Option<&str>, limit| {
        let page = desk.store.runners_of(tenant, after.map(runner), limit).await.unwrap();
        assert!(page.iter().all(|it| it.key.tenant == tenant && it.capabilities == ["os:linux"]));
        page.into_iter().map(|it| it.key.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(None, None, ALL).await, ["a", "b"]);
    assert_eq!(ids(None, None, 1).await, ["a"]);
    assert_eq!(ids(None, Some("a"), 1).await, ["b"]);
    assert_eq!(ids(Some(tenant()), None, ALL).await, ["a"]);
    assert_eq!(ids(Some(other()), None, ALL).await, [] as [&str; 0]);
    let grown = Lease { capabilities: vec!["gpu".into()], ..scoped(4, "a", Some(tenant()), job_id(4)) };
    desk.must(grown).await;
    let known = desk.store.runners_of(Some(tenant()), None, ALL).await.unwrap();
    assert_eq!(known[0].capabilities, ["gpu"], "what it said last");
}

async fn live_executions_come_with_their_tenant<S: Store>(desk: Desk<S>) {
    let desk = both(desk).await;
    let of_other = decisions::jobs::SubmitJob { tenant: other(), ..submit(2) };
    desk.must_all([submit(1), of_other, submit(3)]).await;
    let leases = [(30, 1), (20, 2), (10, 3)].map(|(number, job)| lease_job(number, job_id(job)));
    desk.must_all(leases.clone()).await;
    desk.must(ack(&leases[0])).await;
    let live = desk.store.executions_live(ALL).await.unwrap();
    let seen: Vec<_> = live.iter().map(|(execution, tenant)| (execution.id, *tenant)).collect();
    assert_eq!(seen, [(exec_id(30), tenant()), (exec_id(20), other()), (exec_id(10), tenant())]);
    assert_eq!(live[0].0, desk.job(job_id(1)).await.executions[0]);
    assert_eq!(desk.store.executions_live(2).await.unwrap(), live[..2]);
    desk.must(complete(&leases[0])).await;
    assert_eq!(desk.store.executions_live(ALL).await.unwrap(), live[1..]);
}

/// Whatever is remembered and whatever has to be read: the record comes with the execution.
async fn a_lease_finds_the_runner_it_was_granted_to<S: Store>(desk: Desk<S>) {
    use decisions::Ask;
    let desk = both(desk).await;
    desk.must_all([submit(1), submit(2)]).await;
    desk.must(scoped(1, "a", Some(tenant()), job_id(1))).await;
    desk.must(scoped(2, "a", None, job_id(2))).await;
    let own = RunnerKey { tenant: Some(tenant()), id: runner("a") };
    for (execution, here, elsewhere) in [(1, &own, &shared("a")), (2, &shared("a"), &own)] {
        let asks = [Ask::Execution(exec_id(execution))];
        let (has, has_not) =
            desk.look(&asks, |book| (book.runners.has(here), book.runners.has(elsewhere))).await;
        assert!(has && !has_not, "{execution}");
    }
}

async fn the_log_is_scanned_for_one_tenant<S: Store>(desk: Desk<S>) {
    let desk = both(desk).await;
    desk.must(webhook("ops", &["run.finished"])).await;
    let of_other = decisions::jobs::SubmitJob { tenant: other(), ..submit(2) };
    desk.must_all([submit(1), of_other]).await;
    desk.must(lease_job(1, job_id(1))).await;
    desk.must(run(1, vec![])).await; // over at once, and told
    let all = desk.store.events_after(0, ALL).await.unwrap();
    let (ours, last) = desk.store.events_scan(tenant(), 0, ALL).await.unwrap();
    let (theirs, same) = desk.store.events_scan(other(), 0, ALL).await.unwrap();
    assert_eq!((last, same), (all.len() as i64, all.len() as i64));
    let is_theirs =
        |entity: &str| entity == other().to_string() || entity.starts_with(&job_id(2).to_string());
    let (expected_theirs, expected_ours): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|event| is_theirs(&event.entity));
    assert_eq!(ours, expected_ours);
    assert_eq!(theirs, expected_theirs);
    for machine in ["tenant", "attempt", "lease", "run", "delivery"] {
        assert!(ours.iter().any(|event| event.machine == machine), "{machine}");
    }
    assert_eq!(desk.store.events_scan(TenantId::from_u128(3), 0, ALL).await, Ok((vec![], last)));
}

/// However few rows are looked at each time, and wherever a look begins.
async fn a_scan_goes_on_where_the_last_one_ended<S: Store>(desk: Desk<S>) {
    let desk = both(desk).await;
    for number in 1..=4 {
        let whose = if number % 2 == 0 { other() } else { tenant() };
        desk.must(decisions::jobs::SubmitJob { tenant: whose, ..submit(number) }).await;
        desk.must(lease_job(number, job_id(number))).await;
    }
    let (whole, end) = desk.store.events_scan(tenant(), 0, ALL).await.unwrap();
    for step in [1, 2, 3, 7] {
        let (mut seen, mut at) = (Vec::new(), 0);
        while at < end {
            let (events, last) = desk.store.events_scan(tenant(), at, step).await.unwrap();
            assert_eq!(last, end.min(at + step as i64));
            seen.extend(events);
            at = last;
        }
        assert_eq!(seen, whole, "by {step}");
    }
}

async fn queues_are_ready_while_something_waits_in_them<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let needing = |number, requires: &[&str]| {
        let runs_on = requires.iter().map(|it| (*it).into()).collect();
        decisions::jobs::SubmitJob { runs_on, ..submit(number) }
    };
    desk.must_all([needing(1, &[]), needing(2, &[]), needing(3, &["a"]), needing(4, &["b"])]).await;
    let ready = async || desk.store.queues_ready().await.unwrap();
    let mut all = vec![queue(&[]), queue(&["a"]), queue(&["b"])];
    all.sort();
    assert_eq!(ready().await, all);
    desk.must_grant(lease(1)).await;
    assert_eq!(ready().await, all, "one is left");
    desk.must_grant(lease(2)).await;
    all.retain(|id| *id != queue(&[]));
    assert_eq!(ready().await, all);
    desk.must_all([lease_job(3, job_id(3)), lease_job(4, job_id(4))]).await;
    assert_eq!(ready().await, []);
    let known = [queue(&[]), queue(&["a"]), queue(&["b"])];
    assert_eq!(desk.store.queues_named(known.to_vec()).await.unwrap().len(), 3, "they stay known");
}
