//! An engine with its ticks and its outbox, and a tenant whose jobs end at once.

use std::sync::Arc;
use std::time::Duration;

use decisions::jobs::{CancelJob, SubmitJob};
use decisions::records::{Delivery, PlanJob, Trust};
use decisions::runs::{CancelRun, CreateRun, RunOrigin};
use decisions::tenants::{EnsureTenant, PutWebhook};
use decisions::{Answer, Command, Policy};
use serde_json::value::RawValue;
use server::outbox::{Outbox, Rules};
use server::{Clock, Engine, Mint, ticks};
use store::Store;
use tokio::task::JoinHandle;
use wire::{JobId, RunId, TenantId};

pub const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Far beyond what any of these takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Rig<S> {
    pub engine: Engine<S>,
    pub outbox: Outbox,
    pub tenant: TenantId,
    ticking: JoinHandle<()>,
}

/// Tries follow each other quickly.
pub fn hasty() -> Policy {
    Policy { delivery_backoff_first: Duration::from_millis(10), ..Policy::default() }
}

impl<S: Store> Rig<S> {
    pub async fn start(store: Arc<S>, policy: Policy) -> Rig<S> {
        let engine = Engine::start(store, Clock::start(), policy);
        let ensure = EnsureTenant { id: Mint.tenant(engine.clock().now()), name: "default".into() };
        let Ok(Answer::TenantReady(tenant)) = engine.perform(ensure).await else { panic!("no tenant") };
        let rules = Rules { nats: None, allow_private: true };
        let outbox = Outbox::start(engine.clone(), Arc::new(rules));
        let ticking = tokio::spawn(ticks::run(engine.clone(), Duration::from_millis(50)));
        Rig { engine, outbox, tenant, ticking }
    }

    /// As a server does it.
    pub async fn stop(self) {
        self.outbox.stopped().await;
        self.ticking.abort();
        self.engine.stop().await;
    }

    pub async fn must(&self, command: impl Into<Command>) -> Answer {
        self.engine.perform(command).await.expect("the engine takes it")
    }

    pub async fn subscribe(&self, name: &str, url: String, event: &str, ordered: bool) {
        let (name, events, secret) = (name.into(), vec![event.into()], SECRET.to_owned().into());
        self.must(PutWebhook { tenant: self.tenant, name, url, events, secret, ordered }).await;
    }

    /// A job that is over at once: one `job.finished`.
    pub async fn job_ends(&self) -> JobId {
        let id = Mint.job(self.engine.clock().now());
        self.must(SubmitJob {
            id,
            tenant: self.tenant,
            key: None,
            payload: RawValue::from_string("{}".into()).unwrap(),
            runs_on: Vec::new(),
            priority: 0,
            attempts_max: None,
            timeout_seconds: None,
            effect_once: false,
        })
        .await;
        self.must(CancelJob { tenant: self.tenant, job: id }).await;
        id
    }

    /// A run of so many jobs that is cancelled: one `job.finished` for each, one `run.finished`.
    pub async fn run_ends(&self, jobs: usize) -> RunId {
        let job = |number| serde_json::json!({ "name": format!("job-{number}"), "spec": {} });
        let plan: Vec<PlanJob> =
            (0..jobs).map(|number| serde_json::from_value(job(number)).unwrap()).collect();
        let id = Mint.run(self.engine.clock().now());
        self.must(CreateRun {
            id,
            tenant: self.tenant,
            trigger_key: None,
            origin: RunOrigin::default(),
            trust: Trust::default(),
            fail_fast: false,
            plan: Some(plan.into()),
        })
        .await;
        if jobs > 0 {
            self.must(CancelRun { tenant: self.tenant, run: id, reason: "enough".into() }).await;
        }
        id
    }

    pub async fn deliveries(&self) -> Vec<Delivery> {
        self.engine.store().deliveries_after(None, 100_000).await.unwrap()
    }

    /// Waits until all messages are in a state.
    pub async fn all_are(&self, state: machines::delivery::State) {
        until(async || {
            let all = self.deliveries().await;
            !all.is_empty() && all.iter().all(|it| it.state.get() == state)
        })
        .await;
    }
}

pub async fn until(condition: impl AsyncFn() -> bool) {
    let wait = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("it takes far too long");
}
