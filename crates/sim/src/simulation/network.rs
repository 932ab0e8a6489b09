//! Requests and answers between clients and servers: each may get lost, come twice, come late, or meet a cut.

use std::collections::BTreeMap;
use std::time::Duration;

use machines::lease;
use wire::Time;

use super::faults::Class;
use super::words::{Client, Reply, Request};
use super::world::{Event, World};

/// A request that a client waits for.
#[derive(Debug)]
pub struct Waiting {
    pub client: Client,
    pub request: Request,
    /// Of the client: an answer to somebody who has died since is for nobody.
    pub life: u32,
}

#[derive(Debug, Default)]
pub struct Network {
    pub waiting: BTreeMap<u64, Waiting>,
    calls: u64,
    /// Which way nothing passes, and until when.
    cuts: BTreeMap<(Client, usize, Way), Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    To,
    From,
}

/// Most requests take this long, one way.
const USUAL_MILLIS: (u64, u64) = (1, 25);
const DELAY_MILLIS_MAX: u64 = 45_000;

impl World {
    /// Sends a request to a server of the network's choosing; the answer, or `Unknown` after `timeout`, comes to
    /// [`World::answered`] under this number.
    pub fn ask(&mut self, client: Client, request: Request, timeout: Duration) -> u64 {
        self.network.calls += 1;
        let call = self.network.calls;
        let server = self.dice.network.index(self.servers.len());
        let life = self.life_of(client);
        self.tell(|| format!("{client:?} → server {server}: {request:?} (#{call})"));
        self.network.waiting.insert(call, Waiting { client, request: request.clone(), life });
        self.agenda.add(self.now.plus(timeout), Event::GivenUp { call });
        if self.faults.strikes(Class::RequestLost) {
            self.tell(|| format!("#{call} gets lost"));
            return call;
        }
        let delay = self.transit(&request);
        self.pass(client, server, call, request.clone(), delay);
        if self.faults.strikes(Class::Duplicated) {
            let (again, extra) =
                (self.transit(&request), self.faults.dice(Class::Duplicated).millis(0, 8_000));
            self.tell(|| format!("#{call} comes twice"));
            let other = self.faults.dice(Class::Duplicated).index(self.servers.len());
            self.pass(client, other, call, request, again + extra);
        }
        call
    }

    fn pass(&mut self, client: Client, server: usize, call: u64, request: Request, delay: Duration) {
        if self.is_cut((client, server, Way::To)) {
            return;
        }
        let request = Box::new(request);
        self.agenda.add(self.now.plus(delay), Event::Arrives { server, client, call, request });
    }

    /// The answer leaves.
    pub fn answer(&mut self, server: usize, client: Client, call: u64, reply: Reply) {
        if self.faults.strikes(Class::AnswerLost) {
            self.tell(|| format!("the answer to #{call} gets lost"));
            return;
        }
        if self.is_cut((client, server, Way::From)) {
            return;
        }
        let delay = self.delay();
        self.agenda.add(self.now.plus(delay), Event::Answered { call, reply: Box::new(reply) });
    }

    /// An answer arrives, or the client stops waiting. Whatever comes after the first of these is not heard.
    pub fn answered(&mut self, call: u64, reply: Reply) {
        let Some(Waiting { client, request, life }) = self.network.waiting.remove(&call) else { return };
        if let Some(later) = self.frozen_until(client) {
            // It lies there until somebody looks.
            self.network.waiting.insert(call, Waiting { client, request, life });
            self.agenda.add(later, Event::Answered { call, reply: Box::new(reply) });
            return;
        }
        if life != self.life_of(client) {
            return;
        }
        self.tell(|| format!("{client:?} hears #{call}: {}", in_short(&reply)));
        match client {
            Client::Runner(index) => self.runner_answered(index, call, reply),
            Client::Person => self.person_answered(call, &request, reply),
            Client::Publisher(index) => self.publisher_answered(index, reply),
        }
    }

    /// Often a request is late by just so much that it meets the end of its lease.
    fn transit(&mut self, request: &Request) -> Duration {
        let usual = self.delay();
        let Request::Word(word) = request else { return usual };
        let ends_at =
            self.watch.executions.get(&word.execution).filter(|it| it.lease.get() == lease::State::Active);
        match ends_at.map(|it| it.expires_at) {
            Some(ends_at) if usual > Duration::from_secs(1) => {
                let dice = self.faults.dice(Class::Delayed);
                if dice.chance(0.5) {
                    return ends_at.since(self.now.plus(Duration::from_millis(200))) + dice.millis(0, 400);
                }
                usual
            }
            Some(_) | None => usual,
        }
    }

    fn delay(&mut self) -> Duration {
        let usual = self.dice.network.millis(USUAL_MILLIS.0, USUAL_MILLIS.1);
        if !self.faults.strikes(Class::Delayed) {
            return usual;
        }
        let dice = self.faults.dice(Class::Delayed);
        let most = if dice.chance(0.5) { 1_000 } else { DELAY_MILLIS_MAX };
        usual + dice.millis(20, most)
    }

    /// Nothing passes between the two for a while.
    pub fn cut(&mut self, client: Client, server: usize, ways: &[Way], length: Duration) {
        self.tell(|| format!("{client:?} and server {server} are cut off: {ways:?}"));
        for way in ways {
            self.network.cuts.insert((client, server, *way), self.now.plus(length));
        }
    }

    fn is_cut(&self, line: (Client, usize, Way)) -> bool {
        !self.faults.over && self.network.cuts.get(&line).is_some_and(|until| *until > self.now)
    }
}

fn in_short(reply: &Reply) -> String {
    match reply {
        Reply::Done(answer) => {
            let text = format!("{answer:?}");
            let end = text.find(['{', '(', ' ']).unwrap_or(text.len());
            text[..end].to_owned()
        }
        Reply::Refused(refusal) => format!("no, {refusal:?}"),
        Reply::Unknown => "nothing".into(),
    }
}
