//! Callers: what a submitter and a runner do, as fast as they are answered.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use decisions::Answer;
use decisions::jobs::SubmitJob;
use decisions::leases::{Ack, Complete, Heartbeat, Lease, Wanted};
use decisions::records::{Queue, QueueId};
use decisions::tenants::EnsureTenant;
use serde_json::value::RawValue;
use server::{Engine, Mint};
use store::Store;
use wire::runner::CompleteStatus;
use wire::{LeaseKey, RunnerId, TenantId};

/// One caller's view of the engine.
pub struct Caller<S> {
    pub engine: Engine<S>,
    pub tenant: TenantId,
    pub runner: RunnerId,
    pub queue: QueueId,
    pub runs_on: Vec<String>,
}

/// How long each step of a lifecycle took, in order: submit, lease, ack, heartbeat, complete.
pub type Steps = [Duration; 5];

pub const STEP_NAMES: [&str; 5] = ["submit", "lease", "ack", "heartbeat", "complete"];

/// More would be a mistake of ours.
const LOOKS_MAX: usize = 8;

impl<S: Store> Caller<S> {
    pub fn new(engine: &Engine<S>, tenant: TenantId, name: &str, runs_on: &[&str]) -> Caller<S> {
        let runs_on: Vec<String> = runs_on.iter().map(|text| text.to_string()).collect();
        Caller {
            engine: engine.clone(),
            tenant,
            runner: RunnerId::parse(name).expect("a name without spaces"),
            queue: Queue::for_requirements(tenant, &runs_on).id,
            runs_on,
        }
    }

    pub async fn lifecycle(&self) -> Result<Steps> {
        let mut watch = Watch::start();
        self.submit().await?;
        let submit = watch.lap();
        let lease = self.lease().await?;
        let leased = watch.lap();
        self.ack(lease).await?;
        let ack = watch.lap();
        self.heartbeat(lease).await?;
        let heartbeat = watch.lap();
        self.complete(lease).await?;
        Ok([submit, leased, ack, heartbeat, watch.lap()])
    }

    pub async fn submit(&self) -> Result<()> {
        let payload = RawValue::from_string(r#"{"command":"cargo test","commit":"4f2c1d"}"#.into())?;
        let submit = SubmitJob {
            id: Mint.job(self.engine.clock().now()),
            tenant: self.tenant,
            key: None,
            payload,
            runs_on: self.runs_on.clone(),
            priority: 0,
            attempts_max: None,
            timeout_seconds: None,
            effect_once: false,
        };
        self.engine.perform(submit).await?;
        Ok(())
    }

    /// Others may have taken all that a look at the queue showed: as a runner does, one asks again. It counts as one step.
    pub async fn lease(&self) -> Result<LeaseKey> {
        for _ in 0..LOOKS_MAX {
            if let Some(key) = self.look().await? {
                return Ok(key);
            }
        }
        bail!("a job was submitted, but {LOOKS_MAX} looks found none to lease")
    }

    async fn look(&self) -> Result<Option<LeaseKey>> {
        let execution = Mint.execution(self.engine.clock().now());
        let lease = Mint.lease(execution);
        let key = lease.key();
        let wanted = Wanted::Any(vec![self.queue]);
        let runner = self.runner.clone();
        let command = Lease { runner, tenant: None, capabilities: Vec::new(), wanted, execution, lease };
        match self.engine.perform(command).await? {
            Answer::Granted(_) => Ok(Some(key)),
            Answer::NoWork { barred_until: None } => Ok(None),
            other => bail!("a job was submitted, but the lease answered {other:?}"),
        }
    }

    pub async fn ack(&self, lease: LeaseKey) -> Result<()> {
        self.engine.perform(Ack { lease, runner: self.runner.clone() }).await?;
        Ok(())
    }

    pub async fn heartbeat(&self, lease: LeaseKey) -> Result<()> {
        self.engine.perform(Heartbeat { lease, runner: self.runner.clone(), phase: None }).await?;
        Ok(())
    }

    pub async fn complete(&self, lease: LeaseKey) -> Result<()> {
        let complete = Complete {
            lease,
            runner: self.runner.clone(),
            status: CompleteStatus::Succeeded,
            exit_code: 0,
            summary: "All tests passed.".into(),
            artifacts: String::new(),
            stored: None,
            saves: None,
        };
        match self.engine.perform(complete).await? {
            Answer::Completed { accepted: true } => Ok(()),
            other => bail!("the completion was answered with {other:?}"),
        }
    }
}

/// The tenant everything in a benchmark belongs to.
pub async fn tenant<S: Store>(engine: &Engine<S>) -> Result<TenantId> {
    let id = Mint.tenant(engine.clock().now());
    match engine.perform(EnsureTenant { id, name: "default".into() }).await? {
        Answer::TenantReady(id) => Ok(id),
        other => bail!("the tenant was answered with {other:?}"),
    }
}

/// A stopwatch with laps.
pub struct Watch(Instant);

impl Watch {
    pub fn start() -> Watch {
        Watch(Instant::now())
    }

    pub fn lap(&mut self) -> Duration {
        let now = Instant::now();
        let lap = now - self.0;
        self.0 = now;
        lap
    }
}
