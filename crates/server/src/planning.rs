//! Planning: runs that were triggered without a plan. There is no planner yet, so each is told so and ends.

use decisions::Hint;
use decisions::runs::PlanFailed;
use store::Store;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use wire::RunId;

use crate::engine::Engine;
use crate::ticks::ROUND_MAX;

const NO_PLANNER: &str =
    "this server cannot plan yet: send the run with a `plan`, a list of jobs with their steps";

/// Follows the hints for ever. What waited before we listened is looked for at the start; a hint that is lost costs
/// the run its planning timeout.
pub async fn run<S: Store>(engine: Engine<S>) {
    let mut hints = engine.hints();
    look(&engine).await;
    while let Some(hint) = next(&mut hints).await {
        match hint {
            Heard::Plan(run) => fail(&engine, run).await,
            Heard::Missed => look(&engine).await,
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
            Ok(
                Hint::Ready(_)
                | Hint::Sweep(_)
                | Hint::Release(_)
                | Hint::Deliver
                | Hint::Logged(_)
                | Hint::Reap
                | Hint::Collect,
            ) => {}
            Err(RecvError::Lagged(_)) => return Some(Heard::Missed),
            Err(RecvError::Closed) => return None,
        }
    }
}

/// What waited before we listened, or while a hint was lost.
async fn look<S: Store>(engine: &Engine<S>) {
    let mut last = None;
    loop {
        let Ok(waiting) = engine.store().runs_planning(last, ROUND_MAX).await else { return };
        let Some(newest) = waiting.last() else { return };
        last = Some(*newest);
        for run in waiting {
            fail(engine, run).await;
        }
    }
}

async fn fail<S: Store>(engine: &Engine<S>, run: RunId) {
    if let Err(error) = engine.perform(PlanFailed { run, message: NO_PLANNER.into() }).await {
        tracing::warn!(%run, %error, "a run without a plan could not be ended; its deadline will");
    }
}
