//! The engine: many callers, few commits, an answer only after the commit, and an end that leaves nobody waiting.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use decisions::jobs::SubmitJob;
use decisions::leases::{Heartbeat, Lease, Wanted};
use decisions::records::{PlanJob, Queue, Trust};
use decisions::runs::{CancelRun, CreateRun, RunOrigin};
use decisions::tenants::EnsureTenant;
use decisions::{Answer, Ask, Book, Command, Policy};
use serde_json::value::RawValue;
use server::perform::{Failure, Unavailable, WAITING_MAX};
use server::ticks::{ROUND_MAX, Round, Rounds};
use server::{Clock, Engine, Mint, ticks};
use store::{Memory, Store};
use wire::{ExecId, LeaseId, RunId, RunnerId, TenantId};

use crate::script::block_on;
use crate::watched::Watched;

type Watch = Watched<Memory>;
type Call<'a> = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + 'a>>;

const TENANT: TenantId = TenantId::FIRST;

fn start(watched: Watch, policy: Policy) -> Engine<Watch> {
    Engine::start(Arc::new(watched), Clock::start(), policy)
}

/// An engine with a tenant, whose next save is held up.
async fn start_held() -> Engine<Watch> {
    let engine = start(Watched::held(Memory::default()), Policy::default());
    engine.store().release_one();
    engine.perform(EnsureTenant { id: TENANT, name: "default".into() }).await.unwrap();
    engine.store().save_waits().await;
    engine
}

async fn start_open(policy: Policy) -> Engine<Watch> {
    let engine = start(Watched::open(Memory::default()), policy);
    engine.perform(EnsureTenant { id: TENANT, name: "default".into() }).await.unwrap();
    engine
}

fn submit(engine: &Engine<Watch>) -> SubmitJob {
    SubmitJob {
        id: Mint.job(engine.clock().now()),
        tenant: TENANT,
        key: None,
        payload: RawValue::from_string("{}".into()).unwrap(),
        runs_on: Vec::new(),
        priority: 0,
        attempts_max: None,
        timeout_seconds: None,
        effect_once: false,
    }
}

/// Some runner asks for any job.
fn lease(engine: &Engine<Watch>, runner: &str) -> Lease {
    let execution = Mint.execution(engine.clock().now());
    Lease {
        runner: RunnerId::parse(runner).unwrap(),
        tenant: None,
        capabilities: vec![],
        wanted: Wanted::Any(vec![Queue::for_requirements(TENANT, &[]).id]),
        execution,
        lease: Mint.lease(execution),
    }
}

/// A command that is refused, whatever is stored.
fn stray() -> Heartbeat {
    let lease = LeaseId::minted(ExecId::FIRST, [7; 32]).key();
    Heartbeat { lease, runner: RunnerId::parse("nobody").unwrap(), phase: None }
}

fn call(engine: &Engine<Watch>, command: impl Into<Command>) -> Call<'_> {
    let command = command.into();
    Box::pin(engine.perform(command))
}

/// Lets a call go as far as it gets by itself.
async fn nudge(call: &mut Call<'_>) -> Poll<Result<Answer, Failure>> {
    poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await
}

/// Puts calls into the engine's queue; none of them is answered yet.
async fn queued<'a>(engine: &'a Engine<Watch>, count: usize) -> Vec<Call<'a>> {
    let mut calls = Vec::new();
    for _ in 0..count {
        let mut call = call(engine, submit(engine));
        assert!(nudge(&mut call).await.is_pending(), "it was answered before its commit");
        calls.push(call);
    }
    calls
}

async fn jobs_stored(engine: &Engine<Watch>) -> usize {
    engine.store().job_files_after(None, 10_000).await.unwrap().len()
}

#[test]
fn what_arrives_during_a_save_shares_the_next_one() {
    block_on(async {
        let engine = start_held().await;
        let mut first = queued(&engine, 1).await;
        engine.store().save_waits().await;
        let rest = queued(&engine, 300).await;
        let before = engine.store().saves();
        engine.store().release();
        first.remove(0).await.unwrap();
        for call in rest {
            call.await.unwrap();
        }
        assert_eq!(engine.store().saves() - before, 2, "301 commands");
        assert_eq!(jobs_stored(&engine).await, 301);
    });
}

#[test]
fn the_answer_comes_after_the_commit() {
    block_on(async {
        let engine = start_held().await;
        let mut calls = queued(&engine, 1).await;
        engine.store().save_waits().await;
        assert!(nudge(&mut calls[0]).await.is_pending());
        assert_eq!(jobs_stored(&engine).await, 0);
        engine.store().release_one();
        calls.remove(0).await.unwrap();
        assert_eq!(jobs_stored(&engine).await, 1);
    });
}

#[test]
fn stopping_answers_what_was_taken_in() {
    block_on(async {
        let engine = start_held().await;
        let mut calls = queued(&engine, 1).await;
        engine.store().save_waits().await;
        calls.extend(queued(&engine, 20).await);
        let stopping = tokio::spawn({
            let engine = engine.clone();
            async move { engine.stop().await }
        });
        tokio::task::yield_now().await; // the stop is asked for
        assert!(!stopping.is_finished(), "a save is still waiting");
        engine.store().release();
        stopping.await.unwrap();
        for call in calls {
            call.await.unwrap();
        }
        assert_eq!(jobs_stored(&engine).await, 21);
        let late = engine.perform(submit(&engine)).await;
        assert_eq!(late, Err(Failure::Unavailable(Unavailable::Stopping)));
    });
}

/// Otherwise callers that come in quick succession keep a server from ever ending.
#[test]
fn nothing_new_is_taken_in_once_a_stop_was_asked_for() {
    block_on(async {
        let engine = start_held().await;
        let calls = queued(&engine, 1).await;
        engine.store().save_waits().await;
        let stopping = tokio::spawn({
            let engine = engine.clone();
            async move { engine.stop().await }
        });
        tokio::task::yield_now().await; // the stop is asked for
        let mut late = call(&engine, submit(&engine));
        let refused = nudge(&mut late).await;
        engine.store().release();
        stopping.await.unwrap();
        for call in calls {
            call.await.unwrap();
        }
        assert!(matches!(refused, Poll::Ready(Err(Failure::Unavailable(_)))), "{refused:?}");
    });
}

#[test]
fn a_caller_beyond_the_queue_is_sent_away_at_once() {
    block_on(async {
        let engine = start_held().await;
        let first = queued(&engine, 1).await;
        engine.store().save_waits().await;
        let mut calls = Vec::new();
        for _ in 0..WAITING_MAX {
            let mut call = call(&engine, stray());
            assert!(nudge(&mut call).await.is_pending());
            calls.push(call);
        }
        let answer = engine.perform(submit(&engine)).await;
        assert_eq!(answer, Err(Failure::Busy));
        engine.store().release();
        for call in first {
            call.await.unwrap();
        }
        for call in calls {
            assert!(matches!(call.await, Err(Failure::Refused(_))));
        }
        assert_eq!(jobs_stored(&engine).await, 1, "who was sent away left nothing behind");
    });
}

fn is_cursed(book: &Book) -> bool {
    book.jobs.writes().any(|(_, job)| job.key.as_deref() == Some("cursed"))
}

#[test]
fn a_command_that_breaks_a_constraint_fails_alone() {
    block_on(async {
        let watched = Watched::held(Memory::default()).refusing(is_cursed);
        let engine = start(watched, Policy::default());
        engine.store().release_one();
        engine.perform(EnsureTenant { id: TENANT, name: "default".into() }).await.unwrap();
        engine.store().save_waits().await;
        let first = queued(&engine, 1).await;
        engine.store().save_waits().await;
        let mut innocent = queued(&engine, 20).await;
        let mut guilty = call(&engine, SubmitJob { key: Some("cursed".into()), ..submit(&engine) });
        assert!(nudge(&mut guilty).await.is_pending());
        innocent.extend(queued(&engine, 20).await);
        let before = engine.store().saves();
        engine.store().release();
        for call in first.into_iter().chain(innocent) {
            call.await.unwrap();
        }
        assert_eq!(guilty.await, Err(Failure::Bug("guilty".into())));
        assert_eq!(jobs_stored(&engine).await, 41);
        let saves = engine.store().saves() - before;
        assert!(saves <= 14, "halving finds one in 41 after six splits, not after {saves} saves");
    });
}

fn plan(count: usize) -> Vec<PlanJob> {
    let job = |number| serde_json::json!({ "name": format!("job-{number}"), "spec": {} });
    (0..count).map(|number| serde_json::from_value(job(number)).unwrap()).collect()
}

#[test]
fn work_in_chunks_goes_on_without_a_tick() {
    block_on(async {
        let engine = start_open(Policy::default()).await;
        let id = Mint.run(engine.clock().now());
        let create = CreateRun {
            id,
            tenant: TENANT,
            trigger_key: None,
            origin: RunOrigin::default(),
            trust: Trust::default(),
            fail_fast: false,
            plan: Some(plan(260).into()),
        };
        engine.perform(create).await.unwrap();
        let cancel = CancelRun { tenant: TENANT, run: id, reason: "enough".into() };
        assert_eq!(engine.perform(cancel).await, Ok(Answer::CancelTaken { over: false }));
        engine.stop().await;
        let run = engine.store().run(id).await.unwrap().unwrap();
        assert_eq!((run.jobs_open, run.outcome), (0, Some(machines::run::State::Canceled)));
    });
}

#[test]
fn a_round_of_ticks_performs_what_is_due() {
    block_on(async {
        let engine = start_open(Policy { ack_timeout: Duration::ZERO, ..Policy::default() }).await;
        let job = submit(&engine);
        engine.perform(job.clone()).await.unwrap();
        assert!(matches!(engine.perform(lease(&engine, "a")).await, Ok(Answer::Granted(_))));
        assert_eq!(ticks::round(&engine).await, Ok(1));
        assert_eq!(ticks::round(&engine).await, Ok(0));
        let file = engine.store().job_file(job.id).await.unwrap().unwrap();
        assert_eq!(file.executions[0].lease.get(), machines::lease::State::Revoked);
        assert_eq!(file.ready.len(), 1);
    });
}

/// Runs with these ids cannot be read by a tick.
const POISON: u128 = ROUND_MAX as u128;

fn is_poison(asks: &[Ask]) -> bool {
    let is_tick = !asks.iter().any(|ask| matches!(ask, Ask::Tenant(_)));
    is_tick && asks.iter().any(|ask| matches!(ask, Ask::Run(id) if id.as_u128() <= POISON))
}

/// What always fails stands at the head of the line, and there is more behind it than one round takes.
#[test]
fn what_always_fails_does_not_keep_what_is_due_behind_it_from_its_turn() {
    block_on(async {
        let policy = Policy { plan_timeout: Duration::ZERO, ..Policy::default() };
        let watched = Watched::open(Memory::default()).damaged(is_poison);
        let engine = start(watched, policy);
        engine.perform(EnsureTenant { id: TENANT, name: "default".into() }).await.unwrap();
        let backlog = POISON + ROUND_MAX as u128 + 10;
        for id in 1..=backlog {
            let create = CreateRun {
                id: RunId::from_u128(id),
                tenant: TENANT,
                trigger_key: None,
                origin: RunOrigin::default(),
                trust: Trust::default(),
                fail_fast: false,
                plan: None,
            };
            engine.perform(create).await.unwrap();
        }
        let mut rounds = Rounds::default();
        assert_eq!(rounds.round(&engine).await, Ok(Round { moved: 0, is_full: true }));
        assert_eq!(rounds.round(&engine).await, Ok(Round { moved: ROUND_MAX, is_full: true }));
        assert_eq!(rounds.round(&engine).await, Ok(Round { moved: 10, is_full: false }));
        assert_eq!(rounds.round(&engine).await, Ok(Round { moved: 0, is_full: false }));
    });
}

/// A runner whose connection breaks while it waits for work: the job must not idle, nor the runner be barred for it.
#[test]
fn a_lease_granted_to_a_caller_who_has_gone_is_taken_back_uncharged() {
    block_on(async {
        for answered in [false, true] {
            let engine = start_held().await;
            let mut hints = engine.hints();
            let submitted = queued(&engine, 1).await;
            engine.store().save_waits().await;
            let mut leasing = call(&engine, lease(&engine, "unlucky"));
            engine.store().release_one();
            for call in submitted {
                call.await.unwrap();
            }
            assert!(nudge(&mut leasing).await.is_pending());
            engine.store().save_waits().await;
            if answered {
                let mut commits = engine.committed();
                engine.store().release_one();
                commits.changed().await.unwrap(); // the answer is there, and nobody has heard it
                drop(leasing);
                engine.store().release();
            } else {
                drop(leasing);
                engine.store().release();
            }
            let ready = decisions::Hint::Ready(Queue::for_requirements(TENANT, &[]).id);
            assert_eq!(hints.recv().await, Ok(ready), "submitted");
            assert_eq!(hints.recv().await, Ok(ready), "taken back");
            let again = engine.perform(lease(&engine, "lucky")).await;
            assert!(matches!(again, Ok(Answer::Granted(_))), "{again:?}");
            let runners = engine.store().runners_of(None, None, 10).await.unwrap();
            let unlucky = runners.iter().find(|runner| runner.key.id.as_str() == "unlucky").unwrap();
            assert_eq!((unlucky.acks_missed, unlucky.barred_until), (0, None));
        }
    });
}

#[test]
fn whoever_waits_for_work_is_woken_after_the_commit() {
    block_on(async {
        let engine = start_held().await;
        let mut hints = engine.hints();
        let calls = queued(&engine, 1).await;
        engine.store().save_waits().await;
        assert!(hints.try_recv().is_err(), "nothing is durable yet");
        engine.store().release_one();
        for call in calls {
            call.await.unwrap();
        }
        let ready = decisions::Hint::Ready(Queue::for_requirements(TENANT, &[]).id);
        assert_eq!(hints.recv().await, Ok(ready));
    });
}

/// A tick that meets it again and again harms nobody else.
#[test]
fn a_row_that_cannot_be_read_fails_only_who_asks_for_it() {
    block_on(async {
        let damaged = |asks: &[Ask]| asks.contains(&Ask::Execution(ExecId::FIRST));
        let engine = start(Watched::held(Memory::default()).damaged(damaged), Policy::default());
        engine.store().release_one();
        engine.perform(EnsureTenant { id: TENANT, name: "default".into() }).await.unwrap();
        engine.store().save_waits().await;
        // One is being saved; the next batch has all of the others.
        let mut first = call(&engine, submit(&engine));
        assert!(nudge(&mut first).await.is_pending());
        engine.store().save_waits().await;
        let mut calls =
            [call(&engine, submit(&engine)), call(&engine, stray()), call(&engine, submit(&engine))];
        for call in &mut calls {
            assert!(nudge(call).await.is_pending());
        }
        engine.store().release();
        let [before, guilty, after] = calls;
        assert!(before.await.is_ok() && after.await.is_ok());
        let guilty = guilty.await;
        assert!(matches!(&guilty, Err(Failure::Bug(what)) if what == "damaged"), "{guilty:?}");
        first.await.unwrap();
    });
}

/// Nobody is told that it works when it does not, and whoever supervises it hears of it.
#[test]
fn an_engine_that_a_mistake_ends_says_so() {
    block_on(async {
        let panicking = Watched::open(Memory::default()).refusing(|book| {
            assert!(book.jobs.peek_all().next().is_none(), "a store's own mistake");
            false
        });
        let engine = start(panicking, Policy::default());
        engine.perform(EnsureTenant { id: TENANT, name: "default".into() }).await.unwrap();
        assert_eq!(engine.cannot_write(), None);
        let unheard = engine.perform(submit(&engine)).await;
        assert!(matches!(unheard, Err(Failure::Unknown(_))), "{unheard:?}");
        let told = engine.cannot_write().expect("it cannot");
        assert!(told.contains("mistake of ours"), "{told}");
        assert!(matches!(engine.perform(stray()).await, Err(Failure::Unavailable(_))));
        engine.stop().await;
    });
}
