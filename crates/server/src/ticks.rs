//! Ticks: find what is due by its index and perform it. Recovery after a crash is nothing else.

use std::time::Duration;

use decisions::deliveries::DeliveryDue;
use decisions::jobs::ReleaseDependents;
use decisions::leases::ExecutionDue;
use decisions::runs::{RunDue, SweepRun};
use decisions::{Answer, Command};
use store::{Due, Store, StoreError};

use crate::engine::Engine;
use crate::mint::Mint;
use crate::perform::Failure;

/// The most that one round takes on of each kind.
pub const ROUND_MAX: usize = 500;

/// The commands for what a store found due.
pub fn commands(due: &Due, mut jitter: impl FnMut() -> f64) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    commands.extend(due.runs.iter().map(|run| Command::from(RunDue { run: *run })));
    commands
        .extend(due.executions.iter().map(|execution| Command::from(ExecutionDue { execution: *execution })));
    commands.extend(due.sweeps.iter().map(|run| Command::from(SweepRun { run: *run })));
    commands.extend(due.releases.iter().map(|job| Command::from(ReleaseDependents { job: *job })));
    let claims =
        due.claims.iter().map(|delivery| DeliveryDue { delivery: *delivery, jitter: jitter() }.into());
    commands.extend(claims);
    commands
}

/// One round: everything due now, performed. Returns how many commands moved something.
pub async fn round<S: Store>(engine: &Engine<S>) -> Result<usize, StoreError> {
    let now = engine.clock().now();
    let mut due = engine.store().due(now, ROUND_MAX).await?;
    if !engine.clock().leases_may_end(now) {
        due.executions.clear(); // runners that nobody could hear may still be at work
    }
    let mut moved = 0;
    let performed = commands(&due, || Mint.jitter()).into_iter().map(|command| {
        let engine = engine.clone();
        tokio::spawn(async move { engine.perform(command).await })
    });
    for outcome in performed.collect::<Vec<_>>() {
        match outcome.await.expect("performing does not panic") {
            Ok(Answer::Settled { moved: true }) => moved += 1,
            // Done by somebody else, or not possible now: the next round looks again.
            Ok(_)
            | Err(Failure::Refused(_) | Failure::Busy | Failure::Unavailable(_) | Failure::Unknown(_)) => {}
            Err(Failure::Bug(what)) => tracing::error!(%what, "a due command met a mistake of ours"),
        }
    }
    Ok(moved)
}

/// Rounds for ever, `interval` apart; without a pause while there is more than one round can take.
pub async fn run<S: Store>(engine: Engine<S>, interval: Duration) {
    loop {
        let moved = round(&engine).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the store does not say what is due; the next round asks again");
            engine.metrics().failed("tick_failed");
            0
        });
        if moved < ROUND_MAX {
            tokio::time::sleep(interval).await;
        }
    }
}
