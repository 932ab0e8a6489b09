//! What a model of a machine has to say: who acts, what they send, what they make of answers, and what must hold.

use std::fmt::{Debug, Display};
use std::hash::Hash;

use decisions::{Answer, Book, Changes, Command, Decision, Policy, Refusal};
use stateright::Property;
use wire::Time;

use super::records::{Records, Seen};
use super::search::Stage;
use super::world::World;

/// Something in words, by which two of its kind can be told apart.
pub trait Word: Clone + PartialEq + Hash + Debug + Display + Send + Sync {}
impl<T: Clone + PartialEq + Hash + Debug + Display + Send + Sync> Word for T {}

pub trait Play: Clone + Send + Sync + Sized + 'static {
    /// What a server can be handed: by the network, or by its own ticks.
    type Message: Word;
    /// What an actor does without a server: send, crash, look at a sink.
    type Step: Word;
    /// What the actors remember, the network included, and what was promised to whom.
    type Actors: Clone + Hash + Debug + Send + Sync;

    fn policy(&self) -> &Policy;

    /// How many servers share the store.
    fn servers(&self) -> usize;

    fn begin(&self) -> World<Self>;

    /// Everything a server may take up now. What the network holds may come at any time, again, or never.
    fn messages(&self, world: &World<Self>) -> Vec<Self::Message>;

    fn command(&self, world: &World<Self>, message: &Self::Message) -> Command;

    /// Somebody waits for the answer, which may get lost.
    fn is_awaited(&self, message: &Self::Message) -> bool;

    /// The answer arrives.
    fn told(&self, actors: &mut Self::Actors, message: &Self::Message, answer: &Result<Answer, Refusal>);

    fn steps(&self, world: &World<Self>) -> Vec<Self::Step>;

    fn step(&self, world: &mut World<Self>, step: &Self::Step);

    /// The rule that a decision breaks, looked at on what it was loaded from.
    fn judge_decision(
        &self,
        world: &World<Self>,
        message: &Self::Message,
        decision: &Decision,
    ) -> Option<&'static str>;

    /// The rule that a save breaks, whoever decided it.
    fn judge_save(&self, before: &Records, after: &Records) -> Option<&'static str>;

    /// `always` and `sometimes`.
    fn properties(&self) -> Vec<Property<Stage<Self>>>;

    /// Faults are over and everybody helps: does what can be done at this moment.
    fn help(&self, stage: &Stage<Self>, world: &mut World<Self>);

    /// Nothing is left to be done.
    fn is_over(&self, world: &World<Self>) -> bool;
}

/// What a model is made of besides its play. A planted mistake is a wrapper around one of these.
#[derive(Clone, Copy)]
pub struct Parts {
    pub decide: fn(&Book, &Command, Time, &Policy) -> Result<Decision, Refusal>,
    /// Whether a save is refused because what it rests on has moved.
    pub conflicts: fn(&Records, &Seen) -> bool,
    pub write: fn(&mut Records, &Changes),
}

impl Parts {
    pub const REAL: Parts =
        Parts { decide: decisions::decide, conflicts: Records::moved_since, write: Records::write };
}
