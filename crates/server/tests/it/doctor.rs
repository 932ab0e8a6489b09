//! The doctor finds what is wrong: sound records, each spoilt in one way.

mod blobs;
mod live;
mod report;
mod runs;

use decisions::doctor::{Finding, JobFile, Logged, StepsFile, check_delivery, check_job, check_steps};
use decisions::draft::Stated;
use decisions::records::{Delivery, EffectRow};
use machines::{attempt, delivery, execution, job, lease};
use store::{Memory, Store};
use wire::{ExecId, Time};

use crate::script::{block_on, run};
use crate::stores::{InMemory, Place};
use crate::world::{BEGIN, World};

/// A run in the middle: `a` succeeded after a lost lease and failed once before, `b` runs, `c` needs both, `d` waits in its
/// queue; a subscriber was told of `a`, and not yet of a second run's end, which timed out.
const STORY: &str = "
    0s   webhook ci job.finished run.finished
    0s   run R a b c:needs=a+b d
    0s   grant L1 x a
    0s   ack L1
    121s tick
    121s grant L2 x a
    121s ack L2
    122s complete L2 fail connection reset by peer
    122s grant L3 x a
    122s ack L3
    123s commit L3 effects=1
    123s complete L3 ok
    124s grant L4 x b
    124s ack L4
    124s tick
";

async fn world() -> World<Memory> {
    let place = InMemory::default();
    let mut world = World::begin(place.open().await, decisions::Policy::default()).await;
    run(&mut world, &place, STORY).await;
    world
}

type Spoilt<F> = (&'static str, &'static str, fn(&mut F));

/// Each must be found, under its number and with these words; unspoilt, nothing is.
fn each_is_found<F: Clone>(file: &F, check: impl Fn(&F) -> Vec<Finding>, spoilt: &[Spoilt<F>]) {
    assert_eq!(check(file), [], "sound");
    for (invariant, words, spoil) in spoilt {
        let mut file = file.clone();
        spoil(&mut file);
        let found = check(&file);
        let named = found.iter().any(|it| it.invariant == *invariant && it.problem.contains(words));
        assert!(named, "{invariant} {words}: {found:#?}");
    }
}

const LATE: Time = Time::from_micros(i64::MAX);

#[test]
fn what_is_wrong_with_a_job_is_found() {
    let spoilt: &[Spoilt<JobFile>] = &[
        ("I8", "state:", |it| it.job.state = job::State::Pending),
        ("I8", "no attempt", |it| it.attempts.clear()),
        ("I7", "attempts:", |it| it.job.attempts += 1),
        ("I7", "tokens:", |it| it.job.tokens += 1),
        ("I7", "attempt index", |it| it.attempts[1].key.index = 7),
        ("I11", "is open, but a later one", |it| {
            it.attempts[0].state = Stated::stored(attempt::State::Queued)
        }),
        ("I11", "succeeded, but a later one", |it| {
            it.attempts[0].state = Stated::stored(attempt::State::Succeeded);
        }),
        ("I11", "2 attempts of 1", |it| it.job.attempts_max = 1),
        ("I4", "more than one execution has committed", |it| {
            it.executions[0].status = Stated::stored(execution::State::Committed);
        }),
        ("I2", "more than one lease is live", |it| {
            it.executions.iter_mut().for_each(|it| it.lease = Stated::stored(lease::State::Active));
        }),
        ("I2", "token", |it| it.executions[1].token = 9),
        ("I9", "a live lease has a deadline", |it| it.executions[2].due_at = Some(BEGIN)),
        ("I2", "has not finished", |it| it.executions[2].finished_at = None),
        ("I1", "disagree about its end", |it| {
            it.executions[0].status = Stated::stored(execution::State::InProgress);
        }),
        ("I4", "which has not committed", |it| it.effects[0].execution = ExecId::FIRST),
        ("I9", "free_at", |it| it.job.free_at = Some(BEGIN)),
        ("I4", "succeeded by a commit", |it| {
            it.executions[2].status = Stated::stored(execution::State::Aborted)
        }),
        ("I27", "queue entries", |it| it.ready.extend(it.attempts[1].ready_key().or(Some(some_place(it))))),
        ("I26", "may be reused", |it| it.job.reusable = true),
        ("I1", "has no row", |it| it.events[1].event = "Succeed".into()),
        ("I1", "leaves", |it| drop(it.events.remove(2))),
        ("I8", "the log leads to", |it| drop(it.events.pop())),
        ("I8", "entities", |it| {
            it.executions.remove(0);
            it.executions.iter_mut().for_each(|it| it.token -= 1);
        }),
    ];
    block_on(async {
        let world = world().await;
        each_is_found(&world.job_file(world.job_named("a").unwrap()).await, check_job, spoilt);
    });
}

fn some_place(file: &JobFile) -> decisions::records::ReadyKey {
    let mut queued = file.attempts[1].clone();
    queued.state = Stated::stored(attempt::State::Queued);
    queued.ready_key().expect("it is queued")
}

#[test]
fn what_is_wrong_with_a_job_at_work_or_in_its_queue_is_found() {
    let at_work: &[Spoilt<JobFile>] = &[
        ("I9", "looked at after its deadline", |it| it.executions[0].due_at = Some(LATE)),
        ("I9", "a live lease has a deadline", |it| it.executions[0].due_at = None),
        ("I2", "the latest attempt is leased", |it| {
            it.attempts[0].state = Stated::stored(attempt::State::Created);
        }),
        ("I2", "the lease is the latest attempt's", |it| it.attempts[0].execution = Some(ExecId::FIRST)),
        ("I1", "unacknowledged", |it| it.attempts[0].state = Stated::stored(attempt::State::Leased)),
    ];
    let queued: &[Spoilt<JobFile>] = &[
        ("I27", "queue entries", |it| it.ready.clear()),
        ("I9", "waits for nothing", |it| {
            it.attempts[0].state = Stated::stored(attempt::State::Created);
            it.ready.clear();
        }),
        ("I4", "which has not committed", |it| {
            let (job, execution) = (it.job.id, ExecId::FIRST);
            it.effects.push(EffectRow { job, execution, position: 0, kind: "result", body: "{}".into() });
        }),
    ];
    block_on(async {
        let world = world().await;
        each_is_found(&world.job_file(world.job_named("b").unwrap()).await, check_job, at_work);
        each_is_found(&world.job_file(world.job_named("d").unwrap()).await, check_job, queued);
    });
}

#[test]
fn what_is_wrong_with_a_delivery_is_found() {
    let waiting: &[Spoilt<Delivery>] = &[
        ("I15", "is due", |it| it.due_at = None),
        ("I15", "has delivered_at", |it| it.delivered_at = Some(BEGIN)),
        ("I15", "has delivered_at", |it| it.state = Stated::stored(delivery::State::Delivered)),
    ];
    block_on(async {
        let world = world().await;
        let all = world.deliveries().await;
        each_is_found(&all[0], check_delivery, waiting);
    });
}

#[test]
fn what_does_not_follow_from_the_log_is_found() {
    let spoilt: &[Spoilt<StepsFile>] = &[
        ("I8", "the log leads to", |it| it.state = "no state".into()),
        ("I8", "nothing", |it| it.events.clear()),
        ("I1", "no machine is called", |it| it.events[0].machine = "none".into()),
        ("I1", "has no row", |it| it.events[0].event = "Deliver".into()),
    ];
    block_on(async {
        let world = world().await;
        for of in [Logged::Tenants, Logged::Deliveries] {
            let files = world.store.steps_files_after(of, None, 10).await.unwrap();
            each_is_found(&files[0], |it| check_steps(of, it), spoilt);
        }
    });
}
