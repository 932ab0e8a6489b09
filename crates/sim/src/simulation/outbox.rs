//! Workers that deliver, as in `server::outbox`, and the subscribers they deliver to. A subscriber applies each message
//! once, by its id, and counts what it was asked to do.

use std::collections::BTreeMap;
use std::time::Duration;

use decisions::deliveries::{ClaimDelivery, DeliveryDelivered, DeliveryFailed};
use decisions::records::Delivery;
use decisions::{Answer, Command};
use server::perform::Failure;
use store::Store;
use wire::MessageId;

use super::faults::Class;
use super::parts::now;
use super::server::Ticket;
use super::world::{Event, World};

/// Whoever is told. What it keeps survives.
#[derive(Debug, Default)]
pub struct Sinks {
    /// How often each message arrived.
    pub arrived: BTreeMap<MessageId, u32>,
    /// What was applied: event and subject for each lane, with the ids it came under.
    pub applied: BTreeMap<(String, String, String), Vec<MessageId>>,
    /// The first arrivals of ordered lanes.
    pub turns: BTreeMap<String, Vec<(i64, MessageId)>>,
}

const LANES_MAX: usize = 16;
const IN_HAND_MAX: usize = 12;
const LOOK_EVERY: Duration = Duration::from_millis(700);
const REPORTS_MAX: u32 = 8;

impl World {
    pub fn look_soon(&mut self, server: usize) {
        let life = self.servers[server].life;
        self.agenda.add(self.now.plus(Duration::from_millis(2)), Event::LookOnce { server, life });
    }

    pub fn look(&mut self, server: usize) {
        self.look_once(server);
        let (life, pause) = (self.servers[server].life, self.pace(LOOK_EVERY));
        self.agenda.add(self.now.plus(pause), Event::Look { server, life });
    }

    pub fn look_once(&mut self, server: usize) {
        let lanes = now(self.store.lanes_ready(self.now, None, LANES_MAX)).expect("memory can be read");
        for lane in lanes {
            let ready = now(self.store.deliveries_ready_of(&lane, self.now, 4)).expect("memory can be read");
            for delivery in ready {
                let hands = &mut self.servers[server].delivering;
                if hands.len() < IN_HAND_MAX && hands.insert(delivery) {
                    self.perform(server, ClaimDelivery { delivery }, Ticket::Claim(delivery));
                }
            }
        }
    }

    pub fn claim_settled(&mut self, server: usize, id: MessageId, result: Result<Answer, Failure>) {
        let Ok(Answer::Claimed(Some(delivery))) = result else {
            self.servers[server].delivering.remove(&id);
            return; // taken, or not possible now
        };
        let life = self.servers[server].life;
        if !(self.parts.sends)(delivery.tries) {
            return self.sent(server, delivery.id, delivery.claims, true);
        }
        let takes = self.dice.network.millis(2, 60);
        self.agenda.add(self.now.plus(takes), Event::Told { server, life, delivery });
    }

    /// The subscriber is asked.
    pub fn told(&mut self, server: usize, life: u32, delivery: &Delivery) {
        let refused = self.faults.strikes(Class::SinkRefused);
        if !refused {
            self.sinks.take(delivery);
            self.watch.told(delivery, &self.sinks);
            self.tell(|| format!("the subscriber of {} has {}", delivery.lane, delivery.id));
        }
        let unheard = !refused && self.faults.strikes(Class::SinkUnheard);
        let takes = if unheard { Duration::from_secs(3) } else { self.dice.network.millis(2, 60) };
        let (id, claim, delivered) = (delivery.id, delivery.claims, !refused && !unheard);
        self.agenda.add(self.now.plus(takes), Event::Sent { server, life, id, claim, delivered });
    }

    pub fn sent(&mut self, server: usize, delivery: MessageId, claim: u32, delivered: bool) {
        let command: Command = if delivered {
            DeliveryDelivered { delivery, claim }.into()
        } else {
            let jitter = self.dice.disk.unit();
            DeliveryFailed { delivery, claim, error: "no".into(), jitter }.into()
        };
        self.report(server, command, delivery, 1);
    }

    pub fn report(&mut self, server: usize, command: Command, delivery: MessageId, tried: u32) {
        let ticket = Ticket::Report { command: Box::new(command.clone()), delivery, tried };
        self.perform(server, command, ticket);
    }

    /// A result that nobody took is offered again; after that the claim runs out.
    pub fn report_settled(
        &mut self,
        server: usize,
        command: Command,
        delivery: MessageId,
        tried: u32,
        result: &Result<Answer, Failure>,
    ) {
        let again = matches!(result, Err(Failure::Busy | Failure::Unavailable(_) | Failure::Unknown(_)));
        if again && tried < REPORTS_MAX {
            let (life, pause) = (self.servers[server].life, Duration::from_millis(100) * tried);
            let event =
                Event::ReportAgain { server, life, command: Box::new(command), delivery, tried: tried + 1 };
            return self.agenda.add(self.now.plus(pause), event);
        }
        self.servers[server].delivering.remove(&delivery);
    }
}

impl Sinks {
    fn take(&mut self, delivery: &Delivery) {
        let times = self.arrived.entry(delivery.id).or_default();
        *times += 1;
        if *times > 1 {
            return; // known by its id
        }
        let what = (delivery.lane.clone(), delivery.event.clone(), delivery.subject.clone());
        self.applied.entry(what).or_default().push(delivery.id);
        if delivery.is_ordered() {
            self.turns.entry(delivery.lane.clone()).or_default().push((delivery.turn, delivery.id));
        }
    }
}
