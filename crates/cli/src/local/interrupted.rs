//! What a process that is gone left open: it is cancelled, or goes on from what was durable. Its jobs died with it, and we
//! hold the lock that it held, so their leases end now.

use std::time::Duration;

use anyhow::{Context, Result};
use decisions::leases::RunnerGone;
use decisions::records::{Execution, Run};
use decisions::runs::CancelRun;
use server::Engine;
use store::Store;
use wire::{RunId, TenantId};

use super::happening::Happening;
use crate::output::usage;

/// One process at a time works here, and each settles what it finds: open runs are among the newest.
const RUNS_MAX: usize = 100;
const JOBS_MAX: usize = 10_000;
const REASON: &str = "interrupted: the process that ran it is gone";
/// For a run whose last jobs are being stopped. What is not over by then is found again at the next start.
const SETTLE_TIME_MAX: Duration = Duration::from_secs(30);

/// Which run is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    No,
    Newest,
    This(RunId),
}

/// Settles every open run; returns the one that goes on, and what is to be said.
pub async fn settle<S: Store>(
    engine: &Engine<S>,
    tenant: TenantId,
    resume: Resume,
) -> Result<(Option<Run>, Vec<Happening>)> {
    let mut open = engine.store().runs_of(tenant, None, RUNS_MAX).await?;
    open.retain(|run| !run.is_over());
    let resumed = chosen(engine, &open, resume).await?;
    let live = engine.store().executions_live(JOBS_MAX).await?;
    let mut told = Vec::new();
    for run in open {
        let goes_on = resumed.as_ref().is_some_and(|resumed| resumed.id == run.id);
        let executions: Vec<&Execution> =
            live.iter().map(|(execution, _)| execution).filter(|it| it.run == Some(run.id)).collect();
        let jobs = names(engine, run.id, &executions).await?;
        for execution in &executions {
            engine
                .perform(RunnerGone { execution: execution.id })
                .await
                .context("a lost lease cannot be ended")?;
        }
        if !goes_on {
            cancel(engine, &run).await?;
        }
        told.push(Happening::Interrupted { run: run.id, jobs, resumed: goes_on });
    }
    Ok((resumed, told))
}

async fn chosen<S: Store>(engine: &Engine<S>, open: &[Run], resume: Resume) -> Result<Option<Run>> {
    let stopping = "its cancel was asked for before; start a new one with `deltaci run`";
    let found = match resume {
        Resume::No => return Ok(None),
        Resume::Newest => open.first(),
        Resume::This(id) => open.iter().find(|run| run.id == id),
    };
    match (found, resume) {
        (Some(run), _) if run.is_stopping() => Err(usage(format!("{} cannot go on: {stopping}", run.id))),
        (Some(run), _) => Ok(Some(run.clone())),
        (None, Resume::This(id)) => Err(usage(match engine.store().run(id).await? {
            Some(_) => format!("{id} is over; see it with `deltaci show {id}`"),
            None => format!("there is no run {id} here; see `deltaci runs`"),
        })),
        (None, Resume::No | Resume::Newest) => {
            Err(usage("nothing was interrupted here; start a run with `deltaci run`"))
        }
    }
}

/// Of the jobs that were at work, and since when.
async fn names<S: Store>(engine: &Engine<S>, run: RunId, live: &[&Execution]) -> Result<Vec<String>> {
    let jobs = engine.store().jobs_of_run(run, None, JOBS_MAX).await?;
    let named = |execution: &&Execution| {
        let job = jobs.iter().find(|job| job.id == execution.job())?;
        let since = execution.started_at.unwrap_or(execution.granted_at);
        Some(format!("{} (since {since})", job.name))
    };
    Ok(live.iter().filter_map(named).collect())
}

async fn cancel<S: Store>(engine: &Engine<S>, run: &Run) -> Result<()> {
    let mut commits = engine.committed();
    let cancel = CancelRun { tenant: run.tenant, run: run.id, reason: REASON.into() };
    engine.perform(cancel).await.context("what was interrupted cannot be cancelled")?;
    let over = async {
        while engine.store().run(run.id).await?.is_some_and(|run| !run.is_over()) {
            commits.changed().await?;
        }
        Ok(())
    };
    tokio::time::timeout(SETTLE_TIME_MAX, over).await.unwrap_or(Ok(()))
}
