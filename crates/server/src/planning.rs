//! Planning: runs that were triggered without a plan. There is no planner yet, so each is told so and ends.

use std::time::Duration;

use decisions::runs::PlanFailed;
use decisions::{Hint, Policy};
use machines::run;
use store::Store;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use wire::RunId;

use crate::engine::Engine;
use crate::ticks::ROUND_MAX;

const NO_PLANNER: &str =
    "this server cannot plan yet: send the run with a `plan`, a list of jobs with their steps";

/// The most rounds of looking for runs that wait; each takes up to [`ROUND_MAX`] of them.
const ROUNDS_MAX: usize = 100;

/// Follows the hints for ever. What waited before we listened is looked for at the start; a hint that is lost costs
/// the run its planning timeout.
pub async fn run<S: Store>(engine: Engine<S>, policy: Policy) {
    let mut hints = engine.hints();
    look(&engine, policy.plan_timeout).await;
    while let Some(hint) = next(&mut hints).await {
        match hint {
            Heard::Plan(run) => fail(&engine, run).await,
            Heard::Missed => look(&engine, policy.plan_timeout).await,
        }
    }
}

enum Heard {
    Plan(RunId),
    Missed,
}

async fn next(hints: &mut broadcast::Receiver<Hint>) -> Option<Heard> {
    loop {
        match hints.recv().await {
            Ok(Hint::Plan(run)) => return Some(Heard::Plan(run)),
            Ok(Hint::Ready(_) | Hint::Sweep(_) | Hint::Release(_) | Hint::Deliver | Hint::Logged(_)) => {}
            Err(RecvError::Lagged(_)) => return Some(Heard::Missed),
            Err(RecvError::Closed) => return None,
        }
    }
}

/// A run that waits for its plan is due within the planning timeout, so the index of due runs finds it. A store with a
/// time of its own finds it only when it is overdue; its deadline then ends it.
async fn look<S: Store>(engine: &Engine<S>, plan_timeout: Duration) {
    for _ in 0..ROUNDS_MAX {
        let horizon = engine.clock().now().plus(plan_timeout);
        let Ok(due) = engine.store().due(horizon, ROUND_MAX).await else { return };
        let mut waiting = 0;
        for id in due.runs {
            let Ok(Some(run)) = engine.store().run(id).await else { continue };
            if matches!(run.state.get(), run::State::Created | run::State::Planning) {
                waiting += 1;
                fail(engine, id).await;
            }
        }
        if waiting == 0 {
            return;
        }
    }
}

async fn fail<S: Store>(engine: &Engine<S>, run: RunId) {
    if let Err(error) = engine.perform(PlanFailed { run, message: NO_PLANNER.into() }).await {
        tracing::warn!(%run, %error, "a run without a plan could not be ended; its deadline will");
    }
}
