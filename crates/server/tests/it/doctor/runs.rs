//! Runs: sound ones at every stage, each spoilt in one way.

use decisions::doctor::{RunFile, check_run};
use decisions::draft::Stated;
use decisions::records::{GroupId, Job, Sweep};
use machines::{job, run};
use store::Memory;

use super::{Spoilt, each_is_found, world};
use crate::script::{self, block_on};
use crate::stores::{InMemory, Place};
use crate::world::{BEGIN, World};

#[test]
fn what_is_wrong_with_a_run_is_found() {
    let spoilt: &[Spoilt<RunFile>] = &[
        ("I8", "jobs_total", |it| it.run.jobs_total += 1),
        ("I8", "jobs_open", |it| it.run.jobs_open -= 1),
        ("I8", "required_failed", |it| it.run.required_failed += 1),
        ("I15", "reports_open", |it| it.run.reports_open += 1),
        ("I15", "waits for messages", |it| it.run.reports_open += 1),
        ("I8", "outcome", |it| it.run.outcome = Some(run::State::Success)),
        ("I8", "has finished", |it| it.run.finished_at = Some(BEGIN)),
        ("I8", "SUCCESS with 3 open", |it| it.run.outcome = Some(run::State::Success)),
        ("I8", "CANCELED with 3 open", |it| it.run.outcome = Some(run::State::Canceled)),
        ("I9", "has a deadline", |it| it.run.due_at = None),
        ("I9", "nothing stops its 3 open jobs", |it| {
            it.run.state = Stated::stored(run::State::Timeout);
            it.run.outcome = Some(run::State::Timeout);
        }),
        ("I9", "stays in PLAN_FAILED", |it| it.run.state = Stated::stored(run::State::PlanFailed)),
        ("I9", "RUNNING without an open job", |it| every_job(it, job::State::Succeeded)),
        ("I9", "QUEUED without an open job", |it| {
            it.run.state = Stated::stored(run::State::Queued);
            every_job(it, job::State::Succeeded);
        }),
        ("I9", "a sweep for Some(Canceled) in RUNNING", |it| it.run.sweep = Some(Sweep::Canceled)),
        ("I9", "a sweep for Some(TimedOut) in RUNNING", |it| it.run.sweep = Some(Sweep::TimedOut)),
        // It succeeded, it has not ended, it failed, and it was cancelled, but not by its run.
        ("I8", "counted_failed of", |it| named(it, "a").counted_failed = true),
        ("I8", "counted_failed of", |it| named(it, "d").counted_failed = true),
        ("I8", "counted_failed of", |it| named(it, "a").state = job::State::Failed),
        ("I8", "counted_failed of", |it| named(it, "d").state = job::State::Canceled),
        // It was not told of `a`, or was told of `b`, which runs.
        ("I9", "needs_open", |it| named(it, "c").needs_open = 2),
        ("I9", "needs_open", |it| named(it, "c").needs_open = 0),
        ("I9", "did not succeed", |it| named(it, "a").state = job::State::Failed),
        ("I24", "jobs without a plan", |it| it.plan = None),
        ("I24", "its plan cannot be read", |it| it.plan = Some("{".into())),
        ("I24", "was not made", |it| drop(it.jobs.pop())),
        ("I24", "its plan does not run it", |it| named(it, "d").name = "e".into()),
        ("I8", "the log leads to", |it| drop(it.events.pop())),
    ];
    block_on(async {
        let world = world().await;
        each_is_found(&file(&world, "R").await, check_run, spoilt);
    });
}

/// Of the jobs one runs, and two wait for the sweep.
#[test]
fn what_is_wrong_with_a_run_that_stops_is_found() {
    let spoilt: &[Spoilt<RunFile>] = &[
        ("I9", "waits, but no sweep", |it| it.run.sweep = None),
        ("I9", "waits, but no sweep", |it| it.run.swept_to = it.jobs.last().map(|job| job.id)),
        ("I9", "a sweep for Some(FailFast)", |it| it.run.sweep = Some(Sweep::FailFast)),
        ("I9", "CANCEL_REQUESTED without an open job", |it| every_job(it, job::State::Canceled)),
        ("I9", "has a deadline", |it| it.run.due_at = Some(BEGIN)),
        ("I8", "counted_failed of", |it| named(it, "b").state = job::State::Failed),
    ];
    block_on(async {
        let mut world = world().await;
        play(&mut world, "- cancel R").await;
        each_is_found(&file(&world, "R").await, check_run, spoilt);
    });
}

#[test]
fn a_sweep_that_is_on_its_way_is_sound_and_one_that_passed_by_a_job_is_found() {
    let passed_by: &[Spoilt<RunFile>] =
        &[("I9", "waits, but no sweep", |it| it.run.swept_to = it.jobs.last().map(|job| job.id))];
    block_on(async {
        let mut world = bare_world().await;
        play(&mut world, "- run R job*150\n- cancel R\n- sweep R").await;
        let swept = file(&world, "R").await;
        assert!(swept.run.swept_to.is_some() && swept.run.jobs_open > 0, "{:?}", swept.run);
        each_is_found(&swept, check_run, passed_by);
    });
}

#[test]
fn what_is_wrong_with_a_run_that_was_cancelled_is_found() {
    let spoilt: &[Spoilt<RunFile>] = &[
        ("I9", "has a deadline", |it| it.run.due_at = Some(BEGIN)),
        ("I8", "outcome", |it| it.run.outcome = None),
        ("I8", "outcome", |it| it.run.outcome = Some(run::State::Failed)),
        ("I15", "waits for messages", |it| (it.run.reports_open, it.reports_open) = (0, 0)),
        ("I8", "CANCELED, but 1 of its required jobs had failed", |it| named(it, "d").counted_failed = true),
    ];
    block_on(async {
        let mut world = world().await;
        play(&mut world, "- cancel R\n- heartbeat L4\n- cancel-ack L4\n- tick").await;
        each_is_found(&file(&world, "R").await, check_run, spoilt);
    });
}

/// `a` failed, and `b`, which need not succeed, was cancelled.
#[test]
fn what_is_wrong_with_a_run_that_failed_is_found() {
    let spoilt: &[Spoilt<RunFile>] = &[
        ("I8", "FAILED, but it had a plan", |it| named(it, "a").counted_failed = false),
        ("I8", "FAILED with 1 open", |it| named(it, "b").state = job::State::Running),
        ("I8", "counted_failed of", |it| named(it, "a").counted_failed = false),
        ("I8", "counted_failed of", |it| named(it, "b").counted_failed = true),
    ];
    block_on(async {
        let mut world = bare_world().await;
        let script = "- run F a:attempts=1 b:optional\n- cancel b\n- grant L x a\n- ack L\n- complete L fail";
        play(&mut world, script).await;
        each_is_found(&file(&world, "F").await, check_run, spoilt);
    });
}

/// Nobody asked to be told, so it is reported.
#[test]
fn what_is_wrong_with_a_run_that_succeeded_is_found() {
    let spoilt: &[Spoilt<RunFile>] = &[
        ("I8", "SUCCESS with 1 open and 0 failed", |it| named(it, "b").state = job::State::Running),
        ("I8", "SUCCESS with 0 open and 1 failed", |it| named(it, "a").counted_failed = true),
        ("I8", "SUCCESS, but a required job", |it| named(it, "a").state = job::State::Failed),
        ("I8", "outcome", |it| it.run.outcome = Some(run::State::Failed)),
        ("I8", "outcome", |it| it.run.outcome = None),
        ("I15", "waits for messages", |it| (it.run.reports_open, it.reports_open) = (1, 1)),
    ];
    block_on(async {
        let mut world = bare_world().await;
        let script = "- run S a b:optional\n- cancel b\n- grant L x a\n- ack L\n- complete L ok";
        play(&mut world, script).await;
        each_is_found(&file(&world, "S").await, check_run, spoilt);
    });
}

#[test]
fn what_is_wrong_with_a_run_and_its_group_is_found() {
    let spoilt: &[Spoilt<RunFile>] = &[
        ("I25", "group: stored Some(\"other\")", |it| it.run.group = Some("other".into())),
        ("I25", "supersede: stored false", |it| it.run.supersede = false),
        ("I25", "is found in its group", |it| it.group = None),
        ("I25", "is found in its group", |it| group(it).id = GroupId([7; 32])),
        ("I25", "its group knows of None as the newest", |it| group(it).newest = None),
    ];
    block_on(async {
        let mut world = bare_world().await;
        play(&mut world, "- run G a group=main supersede=yes").await;
        each_is_found(&file(&world, "G").await, check_run, spoilt);
    });
}

async fn bare_world() -> World<Memory> {
    World::begin(InMemory::default().open().await, decisions::Policy::default()).await
}

async fn play(world: &mut World<Memory>, script: &str) {
    script::run(world, &InMemory::default(), script).await;
}

async fn file(world: &World<Memory>, name: &str) -> RunFile {
    world.run_file(world.run_named(name).unwrap()).await
}

fn named<'f>(file: &'f mut RunFile, name: &str) -> &'f mut Job {
    file.jobs.iter_mut().find(|job| job.name == name).expect("it is of the run")
}

fn every_job(file: &mut RunFile, state: job::State) {
    file.jobs.iter_mut().for_each(|job| job.state = state);
}

fn group(file: &mut RunFile) -> &mut decisions::records::Group {
    file.group.as_mut().expect("it is in one")
}
