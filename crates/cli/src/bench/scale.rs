//! What must not grow: a lease in a long queue, steps in a large run, memory.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use decisions::Answer;
use decisions::records::{PlanJob, Trust};
use decisions::runs::{CreateRun, RunOrigin};
use serde::Serialize;
use serde_json::value::RawValue;
use server::{Engine, Mint};
use store::Store;
use wire::TenantId;

use crate::bench::callers::{Caller, Watch};
use crate::bench::report::Spread;
use crate::bench::told::Rows;
use crate::output::progress;

#[derive(Serialize)]
pub struct Scale {
    queued: u64,
    lease_at_1000: Spread,
    lease_at_queued: Spread,
    /// The long queue lies ahead in time, but the runner cannot take it.
    lease_behind_queued: Spread,
    /// ack, heartbeat, complete.
    run_of_10: [Spread; 3],
    run_of_10000: [Spread; 3],
    resident_kib_with_queued: u64,
}

/// How often each thing is measured; alternately, so that both sides see the same machine.
const SAMPLES: usize = 400;

pub async fn measure<S: Store>(engine: &Engine<S>, tenant: TenantId, queued: u64) -> Result<Scale> {
    progress("steps in runs of 10 and 10,000 jobs");
    let (run_of_10, run_of_10000) = runs(engine, tenant).await?;
    let short = Caller::new(engine, tenant, "short", &["queue:short"]);
    let long = Caller::new(engine, tenant, "long", &["queue:long"]);
    let other = Caller::new(engine, tenant, "other", &["queue:other"]);
    fill(&short, 1_000).await?;
    fill(&long, queued).await?;
    let resident_kib_with_queued = resident_kib()?;
    fill(&other, 1_000).await?;
    progress("leases");
    let mut samples = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..SAMPLES {
        for (caller, samples) in [&short, &long, &other].into_iter().zip(&mut samples) {
            caller.submit().await?; // the queue keeps its length
            let mut watch = Watch::start();
            let lease = caller.lease().await?;
            samples.push(watch.lap());
            caller.ack(lease).await?;
            caller.complete(lease).await?;
        }
    }
    let [short, long, other] = samples.map(Spread::of);
    Ok(Scale {
        queued,
        lease_at_1000: short,
        lease_at_queued: long,
        lease_behind_queued: other,
        run_of_10,
        run_of_10000,
        resident_kib_with_queued,
    })
}

/// Many submitters at once, for the group commit's sake.
async fn fill<S: Store>(caller: &Caller<S>, count: u64) -> Result<()> {
    const SUBMITTERS: u64 = 500;
    let runs_on: Vec<&str> = caller.runs_on.iter().map(String::as_str).collect();
    let tasks: Vec<_> = (0..SUBMITTERS)
        .map(|number| {
            let mine = count / SUBMITTERS + u64::from(number < count % SUBMITTERS);
            let caller = Caller::new(&caller.engine, caller.tenant, "submitter", &runs_on);
            tokio::spawn(async move {
                for done in 0..mine {
                    caller.submit().await?;
                    if number == 0 {
                        progress(&format!("queued {} of {count}", done * SUBMITTERS));
                    }
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await.context("a submitter ended early")??;
    }
    Ok(())
}

async fn runs<S: Store>(engine: &Engine<S>, tenant: TenantId) -> Result<([Spread; 3], [Spread; 3])> {
    let large = Caller::new(engine, tenant, "large", &["run:large"]);
    create_run(engine, tenant, 10_000, "run:large").await?;
    let small = Caller::new(engine, tenant, "small", &["run:small"]);
    let mut of_10: [Vec<Duration>; 3] = Default::default();
    let mut of_10000: [Vec<Duration>; 3] = Default::default();
    for sample in 0..SAMPLES {
        if sample % 10 == 0 {
            create_run(engine, tenant, 10, "run:small").await?;
        }
        for (caller, spreads) in [(&small, &mut of_10), (&large, &mut of_10000)] {
            let lease = caller.lease().await?;
            let mut watch = Watch::start();
            caller.ack(lease).await?;
            spreads[0].push(watch.lap());
            caller.heartbeat(lease).await?;
            spreads[1].push(watch.lap());
            caller.complete(lease).await?;
            spreads[2].push(watch.lap());
        }
    }
    Ok((of_10.map(Spread::of), of_10000.map(Spread::of)))
}

async fn create_run<S: Store>(engine: &Engine<S>, tenant: TenantId, jobs: usize, queue: &str) -> Result<()> {
    let spec = || RawValue::from_string(r#"{"name":"job","steps":["true"]}"#.into()).expect("it is JSON");
    let job = |number: usize| PlanJob {
        runs_on: vec![queue.into()],
        ..PlanJob::plain(format!("job-{number}"), spec())
    };
    let id = Mint.run(engine.clock().now());
    let plan: Vec<PlanJob> = (0..jobs).map(job).collect();
    let create = CreateRun {
        id,
        tenant,
        trigger_key: None,
        origin: RunOrigin::default(),
        trust: Trust::default(),
        fail_fast: false,
        plan: Some(plan.into()),
    };
    match engine.perform(create).await? {
        Answer::RunCreated { .. } => Ok(()),
        other => bail!("the run was answered with {other:?}"),
    }
}

/// What the system says this process holds in memory.
fn resident_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("reading the process's memory")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS line")?;
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).context("VmRSS is no number")
}

impl Scale {
    pub fn tell(&self, rows: &mut Rows) {
        let lease = |rows: &mut Rows, name: &str, spread: Spread| {
            let ratio = spread.p50_micros as f64 / self.lease_at_1000.p50_micros as f64;
            rows.line(format!("  {name:<34}{:>8} us   {ratio:.2} x", spread.p50_micros));
        };
        rows.line("lease, p50");
        lease(rows, "1,000 queued", self.lease_at_1000);
        lease(rows, &format!("{} queued", self.queued), self.lease_at_queued);
        lease(rows, &format!("behind {} of others", self.queued), self.lease_behind_queued);
        rows.line("steps in a run of 10,000 jobs, p50, beside a run of 10");
        for (index, step) in ["ack", "heartbeat", "complete"].into_iter().enumerate() {
            let (small, large) = (self.run_of_10[index], self.run_of_10000[index]);
            let ratio = large.p50_micros as f64 / small.p50_micros as f64;
            rows.line(format!(
                "  {step:<34}{:>8} us   {} us   {ratio:.2} x",
                large.p50_micros, small.p50_micros
            ));
        }
        rows.line(format!(
            "memory with {} queued: {} MiB",
            self.queued,
            self.resident_kib_with_queued / 1024
        ));
    }
}
