//! A server that starts goes on in the time of its records; in another boot of the machine, ticks leave leases alone at first.

use std::sync::Arc;
use std::time::Duration;

use decisions::jobs::SubmitJob;
use decisions::leases::{Ack, Lease, Wanted};
use decisions::tenants::EnsureTenant;
use decisions::{Answer, Policy};
use serde_json::value::RawValue;
use server::clock::{Clock, Reading};
use server::serve::Duty;
use server::{Engine, Mint, resume, ticks};
use store::{Anchor, Kept, Memory, Sqlite, Store, Timekeeping};
use wire::{ExecId, LeaseId, RunnerId, TenantId};

use crate::script::block_on;

const HOUR: Duration = Duration::from_secs(3600);
const TTL: Duration = Duration::from_secs(120);

async fn kept<S: Store>(store: &S) -> Kept {
    match store.timekeeping().await.unwrap() {
        Timekeeping::Process(kept) => kept,
        Timekeeping::Database { now } => panic!("a clock of its own, at {now}"),
    }
}

#[test]
fn the_next_start_goes_on_in_the_time_of_the_one_before() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deltaci.db");
        let first = resume::clock(&Sqlite::open(&path).unwrap(), TTL, Duty::All).await.unwrap();
        assert_eq!(first.leases_end_after(), None);
        // As if the first had begun when the wall clock was an hour ahead.
        let store = Sqlite::open(&path).unwrap();
        let found = kept(&store).await.anchor.expect("it was kept");
        let ahead = Anchor { epoch: found.epoch.plus(HOUR), ..found.clone() };
        store.keep_anchor(Some(&found), &ahead).await.unwrap();
        let second = resume::clock(&Sqlite::open(&path).unwrap(), TTL, Duty::All).await.unwrap();
        assert_eq!(second.at(Duration::ZERO), first.at(Duration::ZERO).plus(HOUR));
        assert_eq!(kept(&store).await.anchor, Some(ahead));
    });
}

#[test]
fn who_only_answers_keeps_nothing() {
    block_on(async {
        let store = Memory::default();
        resume::clock(&store, TTL, Duty::AnswerOnly).await.unwrap();
        assert_eq!(kept(&store).await.anchor, None);
    });
}

/// A job under a lease, as far as the records go.
async fn leased(engine: &Engine<Memory>) {
    let (tenant, runner) = (TenantId::FIRST, RunnerId::parse("far-away").unwrap());
    engine.perform(EnsureTenant { id: tenant, name: "default".into() }).await.unwrap();
    let submit = SubmitJob {
        id: Mint.job(engine.clock().now()),
        tenant,
        key: None,
        payload: RawValue::from_string("{}".into()).unwrap(),
        runs_on: Vec::new(),
        priority: 0,
        attempts_max: None,
        timeout_seconds: None,
        effect_once: false,
    };
    let wanted = Wanted::Job(submit.id);
    engine.perform(submit).await.unwrap();
    let (execution, lease) = (ExecId::FIRST, LeaseId::minted(ExecId::FIRST, [7; 32]));
    let ack = Ack { lease: lease.key(), runner: runner.clone() };
    let capabilities = Vec::new();
    engine.perform(Lease { runner, tenant: None, capabilities, wanted, execution, lease }).await.unwrap();
    let acked = engine.perform(ack).await;
    assert!(matches!(acked, Ok(Answer::Acked { .. })), "{acked:?}");
}

/// The clock of a server that starts in another boot, by a wall clock that was put forward, so long after the start.
async fn elsewhere(store: &Memory, past: Duration) -> Clock {
    let now = Reading::take();
    let at_start =
        Reading { wall: now.wall.plus(HOUR), uptime: now.uptime - past, boot: Some("another".into()) };
    let time = Timekeeping::Process(kept(store).await);
    Clock::resume(&at_start, &time, TTL).0
}

#[test]
fn in_another_boot_no_tick_ends_a_lease_before_its_runner_has_stopped() {
    block_on(async {
        let policy = Policy { lease_ttl: TTL, ..Policy::default() };
        let store = Arc::new(Memory::default());
        leased(&Engine::start(store.clone(), Clock::start(), policy.clone())).await;
        let ended = async |clock: Clock| {
            let engine = Engine::start(store.clone(), clock, policy.clone());
            ticks::round(&engine).await.unwrap()
        };
        for past in [Duration::ZERO, TTL / 2] {
            assert_eq!(ended(elsewhere(&store, past).await).await, 0, "{past:?} after the start");
        }
        let waits = elsewhere(&store, Duration::ZERO).await;
        assert!(waits.now() > kept(&*store).await.leases_until.expect("a lease"), "it is over by this clock");
        assert_eq!(ended(elsewhere(&store, TTL).await).await, 1);
    });
}
