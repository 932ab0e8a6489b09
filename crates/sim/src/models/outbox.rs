//! The outbox: one message about a run's end, two workers that claim, tell a sink and report back, and an operator.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use decisions::deliveries::{ClaimDelivery, DeliveryDelivered, DeliveryDue, DeliveryFailed, RedriveDelivery};
use decisions::doctor::check_delivery;
use decisions::records::Delivery;
use decisions::{Answer, Command, Decision, Policy, Refusal};
use machines::{delivery, run};
use stateright::Property;

use super::play::Play;
use super::records::{Records, is_empty};
use super::search::{Stage, explore};
use super::story::Story;
use super::work::{audience, create_run};
use super::world::World;

/// Who takes part, and how much may go wrong.
#[derive(Debug, Clone)]
pub struct Outbox {
    pub workers: usize,
    pub servers: usize,
    /// How often an operator sends a dead letter again.
    pub redrives: u32,
    pub policy: Policy,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message {
    Claim {
        worker: usize,
    },
    /// How a claim went.
    Result {
        worker: usize,
        claim: u32,
        delivered: bool,
    },
    ClaimDue,
    Redrive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The sink has it, and says so.
    Arrives(usize),
    /// The sink has it, and its word is lost.
    ArrivesUnheard(usize),
    /// The sink does not have it.
    Refused(usize),
    CrashWorker(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Memory {
    Idle,
    Claimed(u32),
    /// It knows how it went, and says so.
    Reporting(u32),
}

#[derive(Debug, Clone, Hash)]
pub struct Actors {
    pub workers: Vec<Memory>,
    /// Results on their way: they may arrive at any time, again, or never.
    pub network: BTreeSet<Message>,
    /// How often the sink got the message.
    pub sink: u32,
}

pub mod names {
    pub const AT_LEAST_ONCE: &str = "what is delivered has arrived";
    pub const LATE: &str = "an older claim's result changes nothing";
    pub const BOUNDED: &str = "tries stay within their maximum";
    pub const ONE_CLAIM: &str = "no two workers hold the same claim";
    pub const AGREES: &str = "a delivery agrees with itself";
    pub const REPORTED: &str = "a run is reported exactly when its message has ended";
    pub const FINAL: &str = "what is delivered stays so";
}

impl Outbox {
    /// Goes through all worlds; made here for the same reason as that of `Work`.
    pub fn explore(self) -> Result<usize, Story> {
        explore(Stage::real(self))
    }

    pub fn policy() -> Policy {
        let seconds = Duration::from_secs;
        Policy {
            delivery_tries_max: 2,
            delivery_claim_ttl: seconds(2),
            delivery_backoff_first: seconds(1),
            delivery_backoff_max: seconds(2),
            ..Policy::default()
        }
    }
}

fn only(records: &Records) -> &Delivery {
    records.deliveries.all().next().expect("a model of a delivery has one")
}

fn ticks(world: &World<Outbox>) -> Option<Message> {
    let it = only(&world.records);
    let claimed = it.state.get() == delivery::State::Delivering;
    (claimed && it.due_at.is_some_and(|due_at| due_at <= world.now)).then_some(Message::ClaimDue)
}

impl Play for Outbox {
    type Message = Message;
    type Step = Step;
    type Actors = Actors;

    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn servers(&self) -> usize {
        self.servers
    }

    /// A run with nothing to do ends at once, and its subscriber is to be told.
    fn begin(&self) -> World<Outbox> {
        let stage = Stage::real(self.clone());
        let workers = vec![Memory::Idle; self.workers];
        let mut world = World::new(Records::default(), Actors { workers, network: BTreeSet::new(), sink: 0 });
        for command in audience().into_iter().chain([create_run(false, Vec::new())]) {
            stage.perform(&mut world, command).expect("nothing stands in the way of a beginning");
        }
        world
    }

    fn messages(&self, world: &World<Outbox>) -> Vec<Message> {
        let it = only(&world.records);
        let mut messages: Vec<Message> = world.actors.network.iter().cloned().chain(ticks(world)).collect();
        let waits = matches!(it.state.get(), delivery::State::Pending | delivery::State::RetryWait);
        if waits && it.due_at.is_some_and(|due_at| due_at <= world.now) {
            let idle = (0..self.workers).filter(|worker| world.actors.workers[*worker] == Memory::Idle);
            messages.extend(idle.map(|worker| Message::Claim { worker }));
        }
        let is_dead = it.state.get() == delivery::State::DeadLetter;
        if is_dead && it.claims <= self.policy.delivery_tries_max * self.redrives {
            messages.push(Message::Redrive);
        }
        messages
    }

    fn command(&self, world: &World<Outbox>, message: &Message) -> Command {
        let delivery = only(&world.records).id;
        match *message {
            Message::Claim { .. } => ClaimDelivery { delivery }.into(),
            Message::Result { claim, delivered: true, .. } => DeliveryDelivered { delivery, claim }.into(),
            Message::Result { claim, delivered: false, .. } => {
                DeliveryFailed { delivery, claim, error: "refused".into(), jitter: 0.0 }.into()
            }
            Message::ClaimDue => DeliveryDue { delivery, jitter: 0.0 }.into(),
            Message::Redrive => RedriveDelivery { delivery }.into(),
        }
    }

    fn is_awaited(&self, message: &Message) -> bool {
        matches!(message, Message::Claim { .. } | Message::Result { .. })
    }

    fn told(&self, actors: &mut Actors, message: &Message, answer: &Result<Answer, Refusal>) {
        match *message {
            Message::Claim { worker } => {
                if let (Memory::Idle, Ok(Answer::Claimed(Some(it)))) = (actors.workers[worker], answer) {
                    actors.workers[worker] = Memory::Claimed(it.claims);
                }
            }
            Message::Result { worker, claim, .. } => {
                if actors.workers[worker] == Memory::Reporting(claim) {
                    actors.workers[worker] = Memory::Idle;
                }
            }
            Message::ClaimDue | Message::Redrive => {}
        }
    }

    fn steps(&self, world: &World<Outbox>) -> Vec<Step> {
        let mut steps = Vec::new();
        for (worker, memory) in world.actors.workers.iter().enumerate() {
            match memory {
                Memory::Idle => {}
                Memory::Claimed(_) => steps.extend([
                    Step::Arrives(worker),
                    Step::ArrivesUnheard(worker),
                    Step::Refused(worker),
                    Step::CrashWorker(worker),
                ]),
                Memory::Reporting(_) => steps.push(Step::CrashWorker(worker)),
            }
        }
        steps
    }

    fn step(&self, world: &mut World<Outbox>, step: &Step) {
        let actors = &mut world.actors;
        let mut report = |worker: usize, delivered: bool, arrived: u32| {
            let Memory::Claimed(claim) = actors.workers[worker] else { return };
            actors.sink += arrived;
            actors.network.insert(Message::Result { worker, claim, delivered });
            actors.workers[worker] = Memory::Reporting(claim);
        };
        match *step {
            Step::Arrives(worker) => report(worker, true, 1),
            Step::ArrivesUnheard(worker) => report(worker, false, 1),
            Step::Refused(worker) => report(worker, false, 0),
            Step::CrashWorker(worker) => actors.workers[worker] = Memory::Idle,
        }
    }

    fn judge_decision(
        &self,
        world: &World<Outbox>,
        message: &Message,
        decision: &Decision,
    ) -> Option<&'static str> {
        let it = only(&world.records);
        let Message::Result { claim, .. } = message else { return None };
        let speaks = it.state.get() == delivery::State::Delivering && it.claims == *claim;
        (!speaks && !is_empty(&decision.changes)).then_some(names::LATE)
    }

    fn judge_save(&self, before: &Records, after: &Records) -> Option<&'static str> {
        let delivered = |records: &Records| only(records).state.get() == delivery::State::Delivered;
        (delivered(before) && !delivered(after)).then_some(names::FINAL)
    }

    fn properties(&self) -> Vec<Property<Stage<Outbox>>> {
        let mut properties = rules();
        properties.extend(reached());
        properties
    }

    fn help(&self, stage: &Stage<Outbox>, world: &mut World<Outbox>) {
        let delivery = only(&world.records).id;
        drop(stage.perform(world, DeliveryDue { delivery, jitter: 0.0 }));
        drop(stage.perform(world, RedriveDelivery { delivery }));
        if let Ok(Answer::Claimed(Some(it))) = stage.perform(world, ClaimDelivery { delivery }) {
            world.actors.sink += 1;
            drop(stage.perform(world, DeliveryDelivered { delivery, claim: it.claims }));
        }
    }

    fn is_over(&self, world: &World<Outbox>) -> bool {
        only(&world.records).state.get() == delivery::State::Delivered && world.actors.sink > 0
    }
}

fn rules() -> Vec<Property<Stage<Outbox>>> {
    vec![
        Property::always(names::AT_LEAST_ONCE, |_, world: &World<Outbox>| {
            only(&world.records).state.get() != delivery::State::Delivered || world.actors.sink > 0
        }),
        Property::always(names::BOUNDED, |stage: &Stage<Outbox>, world: &World<Outbox>| {
            let (it, policy) = (only(&world.records), &stage.play.policy);
            let drives = stage.play.redrives + 1;
            it.tries <= policy.delivery_tries_max && it.claims <= policy.delivery_tries_max * drives
        }),
        Property::always(names::ONE_CLAIM, |_, world: &World<Outbox>| {
            let held = world.actors.workers.iter().filter_map(|memory| match memory {
                Memory::Idle => None,
                Memory::Claimed(claim) | Memory::Reporting(claim) => Some(*claim),
            });
            let mut seen = BTreeSet::new();
            held.into_iter().all(|claim| seen.insert(claim) && claim <= only(&world.records).claims)
        }),
        Property::always(names::AGREES, |_, world: &World<Outbox>| {
            check_delivery(only(&world.records)).is_empty()
        }),
        Property::always(names::REPORTED, |_, world: &World<Outbox>| {
            let it = only(&world.records);
            let ended = !it.is_open() || it.reports.is_none();
            world.records.runs.all().all(|run| {
                (run.state.get() == run::State::Reported) == ended && run.reports_open == u32::from(!ended)
            })
        }),
        Property::always(names::LATE, |_, world: &World<Outbox>| world.broken != Some(names::LATE)),
        Property::always(names::FINAL, |_, world: &World<Outbox>| world.broken != Some(names::FINAL)),
    ]
}

fn reached() -> Vec<Property<Stage<Outbox>>> {
    vec![
        Property::sometimes("the sink gets it twice", |_, world: &World<Outbox>| {
            world.actors.sink == 2 && only(&world.records).state.get() == delivery::State::Delivered
        }),
        Property::sometimes("it becomes a dead letter that never arrived", |_, world: &World<Outbox>| {
            world.actors.sink == 0 && only(&world.records).state.get() == delivery::State::DeadLetter
        }),
        Property::sometimes("it is delivered after a redrive", |_, world: &World<Outbox>| {
            let it = only(&world.records);
            it.reports.is_none() && it.state.get() == delivery::State::Delivered
        }),
        Property::sometimes("a claim runs out under a worker", |_, world: &World<Outbox>| {
            let it = only(&world.records);
            world.actors.workers.contains(&Memory::Claimed(1)) && it.claims > 1
        }),
    ]
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Claim { worker } => write!(f, "worker {} claims the message", worker + 1),
            Message::Result { worker, claim, delivered: true } => {
                write!(f, "worker {} reports claim {claim} as delivered", worker + 1)
            }
            Message::Result { worker, claim, delivered: false } => {
                write!(f, "worker {} reports claim {claim} as failed", worker + 1)
            }
            Message::ClaimDue => write!(f, "tick: the claim is due"),
            Message::Redrive => write!(f, "an operator sends the dead letter again"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Arrives(worker) => write!(f, "worker {}: the sink has it", worker + 1),
            Step::ArrivesUnheard(worker) => {
                write!(f, "worker {}: the sink has it, its word is lost", worker + 1)
            }
            Step::Refused(worker) => write!(f, "worker {}: the sink refuses", worker + 1),
            Step::CrashWorker(worker) => write!(f, "worker {} dies", worker + 1),
        }
    }
}
