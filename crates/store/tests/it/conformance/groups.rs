//! Concurrency groups: what a load brings of them, and that two runs that join at once see each other.

use decisions::policy::CHUNK;
use decisions::records::{Concurrency, GroupId, Plan, Trust};
use decisions::runs::{CreateRun, PlanAccepted, RunOrigin};
use decisions::{Answer, Ask};
use machines::run::State;
use store::{Store, StoreError};
use wire::RunId;

use crate::commands::{cancel_run, plan_job, run, run_id, tenant};
use crate::desk::Desk;
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    a_group_comes_with_its_newest_runs_that_are_not_over,
    a_run_leads_to_the_group_it_is_in_or_would_be_in,
    a_newer_run_supersedes_the_older_ones_of_its_group,
    runs_of_one_batch_supersede_each_other,
    the_same_name_in_another_repository_is_another_group,
]);

on_stores!(memory, postgres => [runs_that_join_at_once_see_each_other]);

fn group(cancel: bool) -> Plan {
    let concurrency = Some(Concurrency { group: "größe".into(), cancel });
    Plan { concurrency, ..vec![plan_job("a", &[])].into() }
}

fn id() -> GroupId {
    GroupId::of(tenant(), None, Trust::Trusted, "größe")
}

async fn states<S: Store>(desk: &Desk<S>, numbers: impl IntoIterator<Item = u128>) -> Vec<State> {
    let mut states = Vec::new();
    for number in numbers {
        states.push(desk.run(run_id(number)).await.state.get());
    }
    states
}

async fn a_group_comes_with_its_newest_runs_that_are_not_over<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let last = CHUNK as u128 + 3;
    for number in 1..=last {
        desk.must(run(number, group(false))).await;
    }
    desk.must(run(last + 1, vec![plan_job("a", &[])])).await;
    desk.must(cancel_run(last)).await;
    desk.must(decisions::runs::SweepRun { run: run_id(last) }).await;
    let book = desk.book(&[Ask::Group(id())]).await;
    let expected: Vec<RunId> = (3..last).map(run_id).collect();
    assert_eq!(expected.len(), CHUNK);
    assert_eq!(book.group_runs[&id()].iter().copied().collect::<Vec<_>>(), expected);
    assert_eq!(book.runs.peek_all().map(|run| run.id).collect::<Vec<_>>(), expected);
    let row = book.groups.peek(&id()).unwrap();
    assert_eq!((row.tenant, row.joined, row.newest), (tenant(), last as u64, None));
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn a_run_leads_to_the_group_it_is_in_or_would_be_in<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(run(1, group(true))).await;
    desk.must(CreateRun { plan: None, ..run(2, vec![]) }).await;
    let expected = (vec![run_id(1)], Some(run_id(1)));
    for ask in [Ask::GroupOf(run_id(1), None), Ask::GroupOf(run_id(2), Some("größe".into()))] {
        let book = desk.book(std::slice::from_ref(&ask)).await;
        let members: Vec<RunId> = book.group_runs[&id()].iter().copied().collect();
        assert_eq!((members, book.groups.peek(&id()).unwrap().newest), expected, "{ask:?}");
        let Ask::GroupOf(named, _) = ask else { unreachable!("they were made so") };
        assert!(book.runs.has(&named), "the run itself");
    }
    let book = desk.book(&[Ask::GroupOf(run_id(2), None)]).await;
    assert!(book.runs.has(&run_id(2)) && book.group_runs.is_empty(), "it is in no group");
}

async fn a_newer_run_supersedes_the_older_ones_of_its_group<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must(run(1, group(false))).await;
    desk.must(run(2, group(true))).await;
    desk.must(CreateRun { plan: None, ..run(3, vec![]) }).await;
    desk.must(run(4, group(false))).await;
    let expected = [State::CancelRequested, State::Queued, State::Planning, State::Queued];
    assert_eq!(states(&desk, 1..=4).await, expected);
    let superseded = desk.run(run_id(1)).await;
    assert_eq!(superseded.status_message, format!("superseded by {}", run_id(2)));
    assert_eq!((superseded.due_at, superseded.sweep.is_some()), (None, true));

    desk.must(run(9, group(true))).await;
    // Triggered before the newest and planned after it.
    let late = PlanAccepted { run: run_id(3), plan: group(true) };
    assert_eq!(desk.must(late).await, Answer::PlanTaken);
    assert_eq!(states(&desk, 2..=4).await, [State::CancelRequested; 3]);
    assert_eq!(desk.run(run_id(3)).await.status_message, format!("superseded by {}", run_id(9)));
    assert_eq!(states(&desk, [9]).await, [State::Queued]);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn runs_of_one_batch_supersede_each_other<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    desk.must_all([1, 3, 2].map(|number| run(number, group(true)))).await;
    assert_eq!(states(&desk, 1..=3).await, [State::CancelRequested, State::CancelRequested, State::Queued]);
    assert_eq!(desk.book(&[Ask::Group(id())]).await.groups.peek(&id()).unwrap().joined, 3);
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}

async fn the_same_name_in_another_repository_is_another_group<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let of = |number, repository: &str| {
        let origin = RunOrigin { repository: Some(repository.into()), ..RunOrigin::default() };
        CreateRun { origin, ..run(number, group(true)) }
    };
    desk.must_all([of(1, "one"), of(2, "two"), of(3, "one")]).await;
    assert_eq!(states(&desk, 1..=3).await, [State::CancelRequested, State::Queued, State::Queued]);
}

/// In both orders of their commits, and whether the group is new or not.
async fn runs_that_join_at_once_see_each_other<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    for (first, second) in [(1, 2), (12, 11), (22, 23)] {
        let early = desk.prepare([run(first, group(true))]).await.unwrap();
        let late = desk.prepare([run(second, group(true))]).await.unwrap();
        desk.finish(early).await.unwrap();
        let refused = desk.finish(late).await;
        assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
        desk.must(run(second, group(true))).await;
        let (older, newer) = (u128::min(first, second), u128::max(first, second));
        assert_eq!(states(&desk, [older, newer]).await, [State::CancelRequested, State::Queued]);
    }
    assert_eq!(desk.contents().await.problems(), [] as [&str; 0]);
}
