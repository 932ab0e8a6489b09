//! A trivial job, executed for real by two runners: alone, from submit to finished, and two hundred at once.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use crate::bench::callers::Watch;
use crate::bench::protocol::http::{Connection, Head, field};
use crate::bench::protocol::processes::{Memory, Runner, Server};
use crate::bench::report::Spread;
use crate::output::progress;

#[derive(Serialize)]
pub struct Jobs {
    pub runners: usize,
    pub samples: usize,
    pub submit_to_finished: Spread,
    pub burst: usize,
    pub burst_jobs_per_minute: f64,
    pub server_idle: Memory,
    pub runner_idle: Memory,
    pub server_after: Memory,
    pub runner_after: Memory,
}

const RUNNERS: usize = 2;
/// The first jobs find cold caches; the peer's first builds are not counted either.
const WARM_UP: usize = 5;
/// Connections that submit a burst; a person's script would use one, a webhook storm many.
const SUBMITTERS: usize = 8;
/// What a process takes at its start is given back, or not, by then.
const SETTLE: Duration = Duration::from_secs(1);
const JOB: &str = r#"{"payload":{"steps":["true"]}}"#;

pub async fn measure(folder: &Path, samples: usize, burst: usize) -> Result<Jobs> {
    let server = Server::start(&folder.join("jobs")).await?;
    let runners: Vec<Runner> = (0..RUNNERS)
        .map(|number| Runner::start(&server, folder, &format!("bench-{number}")))
        .collect::<Result<_>>()?;
    let runner = runners.first().context("there are two runners")?;
    server.until_waiting(RUNNERS).await?;
    tokio::time::sleep(SETTLE).await;
    let (server_idle, runner_idle) = (server.memory()?, runner.memory()?);
    let mut submitter = Submitter::new(&server).await?;
    for _ in 0..WARM_UP {
        submitter.one().await?;
    }
    let mut finished = Vec::new();
    for number in 0..samples {
        progress(&format!("trivial jobs: {number} of {samples}"));
        server.until_waiting(RUNNERS).await?;
        let mut watch = Watch::start();
        submitter.one().await?;
        finished.push(watch.lap());
    }
    progress(&format!("{burst} trivial jobs at once"));
    server.until_waiting(RUNNERS).await?;
    let took = at_once(&server, burst).await?;
    server.until_waiting(RUNNERS).await?;
    let (server_after, runner_after) = (server.memory()?, runner.memory()?);
    for runner in runners {
        runner.end().await?;
    }
    Ok(Jobs {
        runners: RUNNERS,
        samples,
        submit_to_finished: Spread::of(finished),
        burst,
        burst_jobs_per_minute: burst as f64 / took.as_secs_f64() * 60.0,
        server_idle,
        runner_idle,
        server_after,
        runner_after,
    })
}

/// From the first submit until the last job is over.
async fn at_once(server: &Server, burst: usize) -> Result<Duration> {
    let mut submitters = Vec::new();
    for _ in 0..SUBMITTERS {
        submitters.push(Submitter::new(server).await?);
    }
    let mut watch = Watch::start();
    let tasks: Vec<_> = submitters
        .into_iter()
        .enumerate()
        .map(|(number, mut submitter)| {
            let mine = burst / SUBMITTERS + usize::from(number < burst % SUBMITTERS);
            tokio::spawn(async move {
                let mut jobs = Vec::new();
                for _ in 0..mine {
                    jobs.push(submitter.submit().await?);
                }
                for job in jobs {
                    submitter.until_over(&job).await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await.context("a submitter ended early")??;
    }
    Ok(watch.lap())
}

struct Submitter {
    connection: Connection,
    submit: Head,
    token: String,
}

impl Submitter {
    async fn new(server: &Server) -> Result<Submitter> {
        let connection = server.connect().await?;
        Ok(Submitter { connection, submit: server.submit_head(), token: server.submitter.clone() })
    }

    async fn one(&mut self) -> Result<()> {
        let job = self.submit().await?;
        self.until_over(&job).await
    }

    async fn submit(&mut self) -> Result<String> {
        let answer = self.connection.expect(&self.submit, JOB, 201).await?;
        Ok(field(&answer, "id")?.into())
    }

    /// Follows the job's log, as a person would, until the server says that it is over.
    async fn until_over(&mut self, job: &str) -> Result<()> {
        let head = Head::get(&format!("/v1/tenants/default/jobs/{job}/log?follow=1"), &self.token);
        let log = self.connection.expect(&head, "", 200).await?;
        let succeeded = String::from_utf8_lossy(&log).contains(r#"{"state":"SUCCEEDED"}"#);
        ensure!(succeeded, "a job did not succeed: {}", String::from_utf8_lossy(&log));
        Ok(())
    }
}
