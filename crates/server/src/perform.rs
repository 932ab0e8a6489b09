//! Perform: many waiting commands, one load, each decided in order, one durable save, and only then the answers.
//!
//! This is the core without I/O: it is handed commands, what was loaded and how the save went; it hands out batches,
//! books and answers. A batch that meets a conflict is decided again; one that breaks a constraint is split until the
//! guilty command stands alone, so that the innocent are served.
//!
//! Never: waits, spawns, reads the clock, answers before the save.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use decisions::ask::merged;
use decisions::records::QueueId;
use decisions::{Answer, Ask, Book, Command, Decision, Hint, Policy, Refusal};
use store::StoreError;
use wire::Time;

use crate::weight::{PLANS_WEIGHT_MAX, plan_weight};

/// The most commands that share one commit.
pub const BATCH_MAX: usize = 512;

/// The most commands that wait; beyond it a caller is sent away at once.
pub const WAITING_MAX: usize = 8_192;

/// How often a batch is decided again because the records moved.
const CONFLICTS_MAX: u32 = 64;

/// From this conflict on a batch is split, so that two servers do not trip over each other's whole batches for ever.
const CONFLICTS_BEFORE_SPLIT: u32 = 8;

/// From the second conflict on a batch goes again after a pause, which doubles from the first to the last of these: who
/// tries at once takes from those that win what they need to be through.
const CONFLICT_PAUSE_MIN: Duration = Duration::from_millis(1);
const CONFLICT_PAUSE_MAX: Duration = Duration::from_millis(50);

/// Why a command has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The answer is no. Nothing changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Too much is waiting. Nothing changed; try again later.
    #[error("the server is busy: try again in a moment")]
    Busy,
    /// Nothing can be written now. Nothing changed; try again later.
    #[error("{0}: try again later")]
    Unavailable(Unavailable),
    /// The store did not say whether it wrote. Never success; the same command may be sent again.
    #[error("it is not known whether this was written ({0}): send the same command again")]
    Unknown(String),
    /// A mistake of ours. Nothing changed.
    #[error("internal error ({0}): please report it")]
    Bug(String),
}

/// Why nothing can be written now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    #[error("the store is not available ({0})")]
    Store(String),
    #[error("the server is stopping")]
    Stopping,
}

impl Failure {
    /// Stable, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Failure::Refused(refusal) => refusal.code(),
            Failure::Busy => "busy",
            Failure::Unavailable(Unavailable::Store(_)) => "store_unavailable",
            Failure::Unavailable(Unavailable::Stopping) => "stopping",
            Failure::Unknown(_) => "outcome_unknown",
            Failure::Bug(_) => "internal_error",
        }
    }
}

/// A command and whom to tell; `T` is up to the shell.
#[derive(Debug)]
struct Waiting<T> {
    /// Its place among all that came.
    arrived: u64,
    command: Command,
    ticket: T,
}

/// Commands on their way through one load and one save.
#[derive(Debug)]
pub struct Batch<T> {
    waiting: Vec<Waiting<T>>,
    decided: Vec<Result<Answer, Failure>>,
    hints: Vec<Hint>,
    conflicts: u32,
    deciding: Arc<Deciding>,
}

/// What the shell does after a save.
#[derive(Debug)]
pub struct Settled<T> {
    pub answers: Vec<(T, Result<Answer, Failure>)>,
    /// Only of what is durable now.
    pub hints: Vec<Hint>,
}

impl<T> Default for Settled<T> {
    fn default() -> Settled<T> {
        Settled { answers: Vec::new(), hints: Vec::new() }
    }
}

/// How a command is decided.
pub type Decide = fn(&Book, &Command, Time, &Policy) -> Result<Decision, Refusal>;

#[derive(Debug)]
struct Deciding {
    policy: Policy,
    decide: Decide,
}

/// Everything that waits.
#[derive(Debug)]
pub struct Perform<T> {
    waiting: VecDeque<Waiting<T>>,
    /// Those that make whole runs, apart: what is too much for one batch must not hold up what came after it.
    plans: VecDeque<Waiting<T>>,
    arrived: u64,
    /// Batches that must go again, before anything new.
    again: Vec<Batch<T>>,
    deciding: Arc<Deciding>,
}

impl<T> Perform<T> {
    pub fn new(policy: Policy) -> Perform<T> {
        Perform::deciding(policy, decisions::decide)
    }

    /// With something around the decisions: a simulator plants its mistakes so.
    pub fn deciding(policy: Policy, decide: Decide) -> Perform<T> {
        Perform {
            waiting: VecDeque::new(),
            plans: VecDeque::new(),
            arrived: 0,
            again: Vec::new(),
            deciding: Arc::new(Deciding { policy, decide }),
        }
    }

    /// Takes a command in, or hands the ticket back when too much is waiting.
    pub fn handle_command(&mut self, command: Command, ticket: T) -> Result<(), T> {
        if self.waiting() >= WAITING_MAX {
            return Err(ticket);
        }
        self.arrived += 1;
        let line = if plan_weight(&command).is_some() { &mut self.plans } else { &mut self.waiting };
        line.push_back(Waiting { arrived: self.arrived, command, ticket });
        Ok(())
    }

    /// How many commands wait for a first try.
    pub fn waiting(&self) -> usize {
        self.waiting.len() + self.plans.len()
    }

    /// A batch must go again, and had better go alone.
    pub fn has_again(&self) -> bool {
        !self.again.is_empty()
    }

    /// The next batch of at most so many, if anything waits: in the order of arrival, except that plans beyond the weight
    /// of one batch are left for the next, which begins with them.
    pub fn poll_batch(&mut self, most: usize) -> Option<Batch<T>> {
        if let Some(batch) = self.again.pop() {
            return Some(batch);
        }
        let (mut chosen, mut weight) = (Vec::new(), 0);
        while chosen.len() < most
            && let Some(next) = self.first_fitting(&mut weight)
        {
            chosen.push(next);
        }
        (!chosen.is_empty()).then(|| Batch::new(chosen, 0, self.deciding.clone()))
    }

    /// The first to arrive of those that fit beside plans of this weight.
    fn first_fitting(&mut self, weight: &mut usize) -> Option<Waiting<T>> {
        let plan = self.plans.front().and_then(|first| Some((first.arrived, plan_weight(&first.command)?)));
        let plan = plan.filter(|(_, more)| *weight == 0 || *weight + more <= PLANS_WEIGHT_MAX);
        let other = self.waiting.front().map(|first| first.arrived);
        match plan {
            Some((arrived, more)) if other.is_none_or(|other| arrived < other) => {
                *weight += more.max(1); // a plan without jobs is one all the same
                self.plans.pop_front()
            }
            Some(_) | None => self.waiting.pop_front(),
        }
    }

    /// The save, or the load before it, came to this.
    pub fn handle_saved(&mut self, batch: Batch<T>, result: Result<(), StoreError>) -> Settled<T> {
        match result {
            Ok(()) => batch.answered(),
            Err(StoreError::Conflict(_)) if batch.conflicts < CONFLICTS_MAX => {
                self.conflicted(batch);
                Settled::default()
            }
            Err(StoreError::Conflict(_)) => batch.failed(&Failure::Busy),
            Err(StoreError::Violation(_)) if batch.waiting.len() > 1 => {
                self.split(batch);
                Settled::default()
            }
            Err(StoreError::Violation(what)) => batch.failed(&Failure::Bug(what)),
            Err(StoreError::Unavailable(what)) => {
                batch.failed(&Failure::Unavailable(Unavailable::Store(what)))
            }
            Err(StoreError::Unknown(what)) => batch.failed(&Failure::Unknown(what)),
        }
    }

    fn conflicted(&mut self, mut batch: Batch<T>) {
        batch.conflicts += 1;
        if batch.conflicts >= CONFLICTS_BEFORE_SPLIT && batch.waiting.len() > 1 {
            return self.split(batch);
        }
        self.again.push(batch);
    }

    fn split(&mut self, mut batch: Batch<T>) {
        let second = batch.waiting.split_off(batch.waiting.len() / 2);
        self.again.push(Batch::new(second, batch.conflicts, batch.deciding.clone()));
        self.again.push(Batch::new(batch.waiting, batch.conflicts, batch.deciding));
    }
}

impl Deciding {
    /// A mistake of ours must not take the batch down: the book is only changed after the decision is whole.
    fn decide_one(
        &self,
        book: &mut Book,
        command: &Command,
        now: Time,
        hints: &mut Vec<Hint>,
    ) -> Result<Answer, Failure> {
        let decided = catch_unwind(AssertUnwindSafe(|| (self.decide)(book, command, now, &self.policy)));
        let decision = decided.map_err(|panic| Failure::Bug(panic_text(&*panic)))??;
        book.apply(decision.changes);
        hints.extend(decision.hints);
        Ok(decision.answer)
    }
}

impl<T> Batch<T> {
    fn new(waiting: Vec<Waiting<T>>, conflicts: u32, deciding: Arc<Deciding>) -> Batch<T> {
        Batch { waiting, decided: Vec::new(), hints: Vec::new(), conflicts, deciding }
    }

    pub fn size(&self) -> usize {
        self.waiting.len()
    }

    /// How long the shell waits before it loads this.
    pub fn pause(&self) -> Duration {
        let doublings = self.conflicts.checked_sub(2);
        let pause = doublings.map(|doublings| CONFLICT_PAUSE_MIN * 2u32.saturating_pow(doublings.min(31)));
        pause.map_or(Duration::ZERO, |pause| pause.min(CONFLICT_PAUSE_MAX))
    }

    /// What must be loaded, each thing once.
    pub fn asks(&self) -> Vec<Ask> {
        let mut asks = Vec::with_capacity(self.waiting.len() * 2);
        self.waiting.iter().for_each(|waiting| waiting.command.asks(&mut asks));
        if self.conflicts > 0 {
            asks = asks.into_iter().map(Ask::taking_nothing_for_new).collect();
        }
        merged(asks)
    }

    /// Decides the commands on what was loaded; the book then holds what must be saved.
    pub fn handle_loaded(&mut self, book: &mut Book, now: Time) {
        self.decided.clear();
        self.hints.clear();
        for waiting in &self.waiting {
            let decided = self.deciding.decide_one(book, &waiting.command, now, &mut self.hints);
            self.decided.push(decided);
        }
    }

    /// Takes out which queues have work before the save is over. Only where a load already sees this batch: what is
    /// leased then is written after it or not at all.
    pub fn ready_ahead(&mut self, told: impl Fn(&QueueId) -> bool) -> impl Iterator<Item = Hint> {
        self.hints.sort();
        self.hints.dedup();
        self.hints.extract_if(.., move |hint| matches!(hint, Hint::Ready(queue) if told(queue)))
    }

    fn answered(mut self) -> Settled<T> {
        self.hints.sort();
        self.hints.dedup();
        let tickets = self.waiting.into_iter().map(|waiting| waiting.ticket);
        Settled { answers: tickets.zip(self.decided).collect(), hints: self.hints }
    }

    fn failed(self, failure: &Failure) -> Settled<T> {
        let answers =
            self.waiting.into_iter().map(|waiting| (waiting.ticket, Err(failure.clone()))).collect();
        Settled { answers, hints: Vec::new() }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").into()
}
