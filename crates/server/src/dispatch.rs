//! A stand-in for the dispatcher: asks for any matching work whenever something became ready.

use std::time::Duration;

use decisions::leases::{Lease, Wanted};
use decisions::records::QueueId;
use decisions::{Answer, Granted, Hint};
use store::Store;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;
use wire::{JobId, RunnerId, TenantId};

use crate::engine::Engine;
use crate::mint::Mint;
use crate::perform::Failure;

/// How long a lost hint can delay a lease.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub struct Dispatch<S> {
    engine: Engine<S>,
}

impl<S: Store> Dispatch<S> {
    pub fn new(engine: Engine<S>) -> Dispatch<S> {
        Dispatch { engine }
    }

    /// The next job that fits, waiting for one up to `wait`.
    pub async fn lease(
        &self,
        scope: Option<TenantId>,
        runner: RunnerId,
        capabilities: Vec<String>,
        wait: Duration,
    ) -> Result<Option<Box<Granted>>, Failure> {
        let mut hints = self.engine.hints();
        let until = self.engine.clock().now().plus(wait);
        loop {
            let queues = self.queues(scope, &capabilities).await?;
            let granted = self.ask(scope, &runner, &capabilities, Wanted::Any(queues)).await?;
            let left = until.since(self.engine.clock().now());
            if granted.is_some() || left.is_zero() {
                return Ok(granted);
            }
            let _ = timeout(left.min(LOOK_EVERY), async {
                loop {
                    match hints.recv().await {
                        Ok(Hint::Ready(_)) | Err(RecvError::Lagged(_)) => return,
                        Ok(_) => {}
                        Err(RecvError::Closed) => std::future::pending().await,
                    }
                }
            })
            .await;
        }
    }

    /// This very job.
    pub async fn lease_job(
        &self,
        scope: Option<TenantId>,
        runner: RunnerId,
        capabilities: Vec<String>,
        job: JobId,
    ) -> Result<Box<Granted>, Failure> {
        let granted = self.ask(scope, &runner, &capabilities, Wanted::Job(job)).await?;
        granted.ok_or(Failure::Refused(decisions::Refusal::JobNotReady))
    }

    async fn queues(
        &self,
        scope: Option<TenantId>,
        capabilities: &[String],
    ) -> Result<Vec<QueueId>, Failure> {
        let queues = self.engine.store().queues().await;
        let queues = queues.map_err(|error| Failure::Unavailable(error.to_string()))?;
        let fits = queues
            .into_iter()
            .filter(|queue| scope.is_none_or(|scope| scope == queue.tenant) && queue.fits(capabilities));
        Ok(fits.map(|queue| queue.id).collect())
    }

    async fn ask(
        &self,
        tenant: Option<TenantId>,
        runner: &RunnerId,
        capabilities: &[String],
        wanted: Wanted,
    ) -> Result<Option<Box<Granted>>, Failure> {
        let execution = Mint.execution(self.engine.clock().now());
        let command = Lease {
            runner: runner.clone(),
            tenant,
            capabilities: capabilities.to_vec(),
            wanted,
            execution,
            lease: Mint.lease(execution),
        };
        match self.engine.perform(command).await? {
            Answer::Granted(granted) => Ok(Some(granted)),
            _ => Ok(None),
        }
    }
}
