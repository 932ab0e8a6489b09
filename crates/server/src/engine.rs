//! The engine: runs `perform`'s batches over a store, and wakes whoever a commit concerns.
//!
//! While one batch is being saved, the next gathers, is loaded and decided: that is the group commit. The queue is
//! bounded; a caller beyond it is told so at once. Stopping lets what was taken in be answered.

use decisions::jobs::ReleaseDependents;
use decisions::leases::RunnerGone;
use decisions::records::QueueId;
use decisions::runs::SweepRun;
use decisions::{Answer, Book, Command, Hint, Policy};
use store::{Loaded, Store, StoreError};
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use std::collections::HashSet;
use std::sync::Arc;

use crate::clock::Clock;
use crate::metrics::{Metrics, Steps};
use crate::perform::{BATCH_MAX, Batch, Failure, Perform, Settled, Unavailable, WAITING_MAX};

type Outcome = Result<Answer, Failure>;

/// Nobody waits for a command that a hint gave rise to.
type Ticket = Option<oneshot::Sender<Outcome>>;

/// What waits for the engine.
type Commands = mpsc::Sender<(Command, Ticket)>;

/// A handle; cheap to clone. When the last one is gone, or after [`Engine::stop`], the engine ends.
pub struct Engine<S> {
    store: Arc<S>,
    clock: Clock,
    commands: Commands,
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
            on_their_way: JoinSet::new(),
            before: 0,
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
            return Err(Failure::Unavailable(Unavailable::Stopping));
        }
        let (ticket, answer) = oneshot::channel();
        let mut expected = Expected { answer, commands: &self.commands };
        self.commands.try_send((command, Some(ticket))).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Failure::Busy,
            mpsc::error::TrySendError::Closed(_) => Failure::Unavailable(Unavailable::Stopping),
        })?;
        let lost = || Err(Failure::Unknown("the engine ended before it answered".into()));
        (&mut expected.answer).await.unwrap_or_else(|_| lost())
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
        if let Some(task) = self.task.lock().await.take()
            && let Err(panic) = task.await
        {
            tracing::error!(%panic, "the engine had ended by a mistake of ours: please report it");
        }
    }

    /// Why nothing will be written any more in this process, if that is so: only a restart helps.
    pub fn cannot_write(&self) -> Option<&'static str> {
        if self.store.has_stopped() {
            return Some("the disk did not keep what was written: look at it, and start the server again");
        }
        // It closes its queue when it stops, and when a mistake of ours outside any one command ends it.
        let has_ended = self.commands.is_closed() && !*self.stop.borrow();
        has_ended
            .then_some("the engine ended by a mistake of ours: please report it, and start the server again")
    }
}

/// An answer that somebody waits for. Who gives up waiting between the answer and hearing it leaves it here.
struct Expected<'a> {
    answer: oneshot::Receiver<Outcome>,
    commands: &'a Commands,
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        self.answer.close(); // from here on the engine itself sees that nobody hears it
        if let Ok(unheard) = self.answer.try_recv()
            && let Some(command) = taking_back(&unheard)
        {
            let _ = self.commands.try_send((command, None)); // without room for it now, a tick finds the lease
        }
    }
}

/// A lease that nobody was told of would stay out until a tick finds it unacknowledged, and count against its runner.
fn taking_back(unheard: &Outcome) -> Option<Command> {
    match unheard {
        Ok(Answer::Granted(granted)) => Some(RunnerGone { execution: granted.execution }.into()),
        Ok(_) | Err(_) => None, // what is durable stays
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
    on_their_way: JoinSet<Saved>,
    /// The size of the batch that was sent last.
    before: usize,
    /// Batches that must still go one at a time, because two at once got into each other's way.
    alone: u32,
    /// Queues that were told of after a commit: whoever listens can find them in the store.
    queues_told: HashSet<QueueId>,
    metrics: Arc<Metrics>,
}

/// A batch on what it found, not written yet.
struct Decided<S: Store> {
    batch: Batch<Ticket>,
    book: Book,
    session: S::Session,
    steps: Steps,
}

/// How a batch ended.
struct Saved {
    batch: Batch<Ticket>,
    steps: Steps,
    result: Result<(), StoreError>,
}

async fn decide<S: Store>(store: &S, mut batch: Batch<Ticket>, clock: Clock) -> Result<Decided<S>, Saved> {
    if !batch.pause().is_zero() {
        sleep(batch.pause()).await;
    }
    match store.load(&batch.asks(), clock.now()).await {
        Err(error) => Err(Saved { batch, steps: Steps::default(), result: Err(error) }),
        Ok(Loaded { mut book, now, session }) => {
            batch.handle_loaded(&mut book, now);
            let steps = Steps::of(&book.appended.transitions);
            Ok(Decided { batch, book, session, steps })
        }
    }
}

impl<S: Store> Decided<S> {
    async fn save(self, store: &S) -> Saved {
        let result = store.save(self.session, self.book).await;
        Saved { batch: self.batch, steps: self.steps, result }
    }
}

/// Where a load does not see what is on its way, batches that overlap keep the database busy while one of them waits for
/// the disk; more of them would only be smaller, and each costs a commit.
const BESIDE_MAX: usize = 2;

/// Where it does, what is decided while others are written shares their commit: small batches keep all hands busy.
const AHEAD_MAX: usize = 4;
const AHEAD_COMMANDS_MAX: usize = 128;
/// A batch beside others should be worth its way through the threads.
const AHEAD_COMMANDS_MIN: usize = 64;

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
            } else if self.on_their_way.is_empty() {
                return;
            } else {
                self.wait().await;
            }
        }
    }

    /// A batch beside those that are on their way must be worth it.
    fn next_batch(&mut self) -> Option<Batch<Ticket>> {
        let (waiting, beside) = (self.perform.waiting(), self.on_their_way.len());
        let may = match beside {
            0 => true,
            _ if self.alone > 0 || self.perform.has_again() => false,
            _ if S::SEES_AHEAD => beside < AHEAD_MAX && waiting >= self.before.min(AHEAD_COMMANDS_MIN),
            _ => beside < BESIDE_MAX && waiting * 2 >= self.before,
        };
        let most = if S::SEES_AHEAD { AHEAD_COMMANDS_MAX } else { BATCH_MAX };
        if may { self.perform.poll_batch(most) } else { None }
    }

    /// Sends a batch on its way. Where a load sees what is being saved, it is loaded and decided first: the next load must
    /// find it.
    async fn begin(&mut self, batch: Batch<Ticket>) {
        self.before = batch.size();
        let (store, clock) = (self.store.clone(), self.clock);
        if !S::SEES_AHEAD {
            self.on_their_way.spawn(async move {
                match decide(&*store, batch, clock).await {
                    Ok(decided) => decided.save(&*store).await,
                    Err(failed) => failed,
                }
            });
            return;
        }
        match decide(&*store, batch, clock).await {
            Err(failed) => self.saved(failed),
            Ok(mut decided) => {
                let told = |queue: &QueueId| self.queues_told.contains(queue);
                let ahead = decided.batch.ready_ahead(told);
                ahead.for_each(|hint| drop(self.hints.send(hint))); // nobody may be listening
                self.on_their_way.spawn(async move { decided.save(&*store).await });
            }
        }
    }

    /// Until a batch is through or a command comes.
    async fn wait(&mut self) {
        tokio::select! {
            biased;
            Some(saved) = self.on_their_way.join_next() => self.saved(saved.expect("saving does not panic")),
            Some((command, ticket)) = self.incoming.recv() => self.take_in(command, ticket),
        }
    }

    fn saved(&mut self, Saved { batch, steps, result }: Saved) {
        if result.is_ok() {
            self.metrics.saved(batch.size(), steps);
            self.commits.send_modify(|commits| *commits += 1);
        }
        self.alone = match &result {
            Err(StoreError::Conflict(_)) => ALONE,
            Ok(()) | Err(_) => self.alone.saturating_sub(1),
        };
        let settled = self.perform.handle_saved(batch, result);
        self.settle(settled);
    }

    fn settle(&mut self, settled: Settled<Ticket>) {
        for (ticket, answer) in settled.answers {
            if let Some(ticket) = ticket
                && let Err(unheard) = ticket.send(answer)
                && let Some(command) = taking_back(&unheard)
            {
                let _ = self.perform.handle_command(command, None); // without room for it, a tick finds the lease
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
