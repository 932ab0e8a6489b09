//! Durable messages per second over many connections, in turns with an echo of the same bodies.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::bench::callers::{STEP_NAMES, Steps, Watch};
use crate::bench::protocol::http::{Connection, Head};
use crate::bench::protocol::messages::{Caller, Heads, Shouter};
use crate::bench::protocol::processes::{Echo, Server};
use crate::bench::report::{Spread, middle};
use crate::output::progress;

#[derive(Serialize)]
pub struct Throughput {
    pub connections: usize,
    pub rounds: usize,
    pub messages_per_second: f64,
    pub echoes_per_second: f64,
    /// The median of the rounds' own ratios.
    pub messages_per_echo: f64,
    pub latencies: Vec<(&'static str, Spread)>,
}

pub async fn measure(folder: &Path, connections: usize, rounds: usize, seconds: f64) -> Result<Throughput> {
    let seconds = Duration::from_secs_f64(seconds);
    let server = Server::start(folder).await?;
    let echo = Echo::start().await?;
    let mut callers = Vec::new();
    let mut shouters = Vec::new();
    for number in 0..connections {
        let runner = format!("runner-{number}");
        shouters.push(Shouter::new(Connection::open(echo.address).await?, &runner));
        callers.push(Caller::new(server.connect().await?, runner));
    }
    let (heads, echo_head) = (Arc::new(Heads::of(&server)), Arc::new(Head::post("/", &server.runner)));
    let (mut ours, mut echoes, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut steps: Vec<Steps> = Vec::new();
    for number in 1..=rounds {
        progress(&format!("messages beside an echo: round {number} of {rounds}"));
        // The echo before and after: a machine that is slow now was slow for both.
        let before = shout(&mut shouters, &echo_head, seconds / 4).await?;
        let taken = call(&mut callers, &heads, seconds).await?;
        let after = shout(&mut shouters, &echo_head, seconds / 4).await?;
        let echo = (before + after) / 2.0;
        ours.push(taken.messages_per_second);
        echoes.push(echo);
        ratios.push(taken.messages_per_second / echo);
        steps.extend(taken.steps);
    }
    let step = |number: usize| Spread::of(steps.iter().map(|steps| steps[number]).collect());
    Ok(Throughput {
        connections,
        rounds,
        messages_per_second: middle(ours),
        echoes_per_second: middle(echoes),
        messages_per_echo: middle(ratios),
        latencies: STEP_NAMES.iter().enumerate().map(|(number, name)| (*name, step(number))).collect(),
    })
}

struct Taken {
    messages_per_second: f64,
    steps: Vec<Steps>,
}

/// All callers run lifecycles until the time is up; a message counts when it is answered.
async fn call(callers: &mut Vec<Caller>, heads: &Arc<Heads>, seconds: Duration) -> Result<Taken> {
    let mut watch = Watch::start();
    let tasks: Vec<_> = callers
        .drain(..)
        .map(|mut caller| {
            let heads = heads.clone();
            tokio::spawn(async move {
                let (mut steps, mut watch, mut spent) = (Vec::new(), Watch::start(), Duration::ZERO);
                while spent < seconds {
                    steps.push(caller.lifecycle(&heads).await?);
                    spent += watch.lap();
                }
                anyhow::Ok((caller, steps))
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        let (caller, steps) = task.await.context("a caller ended early")??;
        callers.push(caller);
        all.extend(steps);
    }
    Ok(Taken { messages_per_second: rate(all.len(), watch.lap()), steps: all })
}

async fn shout(shouters: &mut Vec<Shouter>, head: &Arc<Head>, seconds: Duration) -> Result<f64> {
    let mut watch = Watch::start();
    let tasks: Vec<_> = shouters
        .drain(..)
        .map(|mut shouter| {
            let head = head.clone();
            tokio::spawn(async move {
                let (mut count, mut watch, mut spent) = (0, Watch::start(), Duration::ZERO);
                while spent < seconds {
                    shouter.lifecycle(&head).await?;
                    count += 1;
                    spent += watch.lap();
                }
                anyhow::Ok((shouter, count))
            })
        })
        .collect();
    let mut lifecycles = 0;
    for task in tasks {
        let (shouter, count) = task.await.context("a caller ended early")??;
        shouters.push(shouter);
        lifecycles += count;
    }
    Ok(rate(lifecycles, watch.lap()))
}

fn rate(lifecycles: usize, took: Duration) -> f64 {
    (lifecycles * STEP_NAMES.len()) as f64 / took.as_secs_f64()
}
