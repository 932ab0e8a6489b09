//! Plans one run: gathers what there is to know, thinks, and has the plan or the reason against it recorded.

use std::sync::Arc;
use std::time::Duration;

use decisions::records::{Plan, Run};
use decisions::runs::{PlanAccepted, PlanFailed};
use decisions::{Command, Refusal};
use repo::Mirrors;
use store::Store;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use wire::RunId;

use super::gather::gather;
use super::think;
use crate::engine::Engine;
use crate::perform::Failure;

const NO_REPOSITORY: &str = "this run has neither a plan nor a repository to plan from: send it with a `plan`, a list of jobs with their steps, or \
     with a `repository`";
const NO_MIRRORS: &str =
    "this server reads no repositories: send the run with a `plan`, a list of jobs with their steps";
const TOO_LONG: &str = "the repository could not be read in the time a plan may take. What is fetched goes on and is kept: run it again in a \
     while, or start the server with a longer --plan-timeout";
const OURS: &str = "the planner failed on this run. This is a mistake of ours; please report it. Until it is mended, send \
                    the run with a `plan`";

/// Of the time until the deadline: who gives up before it can still say why.
const OWN_SHARE: f64 = 0.9;
/// A store that cannot be written now may be in a moment.
const TRIES_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// Returns the run, whatever became of it.
pub async fn plan<S: Store>(
    engine: Engine<S>,
    mirrors: Option<Mirrors>,
    id: RunId,
    place: OwnedSemaphorePermit,
) -> RunId {
    let run = match engine.store().run(id).await {
        Ok(Some(run)) if run.is_planning() => run,
        Ok(_) => return id,
        Err(error) => {
            tracing::warn!(run = %id, %error, "a run without a plan could not be read; its deadline will end it");
            return id;
        }
    };
    let limit = run.due_at.map_or(Duration::MAX, |due| due.since(engine.clock().now()).mul_f64(OWN_SHARE));
    // On a task of its own, so that a panic ends there.
    let thinking = tokio::spawn(find(engine.clone(), mirrors, run, place));
    let stop = thinking.abort_handle();
    let found = match tokio::time::timeout(limit, thinking).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            tracing::error!(run = %id, %error, "the planner panicked");
            Err(OURS.into())
        }
        Err(_) => {
            stop.abort();
            Err(TOO_LONG.into())
        }
    };
    record(&engine, id, found).await;
    id
}

/// A plan, or why there is none, in words for whoever asked for the run.
async fn find<S: Store>(
    engine: Engine<S>,
    mirrors: Option<Mirrors>,
    run: Run,
    place: OwnedSemaphorePermit,
) -> Result<Plan, String> {
    let Some(repository) = run.repository.clone() else { return Err(NO_REPOSITORY.into()) };
    let Some(mirrors) = mirrors else { return Err(NO_MIRRORS.into()) };
    let run = Arc::new(run);
    let (gathered, place) = {
        let run = run.clone();
        // It cannot be stopped, so the place is taken until it ends by itself.
        on_thread(move || (gather(&mirrors, &repository, &run), place)).await?
    };
    let gathered = gathered.map_err(|error| error.in_full())?;
    let mirror = gathered.mirror.clone();
    let plan = think::plan(engine.store(), &run, gathered).await;
    // Only the next run of the same repository waits for this.
    tokio::spawn(on_thread(move || {
        if let Err(error) = mirror.tidy() {
            tracing::warn!(%error, "a mirror could not be tidied");
        }
        drop(place);
    }));
    plan
}

/// Work that blocks, on a thread that a server which stops does not wait for. A panic there is one here.
pub async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    let (done, result) = oneshot::channel();
    let thread = std::thread::Builder::new().name("planner".into());
    let started = thread.spawn(move || drop(done.send(work())));
    started.map_err(|error| format!("the server could not start a thread ({error}): run it again later"))?;
    Ok(result.await.expect("the thread does not panic"))
}

async fn record<S: Store>(engine: &Engine<S>, run: RunId, found: Result<Plan, String>) {
    let failed = |message| Command::from(PlanFailed { run, message });
    let mut command = match found {
        Ok(plan) => PlanAccepted { run, plan }.into(),
        Err(message) => failed(message),
    };
    for _ in 0..TRIES_MAX {
        match engine.perform(command.clone()).await {
            Ok(_) => return,
            Err(Failure::Refused(Refusal::PlanInvalid { problem })) => {
                command = failed(format!("the plan cannot be used: {problem}"));
            }
            // Cancelled, ended by its deadline, or planned by another server: that came first.
            Err(Failure::Refused(Refusal::RunNotPlanning { .. } | Refusal::RunNotFound)) => return,
            Err(error @ (Failure::Refused(_) | Failure::Bug(_))) => {
                tracing::warn!(%run, %error, "a plan could not be recorded; the run's deadline will end it");
                return;
            }
            Err(Failure::Busy | Failure::Unavailable(_) | Failure::Unknown(_)) => {
                tokio::time::sleep(PAUSE).await
            }
        }
    }
    tracing::warn!(%run, "a plan could not be recorded in {TRIES_MAX} tries; the run's deadline will end it");
}
