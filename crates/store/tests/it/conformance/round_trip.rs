//! What is written is what is read: every field of every record, set and not set.

use std::sync::Arc;

use decisions::book::Kept;
use decisions::draft::Stated;
use decisions::failures::FailureClass;
use decisions::records::{
    Attempt, AttemptKey, Delivery, Execution, Job, Log, Outcome, Queue, Run, Runner, Sweep, Tenant, Token,
    Webhook, WebhookKey,
};
use decisions::{Ask, Changes};
use machines::{Machine, attempt, delivery, execution, job, lease, run, tenant};
use store::Store;
use wire::runner::CompleteStatus;
use wire::{JobId, MessageId, Time};

use crate::commands::{exec_id, job_id, run_id};
use crate::desk::Desk;
use crate::forged::{
    HARD, bare_attempt, bare_delivery, bare_execution, bare_job, bare_run, full_attempt, full_delivery,
    full_execution, full_job, full_log, full_run, full_runner, full_token, little_world, some_effect,
    some_queue, some_tenant, some_webhook,
};
use crate::stores::on_stores;

on_stores!(memory, sqlite, postgres => [
    every_record_survives_with_all_fields_set_and_with_none,
    every_record_survives_being_changed_back_and_forth,
    every_state_survives,
    times_survive_to_the_microsecond,
    a_deadline_that_never_comes_survives,
    effects_and_texts_survive,
    a_job_that_decisions_made_survives_with_its_timeout,
]);

/// Everything that `asks` can bring to be compared.
async fn read<S: Store, R: Kept>(desk: &Desk<S>, ask: Ask, key: &R::Key) -> R {
    let book = desk.book(std::slice::from_ref(&ask)).await;
    R::shelf(&book).peek(key).unwrap_or_else(|| panic!("{ask:?} does not bring it")).clone()
}

/// Writes over what `ask` brings, and reads it back.
async fn rewrite<S: Store, R: Kept + std::fmt::Debug>(desk: &Desk<S>, ask: Ask, record: R) {
    let mut changes = Changes::default();
    R::changed_mut(&mut changes).insert(record.key(), record.clone());
    desk.forge_after(std::slice::from_ref(&ask), changes)
        .await
        .unwrap_or_else(|error| panic!("{error}: {record:?}"));
    assert_eq!(read::<S, R>(desk, ask, &record.key()).await, record);
}

/// One of each kind with every field set, and one with none that may be missing.
struct Extremes {
    tenant: Tenant,
    queue: Queue,
    webhook: Webhook,
    runner: Runner,
    runs: [Run; 2],
    jobs: [Job; 2],
    attempts: [Attempt; 2],
    executions: [Execution; 2],
    deliveries: [Delivery; 2],
}

impl Extremes {
    fn make() -> Extremes {
        let tenant = some_tenant(1);
        let queue = some_queue(tenant.id);
        let full = Attempt { execution: Some(exec_id(1)), ..full_attempt(1, 100, queue.id) };
        let attempts = [full, bare_attempt(2, 1, queue.id)];
        Extremes {
            webhook: some_webhook(tenant.id),
            runner: full_runner(),
            runs: [full_run(1, tenant.id), bare_run(2, tenant.id)],
            jobs: [full_job(1, tenant.id, run_id(1), queue.id), bare_job(2, tenant.id, queue.id)],
            executions: [
                full_execution(1, attempts[0].key, 12, run_id(1)),
                bare_execution(2, attempts[1].key, 1),
            ],
            attempts,
            deliveries: [full_delivery(1, tenant.id, run_id(1)), bare_delivery(2, tenant.id)],
            tenant,
            queue,
        }
    }

    fn changes(&self) -> Changes {
        let mut changes = Changes::default();
        put(&mut changes, std::slice::from_ref(&self.tenant));
        put(&mut changes, std::slice::from_ref(&self.queue));
        put(&mut changes, std::slice::from_ref(&self.webhook));
        put(&mut changes, std::slice::from_ref(&self.runner));
        put(&mut changes, &self.runs);
        put(&mut changes, &self.jobs);
        put(&mut changes, &self.attempts);
        put(&mut changes, &self.executions);
        put(&mut changes, &self.deliveries);
        changes
    }
}

fn put<R: Kept>(changes: &mut Changes, records: &[R]) {
    R::changed_mut(changes).extend(records.iter().map(|record| (record.key(), record.clone())));
}

async fn every_record_survives_with_all_fields_set_and_with_none<S: Store>(desk: Desk<S>) {
    let written = Extremes::make();
    desk.forge(written.changes()).await.unwrap();
    let Extremes { tenant, queue, webhook, runner, runs, jobs, attempts, executions, deliveries } = written;

    assert_eq!(desk.store.tenants().await.unwrap(), std::slice::from_ref(&tenant));
    assert_eq!(desk.store.queues_named(vec![queue.id]).await.unwrap(), [queue]);
    assert_eq!(read::<S, Tenant>(&desk, Ask::Tenant(tenant.id), &tenant.id).await, tenant);
    assert_eq!(read::<S, Webhook>(&desk, Ask::Tenant(tenant.id), &webhook.key).await, webhook);
    assert_eq!(read::<S, Runner>(&desk, Ask::Runner(runner.key.clone()), &runner.key).await, runner);
    let files = desk.store.run_files_after(None, 9).await.unwrap();
    assert!(files.iter().map(|file| &file.run).eq(&runs));
    for index in [0, 1] {
        let (job, attempt, execution) = (&jobs[index], &attempts[index], &executions[index]);
        let file = desk.job(job.id).await;
        assert_eq!((&file.job, &file.attempts[..]), (job, std::slice::from_ref(attempt)));
        assert_eq!(file.executions, std::slice::from_ref(execution));
        let ask = Ask::Execution(execution.id);
        assert_eq!(read::<S, Job>(&desk, ask.clone(), &job.id).await, *job);
        assert_eq!(read::<S, Attempt>(&desk, ask.clone(), &attempt.key).await, *attempt);
        assert_eq!(read::<S, Execution>(&desk, ask, &execution.id).await, *execution);
        let (run, delivery) = (&runs[index], &deliveries[index]);
        assert_eq!(read::<S, Run>(&desk, Ask::Run(run.id), &run.id).await, *run);
        assert_eq!(read::<S, Delivery>(&desk, Ask::Delivery(delivery.id), &delivery.id).await, *delivery);
    }
    assert_eq!(desk.store.deliveries_after(None, 9).await.unwrap(), deliveries);
    let by_key = [Ask::JobKey(tenant.id, HARD.into()), Ask::Trigger(tenant.id, HARD.into())];
    let by_key = desk.book(&by_key).await;
    assert_eq!(by_key.job_keys.get(&(tenant.id, HARD.into())), Some(&job_id(1)));
    assert_eq!(by_key.triggers.get(&(tenant.id, HARD.into())), Some(&run_id(1)));
}

/// Only what may change after its birth: names, keys and the like are written once.
async fn every_record_survives_being_changed_back_and_forth<S: Store>(desk: Desk<S>) {
    let world = little_world();
    desk.forge(world.clone()).await.unwrap();
    let tenant = world.tenants.values().next().unwrap().clone();
    let (run, job) = (world.runs[&run_id(50)].clone(), world.jobs[&job_id(50)].clone());
    let key = AttemptKey { job: job.id, index: 1 };
    let (attempt, execution) = (world.attempts[&key].clone(), world.executions[&exec_id(50)].clone());
    let delivery = world.deliveries[&MessageId::from_u128(50)].clone();
    let full = Full::of(&run, &job, &attempt, &execution, &delivery);
    let webhook = |text: &str| Webhook {
        key: WebhookKey { tenant: tenant.id, name: "hook".into() },
        url: text.into(),
        events: vec![text.into()],
        secret: text.to_owned().into(),
        ordered: text.is_empty(),
        turns: text.len() as i64,
        removed: text.is_empty(),
    };
    for round in 0..2 {
        let ask = Ask::Execution(execution.id);
        rewrite(&desk, Ask::Run(run.id), if round == 0 { full.run.clone() } else { run.clone() }).await;
        rewrite(&desk, ask.clone(), if round == 0 { full.job.clone() } else { job.clone() }).await;
        rewrite(&desk, ask.clone(), if round == 0 { full.attempt.clone() } else { attempt.clone() }).await;
        rewrite(&desk, ask, if round == 0 { full.execution.clone() } else { execution.clone() }).await;
        let ask = Ask::Delivery(delivery.id);
        rewrite(&desk, ask, if round == 0 { full.delivery.clone() } else { delivery.clone() }).await;
        let (missed, barred) = if round == 0 { (0, None) } else { (9, Some(crate::forged::at(99))) };
        let capabilities = [vec![], vec![HARD.into()]][round].clone();
        let runner = Runner { capabilities, acks_missed: missed, barred_until: barred, ..full_runner() };
        rewrite(&desk, Ask::Runner(runner.key.clone()), runner).await;
        let state = Stated::stored([tenant::State::Deleting, tenant::State::Failed][round]);
        rewrite(
            &desk,
            Ask::Tenant(tenant.id),
            Tenant {
                state,
                status_message: ["", HARD][round].into(),
                desired_config: ["{}", HARD][round].into(),
                version: [1, 2][round],
                updated_at: crate::forged::at(55),
                ..tenant.clone()
            },
        )
        .await;
        rewrite(&desk, Ask::Tenant(tenant.id), webhook(["", HARD][round])).await;
        let token = full_token(50, tenant.id);
        let revoked_at = [None, token.revoked_at][round];
        rewrite(&desk, Ask::Token(token.id), Token { revoked_at, ..token }).await;
        let empty = Log { received: 0, head: 0, tail_from: 0, ..full_log(50) };
        rewrite(&desk, Ask::Log(empty.execution), [empty, full_log(50)][round]).await;
    }
}

/// The same records with every field that may change set to something else.
struct Full {
    run: Run,
    job: Job,
    attempt: Attempt,
    execution: Execution,
    delivery: Delivery,
}

impl Full {
    fn of(run: &Run, job: &Job, attempt: &Attempt, execution: &Execution, delivery: &Delivery) -> Full {
        let full = full_run(50, run.tenant);
        Full {
            run: Run {
                attempt: run.attempt,
                rerun_of: run.rerun_of,
                trigger_key: run.trigger_key.clone(),
                repository: run.repository.clone(),
                git_ref: run.git_ref.clone(),
                commit: run.commit.clone(),
                base: run.base.clone(),
                fail_fast: run.fail_fast,
                trust: run.trust,
                created_at: run.created_at,
                ..full
            },
            job: Job {
                state: job::State::Failed,
                attempts_max: 9,
                tokens: 4,
                needs_open: 5,
                counted_failed: true,
                releasing: true,
                released_to: Some(JobId::from_u128(3)),
                free_at: Some(crate::forged::at(46)),
                updated_at: crate::forged::at(44),
                ..job.clone()
            },
            attempt: Attempt {
                queue: attempt.queue,
                priority: attempt.priority,
                since: attempt.since,
                created_at: attempt.created_at,
                execution: Some(execution.id),
                ..full_attempt(50, 1, attempt.queue)
            },
            execution: Execution {
                run: execution.run,
                runner: execution.runner.clone(),
                runner_shared: execution.runner_shared,
                granted_at: execution.granted_at,
                ..full_execution(50, execution.attempt, 1, run.id)
            },
            delivery: Delivery {
                lane: delivery.lane.clone(),
                turn: delivery.turn,
                event: delivery.event.clone(),
                subject: delivery.subject.clone(),
                url: delivery.url.clone(),
                body: delivery.body.clone(),
                created_at: delivery.created_at,
                ..full_delivery(50, delivery.tenant, run.id)
            },
        }
    }
}

async fn every_state_survives<S: Store>(desk: Desk<S>) {
    let world = little_world();
    desk.forge(world.clone()).await.unwrap();
    let family = Ask::Execution(exec_id(50));
    let tenant = world.tenants.values().next().unwrap().clone();
    for state in tenant::State::STATES {
        let moved = Tenant { state: Stated::stored(*state), ..tenant.clone() };
        rewrite(&desk, Ask::Tenant(tenant.id), moved).await;
    }
    let run = world.runs[&run_id(50)].clone();
    for (index, state) in run::State::STATES.iter().enumerate() {
        let ended = [run::State::Success, run::State::Failed, run::State::Canceled, run::State::Timeout];
        let sweep = Sweep::ALL.get(index).copied();
        let moved =
            Run { state: Stated::stored(*state), outcome: ended.get(index).copied(), sweep, ..run.clone() };
        rewrite(&desk, Ask::Run(run.id), moved).await;
    }
    let job = world.jobs[&job_id(50)].clone();
    for state in job::State::STATES {
        rewrite(&desk, family.clone(), Job { state: *state, ..job.clone() }).await;
    }
    let attempt = world.attempts.values().next().unwrap().clone();
    for (index, state) in attempt::State::STATES.iter().enumerate() {
        let failure_class = FailureClass::ALL.get(index).copied();
        let moved = Attempt { state: Stated::stored(*state), failure_class, ..attempt.clone() };
        rewrite(&desk, family.clone(), moved).await;
    }
    let execution = world.executions[&exec_id(50)].clone();
    for lease in lease::State::STATES {
        for (status, complete) in execution::State::STATES.iter().zip(OUTCOMES.iter().cycle()) {
            let outcome = complete.map(|(status, exit_code)| Outcome { status, exit_code });
            let finished_at = (!lease.is_live()).then_some(crate::forged::at(3));
            let (lease, status) = (Stated::stored(*lease), Stated::stored(*status));
            let moved = Execution { lease, status, outcome, finished_at, ..execution.clone() };
            rewrite(&desk, family.clone(), moved).await;
        }
    }
    let delivery = world.deliveries.values().next().unwrap().clone();
    for state in delivery::State::STATES {
        let moved = Delivery { state: Stated::stored(*state), ..delivery.clone() };
        rewrite(&desk, Ask::Delivery(delivery.id), moved).await;
    }
}

const OUTCOMES: [Option<(CompleteStatus, i32)>; 4] = [
    Some((CompleteStatus::Succeeded, 0)),
    Some((CompleteStatus::Failed, i32::MAX)),
    None,
    Some((CompleteStatus::Failed, -1)),
];

async fn times_survive_to_the_microsecond<S: Store>(desk: Desk<S>) {
    desk.forge(little_world()).await.unwrap();
    let run = desk.run(run_id(50)).await;
    let second = 1_000_000;
    for micros in [
        0,
        1,
        -1,
        999_999,
        -999_999,
        1_767_513_600 * second + 1,
        -2_208_988_800 * second,
        253_402_207_199 * second,
    ] {
        let time = Time::from_micros(micros);
        rewrite(&desk, Ask::Run(run.id), Run { due_at: Some(time), updated_at: time, ..run.clone() }).await;
    }
}

/// `Time::plus` holds at the last moment there is.
async fn a_deadline_that_never_comes_survives<S: Store>(desk: Desk<S>) {
    desk.forge(little_world()).await.unwrap();
    let run = desk.run(run_id(50)).await;
    let never = Some(Time::from_micros(i64::MAX));
    rewrite(&desk, Ask::Run(run.id), Run { due_at: never, ..run }).await;
    assert!(desk.store.due(desk.now(), 9).await.unwrap().runs.is_empty());
}

async fn effects_and_texts_survive<S: Store>(desk: Desk<S>) {
    let mut world = little_world();
    let execution = world.executions[&exec_id(50)].clone();
    let effects = vec![some_effect(&execution, 0, "result"), some_effect(&execution, 1, "webhook")];
    let long = "ü".repeat(256 * 1024);
    world.appended.effects = effects.clone();
    world.appended.specs = vec![(job_id(50), Arc::from(long.as_str()))];
    world.appended.plans = vec![(run_id(50), Arc::from(HARD))];
    desk.forge(world).await.unwrap();
    assert_eq!(desk.job(job_id(50)).await.effects, effects);
    let book = desk.book(&[Ask::Spec(job_id(50)), Ask::Plan(run_id(50))]).await;
    assert!(*book.specs[&job_id(50)] == *long, "a long text comes back whole");
    assert_eq!(&*book.plans[&run_id(50)], HARD);
}

/// Timeouts may be given with any fraction of a second; what the runner is told is what is stored.
async fn a_job_that_decisions_made_survives_with_its_timeout<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    for (number, seconds) in [(1, 0.000001), (2, 0.1), (3, 1.0 / 3.0), (4, 1234.5678912), (5, 1e8), (6, 1e-9)]
    {
        let mut command = crate::commands::submit(number);
        command.timeout_seconds = Some(seconds);
        let prepared = desk.prepare([command]).await.unwrap();
        let decided = prepared.loaded.book.jobs.peek(&job_id(number)).cloned();
        desk.finish(prepared).await.unwrap();
        assert_eq!(decided, Some(desk.job(job_id(number)).await.job), "{seconds} s");
    }
}
