//! A world: everybody in it, what is still to come, and the loop that lets it come.

use std::collections::BTreeMap;
use std::time::Duration;

use decisions::records::Delivery;
use decisions::tenants::{EnsureTenant, PutWebhook};
use decisions::{Answer, Command};
use runner::keeper::Report;
use server::perform::Perform;
use store::{Memory, Store};
use wire::{Digest, ExecId, MessageId, RunnerId, TenantId, Time, UploadId};

use super::agenda::Agenda;
use super::agent::{Runner, Slot};
use super::dice::Dice;
use super::disk::Disk;
use super::faults::Faults;
use super::keeper::Keeper;
use super::network::Network;
use super::outbox::Sinks;
use super::parts::{Parts, now};
use super::people::People;
use super::publisher::Publisher;
use super::server::Server;
use super::setup::{Profile, Setup};
use super::trace::{Trace, of_text};
use super::watch::{Watch, Written};
use super::words::{Client, Reply, Request};
use crate::history::History;

pub const BEGIN: Time = Time::from_seconds(1_767_513_600);

/// All files are equally long.
pub const LENGTH: u64 = 1_000;

pub fn tenant(number: u128) -> TenantId {
    TenantId::from_u128(number)
}

pub fn digest(content: u8) -> Digest {
    Digest::from_bytes([content + 1; 32])
}

/// What comes at its time.
#[derive(Debug)]
pub enum Event {
    Arrives { server: usize, client: Client, call: u64, request: Box<Request> },
    Answered { call: u64, reply: Box<Reply> },
    GivenUp { call: u64 },
    Begin { server: usize, life: u32 },
    Save { server: usize, life: u32, save: u64 },
    Tick { server: usize, life: u32 },
    Look { server: usize, life: u32 },
    LookOnce { server: usize, life: u32 },
    Upkeep { server: usize, life: u32 },
    CollectStep { server: usize, life: u32 },
    ServerUp { server: usize },
    Told { server: usize, life: u32, delivery: Box<Delivery> },
    Sent { server: usize, life: u32, id: MessageId, claim: u32, delivered: bool },
    ReportAgain { server: usize, life: u32, command: Box<Command>, delivery: MessageId, tried: u32 },
    Staged { server: usize, life: u32, client: Client, call: u64, upload: UploadId, content: u8 },
    Placed { server: usize, life: u32, client: Client, call: u64, upload: UploadId },
    AskForWork { runner: usize, life: u32 },
    AgentWakes { runner: usize, life: u32 },
    RunnerUp { runner: usize, life: u32 },
    Reported { runner: usize, execution: ExecId, report: Box<Report> },
    Gone { runner: usize, execution: ExecId },
    Printed { runner: usize, execution: ExecId, bytes: u64 },
    Commits { runner: usize, execution: ExecId },
    KeeperWakes { execution: ExecId },
    Errand { errand: usize },
    Meddle,
    Nemesis,
    PublisherBegins { publisher: usize },
    PublisherAgain { publisher: usize },
}

/// A stream for each kind of choice.
pub struct Streams {
    pub network: Dice,
    pub disk: Dice,
    pub agents: Dice,
    pub jobs: Dice,
    pub people: Dice,
    pub mint: Dice,
}

pub struct World {
    pub now: Time,
    pub setup: Setup,
    pub storm: Duration,
    pub parts: Parts,
    pub agenda: Agenda<Event>,
    pub dice: Streams,
    pub faults: Faults,
    pub trace: Trace,
    pub history: History,
    pub watch: Watch,
    pub network: Network,
    pub store: Memory,
    pub disk: Disk,
    pub servers: Vec<Server>,
    pub runners: Vec<Runner>,
    /// Jobs that really run.
    pub keepers: BTreeMap<ExecId, Keeper>,
    pub people: People,
    pub publishers: Vec<Publisher>,
    pub sinks: Sinks,
    pub collect_at: Time,
    /// All work is over; only retention is waited for.
    pub resting: bool,
}

const HOOKS: [(&str, bool); 2] = [("plain", false), ("ordered", true)];

impl World {
    pub fn new(seed: u64, profile: &Profile, parts: Parts) -> World {
        let setup = Setup::draw(seed, profile);
        let stream = |name| Dice::new(seed, name);
        let perform = || Perform::deciding(setup.policy.clone(), parts.decide);
        let runner = |index: usize| Runner {
            name: RunnerId::parse(&format!("runner-{index}")).expect("a plain name"),
            life: 1,
            up: true,
            frozen_until: None,
            machine_frozen: false,
            wrong_by: 0,
            slot: Slot::Idle,
        };
        let mut world = World {
            now: BEGIN,
            storm: profile.storm,
            parts,
            agenda: Agenda::default(),
            dice: Streams {
                network: stream("network"),
                disk: stream("disk"),
                agents: stream("agents"),
                jobs: stream("jobs"),
                people: stream("people"),
                mint: stream("mint"),
            },
            faults: Faults::new(seed, profile.faults_scale, profile.limits.clone()),
            trace: Trace { story: profile.telling.then(Vec::new), ..Trace::default() },
            history: History::default(),
            watch: Watch::new(setup.policy.clone()),
            network: Network::default(),
            store: Memory::default(),
            disk: Disk::default(),
            servers: (0..setup.servers).map(|_| Server::new(perform())).collect(),
            runners: (0..setup.runners).map(runner).collect(),
            keepers: BTreeMap::new(),
            people: People::default(),
            publishers: (0..setup.publishers).map(Publisher::new).collect(),
            sinks: Sinks::default(),
            collect_at: BEGIN.plus(setup.collect_every),
            resting: false,
            setup,
        };
        world.found();
        world.begin();
        world
    }

    /// Two tenants, and who wants to be told, before anything can go wrong.
    fn found(&mut self) {
        let events = ["job.finished", "run.finished", "upload.committed", "version.published"];
        for number in [1, 2] {
            let name = format!("tenant-{number}");
            self.at_once(EnsureTenant { id: tenant(number), name });
        }
        for (name, ordered) in HOOKS {
            self.at_once(PutWebhook {
                tenant: tenant(1),
                name: name.into(),
                url: format!("https://{name}.example.org/"),
                events: events.map(str::to_owned).to_vec(),
                secret: String::new().into(),
                ordered,
            });
        }
        for event in events {
            self.watch.subscribers.insert(event, HOOKS.len());
        }
    }

    fn at_once(&mut self, command: impl Into<Command>) -> Answer {
        let command = command.into();
        let mut asks = Vec::new();
        command.asks(&mut asks);
        let mut loaded = now(self.store.load(&asks, self.now)).expect("memory can be read");
        let decision = decisions::decide(&loaded.book, &command, self.now, &self.setup.policy)
            .expect("nothing stands in the way of a beginning");
        loaded.book.apply(decision.changes);
        self.watch.wrote(Written::of(&loaded.book), self.now, &self.disk);
        now(self.store.save(loaded.session, loaded.book)).expect("nothing goes wrong yet");
        decision.answer
    }

    fn begin(&mut self) {
        for server in 0..self.servers.len() {
            let at = BEGIN.plus(self.dice.disk.millis(0, 1_000));
            self.agenda.add(at, Event::Tick { server, life: 1 });
            self.agenda.add(at, Event::Look { server, life: 1 });
            self.agenda.add(at, Event::Upkeep { server, life: 1 });
        }
        for runner in 0..self.runners.len() {
            let at = BEGIN.plus(self.dice.agents.millis(0, 2_000));
            self.agenda.add(at, Event::AskForWork { runner, life: 1 });
        }
        for publisher in 0..self.publishers.len() {
            let at = BEGIN.plus(self.dice.people.millis(0, 10_000));
            self.agenda.add(at, Event::PublisherBegins { publisher });
        }
        self.invite_people();
        self.agenda.add(BEGIN.plus(self.setup.nemesis_every), Event::Nemesis);
    }

    pub fn tell(&mut self, line: impl FnOnce() -> String) {
        self.trace.tell(self.now.since(BEGIN), line);
    }

    /// Whatever comes until then, comes.
    pub fn go_on(&mut self, until: Time) {
        while self.agenda.next_at().is_some_and(|at| at <= until) && self.watch.violations.is_empty() {
            let Some((at, event)) = self.agenda.pop() else { break };
            self.now = self.now.max(at);
            self.happen(event);
        }
        self.now = self.now.max(until);
    }

    pub fn frozen_until(&self, client: Client) -> Option<Time> {
        match client {
            Client::Runner(index) => self.runners[index].frozen_until.filter(|until| *until > self.now),
            Client::Person | Client::Publisher(_) => None,
        }
    }

    pub fn life_of(&self, client: Client) -> u32 {
        match client {
            Client::Runner(index) => self.runners[index].life,
            Client::Person | Client::Publisher(_) => 0,
        }
    }

    fn happen(&mut self, event: Event) {
        self.trace.note(self.now, of_event(&event));
        // A server that has died since does nothing of what it meant to do.
        if let Some((server, life)) = of_server(&event)
            && (!self.servers[server].up || self.servers[server].life != life)
        {
            return;
        }
        if let Some(runner) = of_agent(&event)
            && let Some(later) = self.frozen_until(Client::Runner(runner))
        {
            return self.agenda.add(later, event);
        }
        self.dispatch(event);
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Arrives { server, client, call, request } => self.arrives(server, client, call, *request),
            Event::Answered { call, reply } => self.answered(call, *reply),
            Event::GivenUp { call } => self.answered(call, Reply::Unknown),
            Event::Begin { server, .. } => self.begin_batch(server),
            Event::Save { server, save, .. } => self.save_batch(server, save),
            Event::Tick { server, .. } => self.tick(server),
            Event::Look { server, .. } => self.look(server),
            Event::LookOnce { server, .. } => self.look_once(server),
            Event::Upkeep { server, .. } => self.upkeep(server),
            Event::CollectStep { server, .. } => self.collect_step(server),
            Event::ServerUp { server } => self.start_server(server),
            Event::Told { server, life, delivery } => self.told(server, life, &delivery),
            Event::Sent { server, id, claim, delivered, .. } => self.sent(server, id, claim, delivered),
            Event::ReportAgain { server, command, delivery, tried, .. } => {
                self.report(server, *command, delivery, tried);
            }
            Event::Staged { server, client, call, upload, content, .. } => {
                self.staged(server, (client, call), upload, content);
            }
            Event::Placed { server, client, call, upload, .. } => self.placed(server, (client, call), upload),
            Event::AskForWork { runner, life } if self.runners[runner].life == life => {
                self.ask_for_work(runner);
            }
            Event::AgentWakes { runner, life } if self.runners[runner].life == life => self.drive(runner),
            Event::RunnerUp { runner, life } if self.runners[runner].life == life => {
                self.start_runner(runner)
            }
            Event::AskForWork { .. } | Event::AgentWakes { .. } | Event::RunnerUp { .. } => {}
            Event::Reported { runner, execution, report } => {
                self.with_session(runner, execution, |session, now| session.handle_report(now, &report));
            }
            Event::Gone { runner, execution } => {
                self.with_session(runner, execution, |session, now| session.handle_gone(now));
            }
            Event::Printed { runner, execution, bytes } => self.printed(runner, execution, bytes),
            Event::Commits { runner, execution } => self.commit_effects(runner, execution),
            Event::KeeperWakes { execution } => self.keeper_wakes(execution),
            Event::Errand { errand } => self.run_errand(errand),
            Event::Meddle => self.meddle(),
            Event::Nemesis => self.nemesis(),
            Event::PublisherBegins { publisher } => self.publisher_begins(publisher),
            Event::PublisherAgain { publisher } => self.publisher_again(publisher),
        }
    }
}

fn of_server(event: &Event) -> Option<(usize, u32)> {
    match event {
        Event::Begin { server, life }
        | Event::Save { server, life, .. }
        | Event::Tick { server, life }
        | Event::Look { server, life }
        | Event::LookOnce { server, life }
        | Event::Upkeep { server, life }
        | Event::CollectStep { server, life }
        | Event::Sent { server, life, .. }
        | Event::ReportAgain { server, life, .. }
        | Event::Staged { server, life, .. }
        | Event::Placed { server, life, .. } => Some((*server, *life)),
        // What is on its way to a subscriber arrives, whatever becomes of who sent it.
        Event::Told { .. } | Event::Arrives { .. } | Event::Answered { .. } | Event::GivenUp { .. } => None,
        _ => None,
    }
}

/// What only an agent that moves can do.
fn of_agent(event: &Event) -> Option<usize> {
    match event {
        Event::AskForWork { runner, .. }
        | Event::AgentWakes { runner, .. }
        | Event::Reported { runner, .. }
        | Event::Gone { runner, .. }
        | Event::Printed { runner, .. }
        | Event::Commits { runner, .. } => Some(*runner),
        _ => None,
    }
}

fn of_event(event: &Event) -> u64 {
    match event {
        Event::Arrives { server, call, .. } => 1 ^ (*server as u64) << 8 ^ call << 16,
        Event::Answered { call, reply } => 2 ^ call << 16 ^ u64::from(**reply == Reply::Unknown) << 8,
        Event::GivenUp { call } => 3 ^ call << 16,
        Event::KeeperWakes { execution } => 4 ^ execution.as_u128() as u64,
        Event::Reported { execution, report, .. } => {
            5 ^ execution.as_u128() as u64 ^ of_text(&format!("{report:?}"))
        }
        Event::Printed { execution, bytes, .. } => 6 ^ execution.as_u128() as u64 ^ bytes << 32,
        Event::Told { delivery, .. } => 7 ^ delivery.id.as_u128() as u64,
        Event::Sent { id, delivered, .. } => 8 ^ id.as_u128() as u64 ^ u64::from(*delivered),
        other => {
            9 ^ of_server(other).map_or(0, |(server, life)| (server as u64) << 8 ^ u64::from(life) << 16)
        }
    }
}
