//! The search: every world that can be reached, each once, and the path to one in which a rule is broken.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use decisions::{Answer, Command, Decision, Refusal};
use stateright::{Checker, Expectation, HasDiscoveries, Model, Property};

use super::load::load;
use super::play::{Parts, Play};
use super::records::{Seen, is_empty};
use super::story::Story;
use super::world::{Flight, TICK, World, fingerprint};

/// A play with what it is made of.
#[derive(Clone)]
pub struct Stage<P: Play> {
    pub play: P,
    pub parts: Parts,
}

/// What can happen next.
#[derive(Debug, Clone, PartialEq)]
pub enum Action<M, S> {
    /// A server takes a message up, loads, and decides.
    Load(M),
    /// The server saves; its answer arrives or is lost.
    Save {
        flight: usize,
        message: M,
        heard: bool,
    },
    /// The server dies between load and save.
    Crash {
        flight: usize,
        message: M,
    },
    Step(S),
    Pass,
}

impl<M: fmt::Display, S: fmt::Display> fmt::Display for Action<M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Load(message) => write!(f, "a server takes up: {message}"),
            Action::Save { message, heard: true, .. } => write!(f, "a server saves: {message}"),
            Action::Save { message, heard: false, .. } => {
                write!(f, "a server saves, and its answer is lost: {message}")
            }
            Action::Crash { message, .. } => write!(f, "a server dies before it saves: {message}"),
            Action::Step(step) => write!(f, "{step}"),
            Action::Pass => write!(f, "a second passes"),
        }
    }
}

/// No pair that a table does not list, no record that was not asked for.
pub const PANIC: &str = "no decision panics";

/// From every world, once faults stop, everything comes to an end.
pub const CALM: &str = "in calm, everything ends";

/// Calm is tried from one world in so many.
const CALM_EVERY: u64 = 8;

/// Seconds within which calm must bring the end.
const CALM_SECONDS: u32 = 60;

impl<P: Play> Stage<P> {
    /// As in production.
    pub fn real(play: P) -> Stage<P> {
        Stage { play, parts: Parts::REAL }
    }

    /// What the real server does: load, decide, and catch a mistake of ours.
    pub fn decide(&self, world: &World<P>, command: &Command) -> Decided {
        let book = load(&world.records, command);
        let policy = self.play.policy();
        let decided =
            catch_unwind(AssertUnwindSafe(|| (self.parts.decide)(&book, command, world.now, policy)));
        match decided {
            Err(_) => Decided::Panicked,
            Ok(Err(refusal)) => Decided::Refused(refusal),
            Ok(Ok(decision)) => {
                let seen = world.records.seen(&book, &decision.changes);
                Decided::Done(Box::new((decision, seen)))
            }
        }
    }

    /// One command, from load to save, with nothing between. For beginnings and for calm.
    pub fn perform(&self, world: &mut World<P>, command: impl Into<Command>) -> Result<Answer, Refusal> {
        match self.decide(world, &command.into()) {
            Decided::Panicked => {
                world.break_rule(Some(PANIC));
                Ok(Answer::Settled { moved: false })
            }
            Decided::Refused(refusal) => Err(refusal),
            Decided::Done(done) => {
                (self.parts.write)(Arc::make_mut(&mut world.records), &done.0.changes);
                Ok(done.0.answer)
            }
        }
    }

    fn take_up(&self, world: &mut World<P>, message: P::Message) {
        let command = self.play.command(world, &message);
        match self.decide(world, &command) {
            Decided::Panicked => world.break_rule(Some(PANIC)),
            Decided::Refused(refusal) => self.play.told(&mut world.actors, &message, &Err(refusal)),
            Decided::Done(done) => {
                let (decision, seen) = *done;
                let broken = self.play.judge_decision(world, &message, &decision);
                world.break_rule(broken);
                if is_empty(&decision.changes) {
                    return self.play.told(&mut world.actors, &message, &Ok(decision.answer));
                }
                let Decision { answer, changes, .. } = decision;
                let (changes, seen) = (Arc::new(changes), Arc::new(seen));
                world.flights.push(Flight { message, answer, changes, seen });
            }
        }
    }

    /// A flight whose ground has moved can only be refused, and its message taken up again: it is dropped at once.
    fn save(&self, world: &mut World<P>, flight: usize, heard: bool) {
        let Flight { message, answer, changes, .. } = world.flights.remove(flight);
        let before = world.records.clone();
        (self.parts.write)(Arc::make_mut(&mut world.records), &changes);
        let broken = self.play.judge_save(&before, &world.records);
        world.break_rule(broken);
        let records = &world.records;
        world.flights.retain(|other| !(self.parts.conflicts)(records, &other.seen));
        if heard {
            self.play.told(&mut world.actors, &message, &Ok(answer));
        }
    }

    /// Everybody who was at work is gone; from here on everybody helps. Returns whether it came to an end.
    pub fn calms(&self, world: &World<P>) -> bool {
        let mut world = world.clone();
        world.flights.clear();
        for _ in 0..CALM_SECONDS {
            self.play.help(self, &mut world);
            if self.play.is_over(&world) {
                return world.broken.is_none();
            }
            world.now = world.now.plus(TICK);
        }
        false
    }
}

/// What a decision came to.
pub enum Decided {
    Done(Box<(Decision, Seen)>),
    Refused(Refusal),
    Panicked,
}

impl<P: Play> Model for Stage<P> {
    type State = World<P>;
    type Action = Action<P::Message, P::Step>;

    fn init_states(&self) -> Vec<World<P>> {
        vec![self.play.begin()]
    }

    fn actions(&self, world: &World<P>, actions: &mut Vec<Self::Action>) {
        if world.broken.is_some() {
            return; // the path ends where a rule is broken
        }
        if world.flights.len() < self.play.servers() {
            actions.extend(self.play.messages(world).into_iter().map(Action::Load));
        }
        for (flight, Flight { message, .. }) in world.flights.iter().enumerate() {
            let message = message.clone();
            actions.push(Action::Save { flight, message: message.clone(), heard: true });
            if self.play.is_awaited(&message) {
                actions.push(Action::Save { flight, message: message.clone(), heard: false });
            }
            actions.push(Action::Crash { flight, message });
        }
        actions.extend(self.play.steps(world).into_iter().map(Action::Step));
        actions.push(Action::Pass);
    }

    fn next_state(&self, world: &World<P>, action: Self::Action) -> Option<World<P>> {
        let mut world = world.clone();
        match action {
            Action::Load(message) => self.take_up(&mut world, message),
            Action::Save { flight, heard, .. } => self.save(&mut world, flight, heard),
            Action::Crash { flight, .. } => drop(world.flights.remove(flight)),
            Action::Step(step) => self.play.step(&mut world, &step),
            Action::Pass => world.now = world.now.plus(TICK),
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = self.play.properties();
        properties.push(Property::always(PANIC, |_, world: &World<P>| world.broken != Some(PANIC)));
        properties.push(Property::always(CALM, |stage: &Stage<P>, world: &World<P>| {
            !fingerprint(world).is_multiple_of(CALM_EVERY) || world.broken.is_some() || stage.calms(world)
        }));
        properties
    }
}

/// Goes through all worlds and returns how many there are, or in words how a rule comes to be broken.
///
/// In depth, where a handful of worlds wait to be looked at; in breadth they would be millions, and gigabytes.
pub fn explore<P: Play>(stage: Stage<P>) -> Result<usize, Story> {
    let properties = stage.properties();
    let once_more = stage.clone();
    let checker =
        stage.checker().threads(THREADS).finish_when(HasDiscoveries::AnyFailures).spawn_dfs().join();
    let found = checker.discoveries();
    let (rules, goals): (Vec<_>, Vec<_>) =
        properties.iter().partition(|property| property.expectation != Expectation::Sometimes);
    if let Some(rule) = rules.iter().find(|rule| found.contains_key(rule.name)) {
        return Err(find(once_more, rule.name).expect("what was found in depth is there in breadth"));
    }
    match goals.iter().find(|goal| !found.contains_key(goal.name)) {
        Some(goal) => Err(Story { rule: goal.name, steps: Vec::new() }),
        None => Ok(checker.unique_state_count()),
    }
}

/// How this rule comes to be broken, if it can be. In breadth: the way there is short.
pub fn find<P: Play>(stage: Stage<P>, rule: &'static str) -> Option<Story> {
    let enough = HasDiscoveries::AnyOf([rule].into());
    let checker = stage.checker().threads(THREADS).finish_when(enough).spawn_bfs().join();
    checker.discovery(rule).map(|path| Story::shortest(checker.model(), rule, path.into_actions()))
}

/// The machines that we promise figures for have two cores.
const THREADS: usize = 2;
