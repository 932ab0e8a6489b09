//! Ticks: find what is due by its index and perform it. Recovery after a crash is nothing else.

use std::collections::HashMap;
use std::time::Duration;

use decisions::deliveries::DeliveryDue;
use decisions::jobs::ReleaseDependents;
use decisions::leases::ExecutionDue;
use decisions::runs::{RunDue, SweepRun};
use decisions::{Answer, Command};
use store::{Due, Store, StoreError};
use wire::{ExecId, JobId, MessageId, RunId, Time};

use crate::engine::Engine;
use crate::mint::Mint;
use crate::perform::Failure;

/// The most that one round takes on of each kind.
pub const ROUND_MAX: usize = 500;

/// How long a thing rests that met a mistake of ours: it would meet it in every round, and stand before others that are due.
const REST: Duration = Duration::from_secs(60);

/// The most things that rest at a time. What fails beyond them is tried in every round.
const RESTING_MAX: usize = 5_000;

/// One thing that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Item {
    Run(RunId),
    Execution(ExecId),
    Sweep(RunId),
    Release(JobId),
    Claim(MessageId),
}

impl Item {
    fn all(due: &Due) -> impl Iterator<Item = Item> {
        let runs = due.runs.iter().copied().map(Item::Run);
        let executions = due.executions.iter().copied().map(Item::Execution);
        let sweeps = due.sweeps.iter().copied().map(Item::Sweep);
        let releases = due.releases.iter().copied().map(Item::Release);
        let claims = due.claims.iter().copied().map(Item::Claim);
        runs.chain(executions).chain(sweeps).chain(releases).chain(claims)
    }

    fn command(self, jitter: impl FnOnce() -> f64) -> Command {
        match self {
            Item::Run(run) => RunDue { run }.into(),
            Item::Execution(execution) => ExecutionDue { execution }.into(),
            Item::Sweep(run) => SweepRun { run }.into(),
            Item::Release(job) => ReleaseDependents { job }.into(),
            Item::Claim(delivery) => DeliveryDue { delivery, jitter: jitter() }.into(),
        }
    }
}

/// The commands for what a store found due.
pub fn commands(due: &Due, mut jitter: impl FnMut() -> f64) -> Vec<Command> {
    Item::all(due).map(|item| item.command(&mut jitter)).collect()
}

/// One round by itself. Returns how many commands moved something.
pub async fn round<S: Store>(engine: &Engine<S>) -> Result<usize, StoreError> {
    Ok(Rounds::default().round(engine).await?.moved)
}

/// Rounds, and what is left out of them for a while.
#[derive(Debug, Default)]
pub struct Rounds {
    resting: HashMap<Item, Time>,
}

/// What came of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Commands that moved something.
    pub moved: usize,
    /// Of some kind, more may be due than the round took on.
    pub is_full: bool,
}

impl Rounds {
    /// Everything due now that does not rest, performed.
    pub async fn round<S: Store>(&mut self, engine: &Engine<S>) -> Result<Round, StoreError> {
        let now = engine.clock().now();
        self.resting.retain(|_, until| *until > now);
        // What rests is found all the same: it must not take the place of what does not.
        let mut due = engine.store().due(now, ROUND_MAX + self.resting.len()).await?;
        if !engine.clock().leases_may_end(now) {
            due.executions.clear(); // runners that nobody could hear may still be at work
        }
        let is_full = self.leave_out(&mut due);
        let performed: Vec<_> = Item::all(&due)
            .map(|item| {
                let (engine, command) = (engine.clone(), item.command(|| Mint.jitter()));
                (item, tokio::spawn(async move { engine.perform(command).await }))
            })
            .collect();
        let mut moved = 0;
        for (item, outcome) in performed {
            match outcome.await.expect("performing does not panic") {
                Ok(Answer::Settled { moved: true }) => moved += 1,
                // Done by somebody else, or not possible now: the next round looks again.
                Ok(_)
                | Err(Failure::Refused(_) | Failure::Busy | Failure::Unavailable(_) | Failure::Unknown(_)) => {
                }
                Err(Failure::Bug(what)) => self.rest(item, now, &what),
            }
        }
        Ok(Round { moved, is_full })
    }

    /// Leaves a round's worth of each kind; whether that is all a round can take of any.
    fn leave_out(&self, due: &mut Due) -> bool {
        let Due { executions, runs, sweeps, releases, claims } = due;
        [
            self.leave_out_of(executions, Item::Execution),
            self.leave_out_of(runs, Item::Run),
            self.leave_out_of(sweeps, Item::Sweep),
            self.leave_out_of(releases, Item::Release),
            self.leave_out_of(claims, Item::Claim),
        ]
        .contains(&true)
    }

    fn leave_out_of<I: Copy>(&self, ids: &mut Vec<I>, item: impl Fn(I) -> Item) -> bool {
        ids.retain(|id| !self.resting.contains_key(&item(*id)));
        ids.truncate(ROUND_MAX);
        ids.len() == ROUND_MAX
    }

    /// Said once a rest; the metrics count every time.
    fn rest(&mut self, item: Item, now: Time, what: &str) {
        if self.resting.len() < RESTING_MAX {
            self.resting.insert(item, now.plus(REST));
            tracing::error!(
                ?item,
                what,
                "a due command met a mistake of ours; it is tried again in a minute"
            );
        }
    }
}

/// Rounds for ever, `interval` apart; without a pause while there is more than one round can take, and it moves.
pub async fn run<S: Store>(engine: Engine<S>, interval: Duration) {
    let mut rounds = Rounds::default();
    loop {
        let round = rounds.round(&engine).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the store does not say what is due; the next round asks again");
            engine.metrics().failed("tick_failed");
            Round { moved: 0, is_full: false }
        });
        if !round.is_full || round.moved == 0 {
            tokio::time::sleep(interval).await;
        }
    }
}
