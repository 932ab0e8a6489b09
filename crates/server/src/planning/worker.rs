//! Follows the hints and plans what they name, a few runs at a time.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use decisions::Hint;
use repo::Mirrors;
use store::Store;
use tokio::sync::Semaphore;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use wire::RunId;

use super::one;
use crate::engine::Engine;
use crate::ticks::ROUND_MAX;

/// Runs that are planned at the same time.
const AT_ONCE_MAX: usize = 2;
/// Runs that wait to be planned; what comes beyond meets its planning deadline.
const WAITING_MAX: usize = 10_000;
/// How often it is looked for what nobody plans: its hint was lost, or whoever heard it is gone.
const LOOK: Duration = Duration::from_secs(2);

/// Follows the hints for ever. What waited before we listened is looked for at the start; a hint that is lost costs
/// two looks.
pub async fn run<S: Store>(engine: Engine<S>, mirrors: Option<Mirrors>) {
    let mut hints = engine.hints();
    let mut worker = Worker {
        engine,
        mirrors,
        room: Arc::new(Semaphore::new(AT_ONCE_MAX)),
        waiting: VecDeque::new(),
        known: BTreeSet::new(),
        seen: BTreeSet::new(),
        tasks: JoinSet::new(),
    };
    worker.take_all().await;
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let room = worker.room.clone();
        tokio::select! {
            hint = hints.recv() => match hint {
                Ok(Hint::Plan(run)) => worker.add(run),
                Ok(
                    Hint::Ready(_)
                    | Hint::Sweep(_)
                    | Hint::Release(_)
                    | Hint::Deliver
                    | Hint::Logged(_)
                    | Hint::Reap,
                ) => {}
                Err(RecvError::Lagged(_)) => worker.take_all().await,
                Err(RecvError::Closed) => return,
            },
            _ = looks.tick() => worker.take_left().await,
            place = room.acquire_owned(), if !worker.waiting.is_empty() => {
                let Some(run) = worker.waiting.pop_front() else { continue };
                let place = place.expect("the room is never closed");
                let (engine, mirrors) = (worker.engine.clone(), worker.mirrors.clone());
                worker.tasks.spawn(one::plan(engine, mirrors, run, place));
            }
            Some(ended) = worker.tasks.join_next() => {
                let run = ended.expect("a planner's panic is caught around its run");
                worker.known.remove(&run);
            }
        }
    }
}

struct Worker<S> {
    engine: Engine<S>,
    mirrors: Option<Mirrors>,
    room: Arc<Semaphore>,
    waiting: VecDeque<RunId>,
    /// Waiting or at work: each run once.
    known: BTreeSet<RunId>,
    /// Without a plan at the last look, whoever's they are.
    seen: BTreeSet<RunId>,
    /// Ends with us.
    tasks: JoinSet<RunId>,
}

impl<S: Store> Worker<S> {
    fn add(&mut self, run: RunId) {
        if self.waiting.len() >= WAITING_MAX {
            tracing::warn!(%run, waiting = WAITING_MAX, "too many runs wait for a plan; this one's deadline will end it");
        } else if self.known.insert(run) {
            self.waiting.push_back(run);
        }
    }

    /// What waited before we listened, or while hints were lost.
    async fn take_all(&mut self) {
        self.without_plan().await.into_iter().for_each(|run| self.add(run));
    }

    /// What was there at the last look too. Another server's run has its plan by then, or is planned twice: one counts.
    async fn take_left(&mut self) {
        let now = self.without_plan().await;
        now.intersection(&self.seen).copied().collect::<Vec<_>>().into_iter().for_each(|run| self.add(run));
        self.seen = now;
    }

    async fn without_plan(&self) -> BTreeSet<RunId> {
        let mut runs = BTreeSet::new();
        while runs.len() < WAITING_MAX {
            let Ok(page) = self.engine.store().runs_planning(runs.last().copied(), ROUND_MAX).await else {
                break;
            };
            if page.is_empty() {
                break;
            }
            runs.extend(page);
        }
        runs
    }
}
