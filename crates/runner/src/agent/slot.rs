//! The loop of one runner: ask for work, execute it, ask again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use wire::RunnerId;
use wire::runner::LeaseGranted;

use crate::agent::drive::execute;
use crate::agent::hands::Hire;
use crate::agent::messages::lease;
use crate::agent::prepare::Shop;
use crate::agent::run::Left;
use crate::agent::stop::{Stop, said};
use crate::backoff::Backoff;
use crate::client::LeaseAnswer;
use crate::clock::Uptime;
use crate::mint;
use crate::session::End;

/// How long the orchestrator may hold a request for work.
const LEASE_WAIT: Duration = Duration::from_secs(20);
/// And how much longer until it is taken for lost.
const LEASE_SLACK: Duration = Duration::from_secs(10);
const BACKOFF_MAX: Duration = Duration::from_secs(10);
/// An orchestrator that says "nothing" sooner than this does not wait; it is not asked again at once.
const SOON: Duration = Duration::from_secs(1);

pub async fn slot<H: Hire>(shop: Arc<Shop<H>>, runner_id: RunnerId, mut stop: watch::Receiver<Stop>) -> Left {
    let mut backoff = Backoff::default();
    loop {
        let asked_at = Uptime::now();
        let capabilities = &shop.settings.capabilities;
        let answer = tokio::select! {
            biased;
            () = said(&mut stop, Stop::Finish) => return Left::Stopped,
            answer = lease(&shop.client, &runner_id, capabilities, LEASE_WAIT, LEASE_WAIT + LEASE_SLACK) => answer,
        };
        match answer {
            LeaseAnswer::Granted(granted) => {
                backoff.reset();
                let end = work(&shop, &runner_id, *granted, &stop).await;
                if shop.settings.once {
                    return Left::Once(end);
                }
                if end == End::Unauthorized {
                    return Left::Unauthorized;
                }
            }
            LeaseAnswer::Nothing if asked_at.until(Uptime::now()) >= SOON => backoff.reset(),
            LeaseAnswer::Nothing => pause(&mut backoff, &mut stop).await,
            LeaseAnswer::Unauthorized => return Left::Unauthorized,
            LeaseAnswer::Trouble(problem) => {
                tracing::warn!(runner = %runner_id, problem, "no work could be asked for; trying again");
                pause(&mut backoff, &mut stop).await;
            }
        }
    }
}

async fn pause(backoff: &mut Backoff, stop: &mut watch::Receiver<Stop>) {
    let wait = backoff.next(BACKOFF_MAX, mint::jitter());
    tokio::select! {
        () = tokio::time::sleep(wait) => {}
        () = said(stop, Stop::Finish) => {}
    }
}

async fn work<H: Hire>(
    shop: &Arc<Shop<H>>,
    runner_id: &RunnerId,
    granted: LeaseGranted,
    stop: &watch::Receiver<Stop>,
) -> End {
    let job = granted.job_id.clone();
    let started_at = Uptime::now();
    tracing::info!(runner = %runner_id, job, "leased");
    let end = execute(shop.clone(), runner_id.clone(), granted, stop.clone()).await;
    let seconds = started_at.until(Uptime::now()).as_secs_f64();
    match &end {
        End::Completed(verdict) => {
            tracing::info!(runner = %runner_id, job, seconds, summary = verdict.summary, "completed");
        }
        End::Canceled => tracing::info!(runner = %runner_id, job, seconds, "canceled"),
        End::Stale(reason) => {
            tracing::warn!(runner = %runner_id, job, seconds, ?reason, "the lease was lost; the job was stopped");
        }
        End::LeaseLost => {
            tracing::warn!(runner = %runner_id, job, seconds, "the lease could not be renewed; the job was stopped");
        }
        End::Unauthorized => {
            tracing::error!(runner = %runner_id, job, seconds, "the token is no longer good; the job was stopped");
        }
        End::Refused { call, code } => {
            tracing::error!(runner = %runner_id, job, seconds, ?call, code, "refused; the job is left to its lease");
        }
    }
    end
}
