//! Plans that do not run everything, and successes that need not be repeated.

use decisions::Answer;
use decisions::leases::RunnerGone;
use decisions::records::{Bundle, Plan, PlanJob, Source, Trust};
use decisions::runs::CreateRun;
use decisions::versions::BundleDue;
use machines::{attempt, job, lease as machine};
use store::Store;
use wire::api::{Decision, Reason};
use wire::{Digest, JobId, RunId, TenantId};

use crate::commands::{
    ack, cancel_run, commit, complete, exec_id, fail, job_id, lease, lease_job, plan_job, run, run_id,
    submit, tenant,
};
use crate::desk::Desk;
use crate::forged::artifacts::{artifact, bare_blob, bare_bundle, digest, put};
use crate::forged::at;
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    a_plan_is_stored_as_it_was_handed_in,
    a_run_keeps_whose_code_it_is,
    the_newest_success_of_each_key_is_found,
    what_did_not_succeed_is_not_found,
    a_job_without_a_run_or_a_key_is_not_found,
    a_success_without_its_artifacts_is_not_found,
    a_dead_runners_job_is_ready_at_once,
    a_dead_runner_that_had_committed_has_succeeded,
]);

fn keyed(name: &str, key: u8) -> PlanJob {
    PlanJob { input_key: Some(digest(key)), ..plan_job(name, &[]) }
}

/// A run of one job that takes the next lease.
async fn leased<S: Store>(desk: &Desk<S>, number: u128, key: u8) -> (decisions::leases::Lease, JobId) {
    desk.must(run(number, vec![keyed("a", key)])).await;
    let lease = lease(number);
    let job = desk.must_grant(lease.clone()).await.job;
    desk.must(ack(&lease)).await;
    (lease, job)
}

async fn success<S: Store>(desk: &Desk<S>, number: u128, key: u8) -> (Digest, RunId, JobId) {
    let (lease, job) = leased(desk, number, key).await;
    desk.must(complete(&lease)).await;
    (digest(key), run_id(number), job)
}

async fn found<S: Store>(desk: &Desk<S>, keys: &[u8]) -> Vec<(Digest, RunId, JobId)> {
    let keys: Vec<Digest> = keys.iter().copied().map(digest).collect();
    desk.store.successes(tenant(), &keys).await.unwrap()
}

async fn a_plan_is_stored_as_it_was_handed_in<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let reuse = Reason { run: Some(run_id(7)), job: Some(job_id(7)), ..because("reuse") };
    let skip =
        Reason { files: vec!["größe.rs".into()], base: Some("c0ffee".into()), ..because("unchanged") };
    let jobs = vec![
        PlanJob { decision: Decision::Reuse, reasons: vec![reuse], ..keyed("built", 1) },
        PlanJob { decision: Decision::Skip, reasons: vec![skip], ..plan_job("docs", &["built"]) },
        PlanJob { needs: vec!["built".into(), "docs".into()], ..keyed("test", 2) },
    ];
    let plan =
        Plan { base: Some("c0ffee".into()), source: Source::File, concurrency: None, fail_fast: false, jobs };
    desk.must(run(1, plan.clone())).await;
    let text = desk.store.plan(run_id(1)).await.unwrap().unwrap();
    assert_eq!(&*text, serde_json::to_string(&plan).unwrap());
    let jobs = desk.store.jobs_of_run(run_id(1), None, 10).await.unwrap();
    let made: Vec<_> = jobs.iter().map(|job| (job.name.as_str(), job.needs_open, job.input_key)).collect();
    assert_eq!(made, [("test", 0, Some(digest(2)))], "what it needs is there already");
    assert_eq!(desk.must_grant(lease(1)).await.job, jobs[0].id);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

fn because(rule: &str) -> Reason {
    Reason { rule: rule.into(), detail: "because".into(), ..Reason::default() }
}

async fn a_run_keeps_whose_code_it_is<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(CreateRun { trust: Trust::Untrusted, ..run(1, vec![]) }).await;
    desk.must(run(2, vec![])).await;
    assert_eq!(desk.run(run_id(1)).await.trust, Trust::Untrusted);
    assert_eq!(desk.run(run_id(2)).await.trust, Trust::Trusted);
}

async fn the_newest_success_of_each_key_is_found<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    assert_eq!(found(&desk, &[1, 2]).await, []);
    let first = success(&desk, 1, 1).await;
    let other = success(&desk, 2, 2).await;
    assert_eq!(found(&desk, &[1]).await, [first]);
    desk.pass(std::time::Duration::from_secs(1));
    let second = success(&desk, 3, 1).await;
    assert_eq!(found(&desk, &[2, 3, 1]).await, [other, second]);
    assert_eq!(found(&desk, &[]).await, []);
    let elsewhere = desk.store.successes(TenantId::from_u128(77), &[digest(1)]).await.unwrap();
    assert_eq!(elsewhere, []);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn what_did_not_succeed_is_not_found<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let (open, _) = leased(&desk, 1, 1).await;
    assert_eq!(found(&desk, &[1]).await, [], "it runs");
    let (failed, _) = leased(&desk, 2, 1).await;
    desk.must(fail(&failed, "tests failed")).await;
    desk.must(run(3, vec![keyed("a", 1)])).await;
    desk.must(cancel_run(3)).await;
    desk.must(decisions::runs::SweepRun { run: run_id(3) }).await;
    assert_eq!(found(&desk, &[1]).await, []);
    desk.must(commit(&open, vec![])).await;
    assert_eq!(found(&desk, &[1]).await, [], "its effect has happened, but it has not ended");
    desk.must(complete(&open)).await;
    assert_eq!(found(&desk, &[1]).await.len(), 1);
}

async fn a_job_without_a_run_or_a_key_is_not_found<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(submit(1)).await;
    desk.must(run(1, vec![plan_job("a", &[])])).await;
    for number in 1..=2 {
        let lease = lease(number);
        let job = desk.must_grant(lease.clone()).await.job;
        desk.must(ack(&lease)).await;
        desk.must(complete(&lease)).await;
        let job = desk.job(job).await.job;
        assert_eq!((job.state, job.reusable), (job::State::Succeeded, false));
    }
}

async fn a_success_without_its_artifacts_is_not_found<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let (kept, given_up) = (success(&desk, 1, 1).await, success(&desk, 2, 2).await);
    let blob = decisions::records::Blob { refs: 1, ..bare_blob(50) };
    let due = |number, (_, _, job), artifacts: Vec<_>| Bundle {
        execution: exec_id(number),
        job,
        artifacts: artifacts.into(),
        keep_until: Some(at(-5)),
        ..bare_bundle(tenant())
    };
    let mut changes = decisions::Changes::default();
    put(&mut changes, [blob.clone()]);
    put(&mut changes, [due(1, kept, vec![]), due(2, given_up, vec![artifact("app", &blob)])]);
    desk.forge(changes).await.unwrap();
    for number in 1..=2 {
        let moved = desk.must(BundleDue { execution: exec_id(number) }).await;
        assert_eq!(moved, Answer::Settled { moved: true });
    }
    assert_eq!(found(&desk, &[1, 2]).await, [kept], "nothing was given up of the other");
    assert_eq!(desk.job(given_up.2).await.job.input_key, Some(digest(2)));
}

async fn a_dead_runners_job_is_ready_at_once<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await.with_policy(|policy| policy.lost_leases_max = 1);
    let (_, job) = leased(&desk, 1, 1).await;
    let gone = |number| RunnerGone { execution: exec_id(number) };
    assert_eq!(desk.must(gone(1)).await, Answer::Settled { moved: true });
    assert_eq!(desk.must(gone(1)).await, Answer::Settled { moved: false }, "said twice");
    let file = desk.job(job).await;
    assert_eq!(file.executions[0].lease.get(), machine::State::Expired);
    assert_eq!((file.attempts[0].lost_leases, file.ready.len()), (1, 1));

    desk.must(lease_job(2, job)).await;
    desk.must(gone(2)).await;
    let file = desk.job(job).await;
    assert_eq!(file.attempts[0].lost_leases, 1, "nothing had begun under a lease that was not acknowledged");

    let third = lease_job(3, job);
    desk.must(third.clone()).await;
    desk.must(ack(&third)).await;
    desk.must(gone(3)).await;
    let file = desk.job(job).await;
    assert_eq!(file.attempts[0].state.get(), attempt::State::Stale, "lost once too often");
    assert_eq!(desk.must(gone(77)).await, Answer::Settled { moved: false });
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn a_dead_runner_that_had_committed_has_succeeded<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let (lease, job) = leased(&desk, 1, 1).await;
    desk.must(commit(&lease, vec![])).await;
    desk.must(RunnerGone { execution: exec_id(1) }).await;
    assert_eq!(desk.job(job).await.job.state, job::State::Succeeded);
    assert_eq!(
        found(&desk, &[1]).await,
        [],
        "whether all that it made was brought, only its runner could say"
    );
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}
