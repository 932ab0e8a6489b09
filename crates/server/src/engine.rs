//! The engine: runs `perform`'s batches over a store, one after the other, and wakes whoever a commit concerns.
//!
//! While one batch is being saved, the next gathers, is loaded and decided: that is the group commit. The queue is
//! bounded; a caller beyond it is told so at once. Stopping lets what was taken in be answered.

use decisions::jobs::ReleaseDependents;
use decisions::records::QueueId;
use decisions::runs::SweepRun;
use decisions::{Answer, Command, Hint, Policy};
use store::{Store, StoreError};
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crate::clock::Clock;
use crate::metrics::{Metrics, Steps, steps_of};
use crate::perform::{BATCH_MAX, Batch, Failure, Perform, Settled, WAITING_MAX};

/// Nobody waits for a command that a hint gave rise to.
type Ticket = Option<oneshot::Sender<Result<Answer, Failure>>>;

/// A handle; cheap to clone. When the last one is gone, or after [`Engine::stop`], the engine ends.
pub struct Engine<S> {
    store: Arc<S>,
    clock: Clock,
    commands: mpsc::Sender<(Command, Ticket)>,
    hints: broadcast::Sender<Hint>,
    deliver: Arc<Notify>,
    commits: watch::Sender<u64>,
    stop: watch::Sender<bool>,
    metrics: Arc<Metrics>,
    task: Arc<tokio::sync::Mutex<Option<JoinHandle<()>>>>,
}

impl<S> Clone for Engine<S> {
    fn clone(&self) -> Engine<S> {
        Engine {
            store: self.store.clone(),
            clock: self.clock,
            commands: self.commands.clone(),
            hints: self.hints.clone(),
            deliver: self.deliver.clone(),
            commits: self.commits.clone(),
            stop: self.stop.clone(),
            metrics: self.metrics.clone(),
            task: self.task.clone(),
        }
    }
}

/// Hints that a slow listener may miss; a tick finds the same work.
const HINTS_KEPT: usize = 8_192;

impl<S: Store> Engine<S> {
    pub fn start(store: Arc<S>, clock: Clock, policy: Policy) -> Engine<S> {
        let (commands, incoming) = mpsc::channel(WAITING_MAX);
        let (hints, _) = broadcast::channel(HINTS_KEPT);
        let deliver = Arc::new(Notify::new());
        let (commits, _) = watch::channel(0);
        let (stop, stopping) = watch::channel(false);
        let metrics = Arc::new(Metrics::default());
        let shell = Shell {
            store: store.clone(),
            clock,
            perform: Perform::new(policy),
            incoming,
            hints: hints.clone(),
            deliver: deliver.clone(),
            commits: commits.clone(),
            stopping,
            saving: VecDeque::new(),
            alone: 0,
            queues_told: HashSet::new(),
            metrics: metrics.clone(),
        };
        let task = Arc::new(tokio::sync::Mutex::new(Some(tokio::spawn(shell.run()))));
        Engine { store, clock, commands, hints, deliver, commits, stop, metrics, task }
    }

    /// Performs one command: the answer comes after the commit that makes it true.
    pub async fn perform(&self, command: impl Into<Command>) -> Result<Answer, Failure> {
        let command = command.into();
        let (name, began) = (command.name(), self.clock.now());
        let answer = self.send(command).await;
        self.metrics.performed(name, &answer, self.clock.now().since(began));
        answer
    }

    async fn send(&self, command: Command) -> Result<Answer, Failure> {
        if *self.stop.borrow() {
            return Err(Failure::Unavailable("the server is stopping".into()));
        }
        let (ticket, answer) = oneshot::channel();
        self.commands.try_send((command, Some(ticket))).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Failure::Busy,
            mpsc::error::TrySendError::Closed(_) => Failure::Unavailable("the server is stopping".into()),
        })?;
        answer.await.unwrap_or_else(|_| Err(Failure::Unknown("the engine ended before it answered".into())))
    }

    pub fn store(&self) -> &S {
        &self.store
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub fn hints(&self) -> broadcast::Receiver<Hint> {
        self.hints.subscribe()
    }

    /// Changes after every commit of this engine: the audit log may have grown.
    pub fn committed(&self) -> watch::Receiver<u64> {
        self.commits.subscribe()
    }

    /// Returns after a commit wrote a message to deliver. For the one outbox, which need not hear all other hints.
    pub async fn delivery_written(&self) {
        self.deliver.notified().await;
    }

    /// Takes nothing new in, answers what is waiting, and returns when the last of it is durable.
    pub async fn stop(&self) {
        self.stop.send_replace(true);
        if let Some(task) = self.task.lock().await.take() {
            task.await.expect("the engine does not panic");
        }
    }
}

struct Shell<S> {
    store: Arc<S>,
    clock: Clock,
    perform: Perform<Ticket>,
    incoming: mpsc::Receiver<(Command, Ticket)>,
    hints: broadcast::Sender<Hint>,
    deliver: Arc<Notify>,
    commits: watch::Sender<u64>,
    stopping: watch::Receiver<bool>,
    /// Batches on their way to the disk, the oldest first.
    saving: VecDeque<Saving>,
    /// Batches that must still go one at a time, because two at once got into each other's way.
    alone: u32,
    /// Queues that were told of after a commit: whoever listens can find them in the store.
    queues_told: HashSet<QueueId>,
    metrics: Arc<Metrics>,
}

struct Saving {
    commands: usize,
    steps: Steps,
    task: JoinHandle<(Batch<Ticket>, Result<(), StoreError>)>,
}

/// Where a load does not see what is on its way, more batches would only be smaller, and each costs a commit.
const SAVING_MAX: usize = 2;

/// Where it does, what is decided while others are written shares their commit: small batches keep all hands busy.
const SAVING_MAX_AHEAD: usize = 4;
const AHEAD_MAX: usize = 128;
/// A batch beside others should be worth its way through the threads.
const AHEAD_MIN: usize = 64;

/// After a conflict, so many batches do not overlap.
const ALONE: u32 = 64;

impl<S: Store> Shell<S> {
    async fn run(mut self) {
        loop {
            let first = tokio::select! {
                biased;
                _ = self.stopping.changed(), if !self.incoming.is_closed() => {
                    self.incoming.close(); // what is in the channel still comes out of it
                    continue;
                }
                first = self.incoming.recv() => first,
            };
            let Some((command, ticket)) = first else { return };
            self.take_in(command, ticket);
            self.work_off().await;
        }
    }

    /// Runs batches until nothing waits and all is saved; whatever arrived during one goes into the next.
    async fn work_off(&mut self) {
        loop {
            if *self.stopping.borrow() {
                self.incoming.close(); // or steady callers would keep us at work for ever
            }
            while let Ok((command, ticket)) = self.incoming.try_recv() {
                self.take_in(command, ticket);
            }
            if let Some(batch) = self.next_batch() {
                self.begin(batch).await;
            } else if self.saving.is_empty() {
                return;
            } else {
                self.wait().await;
            }
        }
    }

    /// A batch beside those that are being saved must be worth it.
    fn next_batch(&mut self) -> Option<Batch<Ticket>> {
        let waiting = self.perform.waiting();
        let may = match self.saving.back() {
            None => true,
            Some(_) if self.alone > 0 || self.perform.has_again() => false,
            Some(before) if S::SEES_AHEAD => {
                self.saving.len() < SAVING_MAX_AHEAD && waiting >= before.commands.min(AHEAD_MIN)
            }
            Some(before) => self.saving.len() < SAVING_MAX && waiting * 4 >= before.commands * 3,
        };
        let most = if S::SEES_AHEAD { AHEAD_MAX } else { BATCH_MAX };
        if may { self.perform.poll_batch(most) } else { None }
    }

    /// Loads and decides; the saving goes on by itself.
    async fn begin(&mut self, mut batch: Batch<Ticket>) {
        let loaded = match self.store.load(&batch.asks(), self.clock.now()).await {
            Ok(loaded) => loaded,
            Err(error) => {
                let settled = self.perform.handle_saved(batch, Err(error));
                return self.settle(settled);
            }
        };
        let mut book = loaded.book;
        self.perform.handle_loaded(&mut batch, &mut book, loaded.now);
        if S::SEES_AHEAD {
            let told = |queue: &QueueId| self.queues_told.contains(queue);
            batch.ready_ahead(told).for_each(|hint| drop(self.hints.send(hint))); // nobody may be listening
        }
        let (store, session) = (self.store.clone(), loaded.session);
        let (commands, steps) = (batch.size(), steps_of(&book.appended.transitions));
        let task = tokio::spawn(async move {
            let saved = store.save(session, book).await;
            (batch, saved)
        });
        self.saving.push_back(Saving { commands, steps, task });
    }

    /// Until the oldest save is over or a command comes.
    async fn wait(&mut self) {
        let oldest = self.saving.front_mut().expect("only waited for while something is saved");
        tokio::select! {
            biased;
            done = &mut oldest.task => {
                let (batch, saved) = done.expect("saving does not panic");
                if let (Some(Saving { commands, steps, .. }), Ok(())) = (self.saving.pop_front(), &saved) {
                    self.metrics.saved(commands, steps);
                    self.commits.send_modify(|commits| *commits += 1);
                }
                self.alone = match &saved {
                    Err(StoreError::Conflict(_)) => ALONE,
                    Ok(()) | Err(_) => self.alone.saturating_sub(1),
                };
                let settled = self.perform.handle_saved(batch, saved);
                self.settle(settled);
            }
            Some((command, ticket)) = self.incoming.recv() => self.take_in(command, ticket),
        }
    }

    fn settle(&mut self, settled: Settled<Ticket>) {
        for (ticket, answer) in settled.answers {
            if let Some(ticket) = ticket {
                let _ = ticket.send(answer); // the caller may have gone; what is durable stays
            }
        }
        for hint in settled.hints {
            self.follow(hint);
            if let Hint::Ready(queue) = hint {
                self.queues_told.insert(queue);
            }
            let _ = self.hints.send(hint); // nobody may be listening
        }
    }

    /// Work in chunks goes on at once; if there is no room for it now, a tick finds it.
    fn follow(&mut self, hint: Hint) {
        let command = match hint {
            Hint::Sweep(run) => SweepRun { run }.into(),
            Hint::Release(job) => ReleaseDependents { job }.into(),
            Hint::Deliver => return self.deliver.notify_one(),
            Hint::Ready(_) | Hint::Plan(_) | Hint::Logged(_) | Hint::Reap => return,
        };
        let _ = self.perform.handle_command(command, None);
    }

    fn take_in(&mut self, command: Command, ticket: Ticket) {
        if let Err(Some(ticket)) = self.perform.handle_command(command, ticket) {
            let _ = ticket.send(Err(Failure::Busy)); // the caller may have gone
        }
    }
}
