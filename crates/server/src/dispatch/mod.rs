//! Dispatch: runners that wait, and the commit that wakes them.
//!
//! A lease is decided by the kernel, in the order that the store keeps; here it is only decided who asks, for which
//! tenant, and when. A wake-up may be lost (another server made the job ready, a hint was overtaken): a look at the
//! store once a second finds the same work, however much is heard meanwhile.
//!
//! Never: decides who wins a lease; trusts that a wake-up means work.

mod board;

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use decisions::leases::{Lease, Wanted};
use decisions::records::QueueId;
use decisions::{Answer, Granted, Hint, Refusal};
use store::{Store, StoreError};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use wire::{JobId, RunnerId, TenantId, Time};

use crate::engine::Engine;
use crate::mint::Mint;
use crate::perform::Failure;
use board::{Board, Pick, Place, Shape};

/// How long a lost wake-up can delay a lease.
const LOOK_EVERY: Duration = Duration::from_secs(1);

type Wake = oneshot::Sender<()>;

/// A handle; cheap to clone.
pub struct Dispatch<S> {
    engine: Engine<S>,
    board: Arc<Mutex<Board<Wake>>>,
    stopping: Arc<watch::Sender<bool>>,
}

impl<S> Clone for Dispatch<S> {
    fn clone(&self) -> Dispatch<S> {
        let Dispatch { engine, board, stopping } = self;
        Dispatch { engine: engine.clone(), board: board.clone(), stopping: stopping.clone() }
    }
}

impl<S: Store> Dispatch<S> {
    /// Listens to the engine until [`Dispatch::stop`].
    pub fn start(engine: Engine<S>) -> Dispatch<S> {
        let dispatch =
            Dispatch { engine, board: Arc::default(), stopping: Arc::new(watch::Sender::new(false)) };
        let hints = dispatch.engine.hints();
        tokio::spawn(dispatch.clone().listen(hints));
        dispatch
    }

    /// Sends everybody home empty-handed, from now on at once.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// The next job that fits, waiting for one up to `wait`.
    pub async fn lease(
        &self,
        scope: Option<TenantId>,
        runner: RunnerId,
        capabilities: Vec<String>,
        wait: Duration,
    ) -> Result<Option<Box<Granted>>, Failure> {
        let asking = Asking { dispatch: self, scope, runner, capabilities };
        asking.insist(self.engine.clock().now().plus(wait)).await
    }

    /// This very job.
    pub async fn lease_job(
        &self,
        scope: Option<TenantId>,
        runner: RunnerId,
        capabilities: Vec<String>,
        job: JobId,
    ) -> Result<Box<Granted>, Failure> {
        let asking = Asking { dispatch: self, scope, runner, capabilities };
        match asking.ask(Wanted::Job(job)).await? {
            Tried::Granted(granted) => Ok(granted),
            Tried::Nothing | Tried::Barred(_) => Err(Failure::Refused(Refusal::JobNotReady)),
        }
    }

    fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    async fn unless_stopped<T>(&self, waiting: impl Future<Output = T>) {
        let mut stopping = self.stopping.subscribe();
        tokio::select! {
            _ = waiting => {}
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
    }

    fn board(&self) -> MutexGuard<'_, Board<Wake>> {
        self.board.lock().expect("no panic holds the board")
    }

    async fn listen(self, mut hints: broadcast::Receiver<Hint>) {
        let mut stopping = self.stopping.subscribe();
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let hint = tokio::select! {
                _ = stopping.wait_for(|stopping| *stopping) => return,
                _ = looks.tick() => None,
                hint = hints.recv() => Some(hint),
            };
            match hint {
                Some(Ok(Hint::Ready(queue))) => self.came(queue).await,
                Some(Ok(
                    Hint::Plan(_)
                    | Hint::Sweep(_)
                    | Hint::Release(_)
                    | Hint::Deliver
                    | Hint::Logged(_)
                    | Hint::Reap,
                )) => {}
                None | Some(Err(RecvError::Lagged(_))) => self.look().await,
                Some(Err(RecvError::Closed)) => return,
            }
        }
    }

    async fn came(&self, queue: QueueId) {
        if self.learn(&[queue]).await.is_err() {
            return; // the store is away; the next look asks again
        }
        self.wake(self.board().may_have_work(queue));
    }

    /// Finds what no hint told of. When the store is away, the next look asks again.
    async fn look(&self) {
        let Ok(ready) = self.engine.store().queues_ready().await else { return };
        if self.learn(&ready).await.is_err() {
            return;
        }
        for queue in ready {
            self.wake(self.board().may_have_work(queue));
        }
    }

    async fn learn(&self, queues: &[QueueId]) -> Result<(), StoreError> {
        let unknown = self.board().unknown(queues);
        if !unknown.is_empty() {
            let queues = self.engine.store().queues_named(unknown).await?;
            self.board().learn(queues);
        }
        Ok(())
    }

    /// One who has gone passes it on by leaving the line.
    fn wake(&self, waiters: impl IntoIterator<Item = Wake>) {
        for waiter in waiters {
            let _ = waiter.send(());
        }
    }
}

/// What came of asking once.
enum Tried {
    Granted(Box<Granted>),
    Nothing,
    /// The runner broke its word and gets nothing for a while.
    Barred(Time),
}

/// A runner that wants work.
struct Asking<'a, S: Store> {
    dispatch: &'a Dispatch<S>,
    scope: Option<TenantId>,
    runner: RunnerId,
    capabilities: Vec<String>,
}

impl<S: Store> Asking<'_, S> {
    fn shape(&self) -> Arc<Shape> {
        Arc::new(Shape { scope: self.scope, capabilities: self.capabilities.iter().cloned().collect() })
    }

    /// Until there is something or the time is up. Only the waiting is cut short, never a lease that is being decided:
    /// it might be granted to nobody.
    async fn insist(&self, until: Time) -> Result<Option<Box<Granted>>, Failure> {
        let shape = self.shape();
        loop {
            // In line before looking: what comes in between wakes us.
            let mut waiting = InLine::join(self.dispatch, shape.clone());
            let tried = self.try_all(&shape).await?;
            let now = self.dispatch.engine.clock().now();
            let left = until.since(now);
            match tried {
                Tried::Granted(granted) => return Ok(Some(granted)),
                Tried::Nothing | Tried::Barred(_) if left.is_zero() || self.dispatch.is_stopping() => {
                    return Ok(None);
                }
                Tried::Nothing => self.dispatch.unless_stopped(timeout(left, waiting.called())).await,
                Tried::Barred(until) => {
                    drop(waiting);
                    self.dispatch.unless_stopped(sleep(until.since(now).min(left))).await;
                }
            }
        }
    }

    /// Every tenant whose queues may have something, in turn.
    async fn try_all(&self, shape: &Shape) -> Result<Tried, Failure> {
        let mut greeted = false;
        loop {
            let pick: Option<Pick> = self.dispatch.board().pick(shape);
            let Some(pick) = pick else {
                // Even when there is nothing to have, the runner is noted as alive, and told if it is barred.
                return if greeted { Ok(Tried::Nothing) } else { self.ask(Wanted::Any(Vec::new())).await };
            };
            let tried = self.ask(Wanted::Any(pick.queues.clone())).await?;
            greeted = true;
            match tried {
                Tried::Nothing => self.dispatch.board().came_back_empty(&pick),
                Tried::Granted(_) => {
                    let woken = self.dispatch.board().came_back_with_work();
                    self.dispatch.wake(woken);
                    return Ok(tried);
                }
                Tried::Barred(_) => return Ok(tried),
            }
        }
    }

    async fn ask(&self, wanted: Wanted) -> Result<Tried, Failure> {
        let engine = &self.dispatch.engine;
        let execution = Mint.execution(engine.clock().now());
        let command = Lease {
            runner: self.runner.clone(),
            tenant: self.scope,
            capabilities: self.capabilities.clone(),
            wanted,
            execution,
            lease: Mint.lease(execution),
        };
        match engine.perform(command).await? {
            Answer::Granted(granted) => Ok(Tried::Granted(granted)),
            Answer::NoWork { barred_until: Some(until) } => Ok(Tried::Barred(until)),
            Answer::NoWork { barred_until: None } => Ok(Tried::Nothing),
            other => Err(Failure::Bug(format!("a lease was answered with {other:?}"))),
        }
    }
}

/// A place in the line, given up when dropped.
struct InLine<'a, S: Store> {
    dispatch: &'a Dispatch<S>,
    shape: Arc<Shape>,
    place: Place,
    called: Option<oneshot::Receiver<()>>,
}

impl<'a, S: Store> InLine<'a, S> {
    fn join(dispatch: &'a Dispatch<S>, shape: Arc<Shape>) -> InLine<'a, S> {
        let (wake, called) = oneshot::channel();
        let place = dispatch.board().wait(&shape, wake);
        InLine { dispatch, shape, place, called: Some(called) }
    }

    async fn called(&mut self) {
        if let Some(called) = &mut self.called {
            let _ = called.await; // the board never drops a waiter without calling it
        }
        self.called = None;
    }
}

impl<S: Store> Drop for InLine<'_, S> {
    fn drop(&mut self) {
        if self.called.is_some() {
            let next = self.dispatch.board().leave(&self.shape, self.place);
            self.dispatch.wake(next);
        }
    }
}
