//! A server: the real `perform` over the real store in memory, a save at a time apart from its load. A crash forgets
//! everything here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use decisions::jobs::ReleaseDependents;
use decisions::runs::SweepRun;
use decisions::{Answer, Command, Hint};
use server::perform::{Batch, Failure, Perform};
use server::ticks::{ROUND_MAX, commands};
use store::{Fault, Store, StoreError};
use wire::{MessageId, UploadId};

use super::faults::Class;
use super::garbage::Collecting;
use super::parts::{Saving, now};
use super::watch::Written;
use super::words::{Client, Reply};
use super::world::{Event, World};

/// What follows an answer of `perform`.
#[derive(Debug, Clone)]
pub enum Ticket {
    /// Somebody over the network waits.
    Client {
        client: Client,
        call: u64,
    },
    /// The bytes are where the upload's record says; swept up again if it ended meanwhile.
    Commit {
        client: Client,
        call: u64,
        upload: UploadId,
    },
    /// The bytes are staged; swept up again likewise.
    Content {
        client: Client,
        call: u64,
        upload: UploadId,
    },
    Nobody,
    /// A worker wants to deliver this message.
    Claim(MessageId),
    /// How a delivery went.
    Report {
        command: Box<Command>,
        delivery: MessageId,
        tried: u32,
    },
    /// A step of the collector.
    Collect,
}

pub struct Server {
    pub up: bool,
    /// How often it was started.
    pub life: u32,
    pub perform: Perform<Ticket>,
    /// A batch will be taken up soon.
    woken: bool,
    saving: BTreeMap<u64, (Batch<Ticket>, Saving)>,
    saves: u64,
    /// Messages that its workers have in hand.
    pub delivering: BTreeSet<MessageId>,
    pub collecting: Option<Collecting>,
}

/// Batches between load and save, as the engine has it.
const SAVING_MAX: usize = 2;

impl Server {
    pub fn new(perform: Perform<Ticket>) -> Server {
        Server {
            up: true,
            life: 1,
            perform,
            woken: false,
            saving: BTreeMap::new(),
            saves: 0,
            delivering: BTreeSet::new(),
            collecting: None,
        }
    }
}

impl World {
    /// Puts a command into the server's queue.
    pub fn perform(&mut self, server: usize, command: impl Into<Command>, ticket: Ticket) {
        let (command, it) = (command.into(), &mut self.servers[server]);
        if it.up && it.perform.handle_command(command, ticket).is_ok() {
            self.wake_server(server);
        }
    }

    fn wake_server(&mut self, index: usize) {
        let server = &mut self.servers[index];
        let has_work = server.perform.waiting() > 0 || server.perform.has_again();
        if server.woken || !has_work || server.saving.len() >= SAVING_MAX {
            return;
        }
        server.woken = true;
        let life = server.life;
        let gather = self.dice.disk.millis(0, 4);
        self.agenda.add(self.now.plus(gather), Event::Begin { server: index, life });
    }

    /// Loads and decides; the save comes later.
    pub fn begin_batch(&mut self, index: usize) {
        self.servers[index].woken = false;
        let most = self.dice.disk.between(1, 8) as usize;
        let Some(mut batch) = self.servers[index].perform.poll_batch(most) else { return };
        let asks = batch.asks();
        let loaded = now(self.store.load(&asks, self.now)).expect("memory can be read");
        let mut book = loaded.book;
        batch.handle_loaded(&mut book, loaded.now);
        let mut takes = self.dice.disk.millis(1, 15);
        if self.faults.strikes(Class::SaveSlow) {
            takes += self.faults.dice(Class::SaveSlow).millis(50, 4_000);
        }
        let server = &mut self.servers[index];
        server.saves += 1;
        let (life, save) = (server.life, server.saves);
        server
            .saving
            .insert(save, (batch, Saving { seen: loaded.session, asks, book, decided_at: loaded.now }));
        self.agenda.add(self.now.plus(takes), Event::Save { server: index, life, save });
        self.wake_server(index);
    }

    /// Writes what was decided, tells whoever waits, and lets those see it who watch.
    pub fn save_batch(&mut self, index: usize, save: u64) {
        let Some((batch, saving)) = self.servers[index].saving.remove(&save) else { return };
        let fault = self.save_fault();
        let decided_at = saving.decided_at;
        let written = Written::of(&saving.book);
        let saved = (self.parts.save)(&self.store, saving, fault);
        self.tell(|| format!("server {index} saves {}: {saved:?}", written.in_short()));
        self.trace.note(self.now, written.number() ^ u64::from(saved.is_ok()));
        // With an answer that got lost, all of it is written unless the store says otherwise.
        if matches!(saved, Ok(()) | Err(StoreError::Unknown(_))) {
            self.watch.wrote(written, decided_at, &self.disk);
        }
        if let Err(StoreError::Violation(what)) = &saved {
            self.watch.broke(super::rules::CONSTRAINT, what.clone());
        }
        let settled = self.servers[index].perform.handle_saved(batch, saved);
        for (ticket, result) in settled.answers {
            if let Err(Failure::Bug(what)) = &result {
                self.watch.broke(super::rules::NO_PANIC, what.clone());
            }
            self.settle(index, ticket, result);
        }
        for hint in settled.hints {
            match hint {
                Hint::Sweep(run) => self.perform(index, SweepRun { run }, Ticket::Nobody),
                Hint::Release(job) => self.perform(index, ReleaseDependents { job }, Ticket::Nobody),
                Hint::Deliver => self.look_soon(index),
                Hint::Ready(_) | Hint::Plan(_) | Hint::Logged(_) | Hint::Reap => {}
            }
        }
        self.wake_server(index);
    }

    fn save_fault(&mut self) -> Option<Fault> {
        let unknown = self.faults.strikes(Class::SaveUnknown);
        let failed = !unknown && self.faults.strikes(Class::SaveFailed);
        let conflict = !unknown && !failed && self.faults.strikes(Class::SaveConflict);
        match (unknown, failed, conflict) {
            (true, ..) => Some(Fault::LoseAnswer),
            (_, true, _) => Some(Fault::LoseRequest),
            (.., true) => Some(Fault::Conflict),
            (false, false, false) => None,
        }
    }

    fn settle(&mut self, server: usize, ticket: Ticket, result: Result<Answer, Failure>) {
        match ticket {
            Ticket::Client { client, call } => self.answer(server, client, call, reply(result)),
            Ticket::Commit { client, call, upload } => {
                self.commit_settled(server, upload, &result);
                self.answer(server, client, call, reply(result));
            }
            Ticket::Content { client, call, upload } => {
                self.content_settled(server, upload, &result);
                self.answer(server, client, call, reply(result));
            }
            Ticket::Nobody => {}
            Ticket::Claim(delivery) => self.claim_settled(server, delivery, result),
            Ticket::Report { command, delivery, tried } => {
                self.report_settled(server, *command, delivery, tried, &result);
            }
            Ticket::Collect => self.collect_settled(server, result),
        }
    }

    /// Everything that an index finds due.
    pub fn tick(&mut self, server: usize) {
        let due = now(self.store.due(self.now, ROUND_MAX)).expect("memory can be read");
        let found = commands(&due, || self.dice.disk.unit());
        for command in found {
            self.perform(server, command, Ticket::Nobody);
        }
        let (life, tick) = (self.servers[server].life, self.pace(self.setup.tick));
        self.agenda.add(self.now.plus(tick), Event::Tick { server, life });
    }

    /// In the calm, once all is over, looks are rarer: nothing but retention is waited for.
    pub fn pace(&self, usual: Duration) -> Duration {
        if self.resting { usual * 4 } else { usual }
    }

    pub fn crash_server(&mut self, index: usize) {
        let down = self.faults.dice(Class::ServerCrash).millis(200, 20_000);
        self.tell(|| format!("server {index} crashes, for {down:?}"));
        let perform = Perform::deciding(self.setup.policy.clone(), self.parts.decide);
        let life = self.servers[index].life;
        self.servers[index] = Server { up: false, life, ..Server::new(perform) };
        self.agenda.add(self.now.plus(down), Event::ServerUp { server: index });
    }

    pub fn start_server(&mut self, server: usize) {
        let it = &mut self.servers[server];
        (it.up, it.life) = (true, it.life + 1);
        let life = it.life;
        self.tell(|| format!("server {server} starts"));
        self.agenda.add(self.now, Event::Tick { server, life });
        self.agenda.add(self.now, Event::Look { server, life });
        self.agenda.add(self.now, Event::Upkeep { server, life });
    }
}

/// What a client gets to see of it.
fn reply(result: Result<Answer, Failure>) -> Reply {
    match result {
        Ok(answer) => Reply::Done(answer),
        Err(Failure::Refused(refusal)) => Reply::Refused(refusal),
        Err(Failure::Busy | Failure::Unavailable(_) | Failure::Unknown(_) | Failure::Bug(_)) => {
            Reply::Unknown
        }
    }
}
