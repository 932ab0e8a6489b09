//! What happens to machines: crashes, standstills, cuts, clocks that jump.

use std::time::Duration;

use wire::RunnerId;

use super::agent::{Runner, Slot};
use super::faults::Class;
use super::network::Way;
use super::words::Client;
use super::world::{BEGIN, Event, World};

const HOUR: i64 = 3_600;

impl World {
    pub fn nemesis(&mut self) {
        if self.faults.over {
            return;
        }
        if self.faults.strikes(Class::RunnerCrash) {
            let runner = self.victim(Class::RunnerCrash);
            let down = self.faults.dice(Class::RunnerCrash).millis(200, 30_000);
            self.crash_runner(runner, down, false);
        }
        if self.faults.strikes(Class::RunnerGone) {
            let runner = self.victim(Class::RunnerGone);
            let down = self.faults.dice(Class::RunnerGone).millis(20_000, 120_000);
            self.crash_runner(runner, down, true);
        }
        for class in [Class::AgentFrozen, Class::MachineFrozen] {
            if self.faults.strikes(class) {
                self.freeze(class);
            }
        }
        if self.faults.strikes(Class::ClockJump) {
            let runner = self.victim(Class::ClockJump);
            let by = self.faults.dice(Class::ClockJump).between(0, 2 * HOUR as u64) as i64 - HOUR;
            self.tell(|| format!("the wall clock of runner {runner} is wrong by {by} s"));
            self.runners[runner].wrong_by = by;
        }
        if self.faults.strikes(Class::ServerCrash) {
            let server = self.faults.dice(Class::ServerCrash).index(self.servers.len());
            if self.servers[server].up {
                self.crash_server(server);
            }
        }
        if self.faults.strikes(Class::Partition) {
            self.separate(Class::Partition, &[Way::To, Way::From]);
        }
        if self.faults.strikes(Class::PartitionOneWay) {
            let way = if self.faults.dice(Class::PartitionOneWay).chance(0.5) { Way::To } else { Way::From };
            self.separate(Class::PartitionOneWay, &[way]);
        }
        let every = self.setup.nemesis_every.as_millis() as u64;
        let pause = self.dice.network.millis(every / 2, every * 3 / 2);
        self.agenda.add(self.now.plus(pause), Event::Nemesis);
    }

    /// Rather somebody who is at work.
    fn victim(&mut self, class: Class) -> usize {
        let busy: Vec<usize> = (0..self.runners.len())
            .filter(|index| matches!(self.runners[*index].slot, Slot::Busy(_)))
            .collect();
        let count = self.runners.len();
        let dice = self.faults.dice(class);
        if dice.chance(0.8) { dice.pick(&busy).copied().unwrap_or(0) } else { dice.index(count) }
    }

    fn separate(&mut self, class: Class, ways: &[Way]) {
        let (runners, servers) = (self.runners.len(), self.servers.len());
        let dice = self.faults.dice(class);
        let client = if dice.chance(0.8) { Client::Runner(dice.index(runners)) } else { Client::Person };
        let all = dice.chance(0.5);
        let (server, length) = (dice.index(servers), dice.millis(500, 60_000));
        for index in (0..servers).filter(|index| all || *index == server) {
            self.cut(client, index, ways, length);
        }
    }

    pub fn crash_runner(&mut self, index: usize, down: Duration, for_good: bool) {
        if !self.runners[index].up {
            return;
        }
        self.tell(|| format!("runner {index} crashes, for {down:?}"));
        let orphans: Vec<_> = self
            .keepers
            .iter()
            .filter(|(_, it)| it.runner == index)
            .map(|(execution, _)| *execution)
            .collect();
        orphans.into_iter().for_each(|execution| self.kill_keeper(execution));
        self.forget_lease(index);
        let runner = &mut self.runners[index];
        (runner.up, runner.life) = (false, runner.life + 1);
        (runner.frozen_until, runner.machine_frozen) = (None, false);
        if for_good {
            let name = format!("runner-{index}-{}", runner.life);
            runner.name = RunnerId::parse(&name).expect("a plain name");
        }
        let life = runner.life;
        self.agenda.add(self.now.plus(down), Event::RunnerUp { runner: index, life });
    }

    pub fn start_runner(&mut self, index: usize) {
        self.runners[index].up = true;
        let life = self.runners[index].life;
        self.tell(|| format!("runner {index} starts"));
        self.agenda.add(self.now, Event::AskForWork { runner: index, life });
    }

    /// Often until about the end of its lease, which is where going on as before does harm.
    fn freeze(&mut self, class: Class) {
        let runner = self.victim(class);
        if !self.runners[runner].up || self.runners[runner].frozen_until.is_some_and(|until| until > self.now)
        {
            return;
        }
        let ends_at = match &self.runners[runner].slot {
            Slot::Busy(busy) => self.watch.executions.get(&busy.granted.execution).map(|it| it.expires_at),
            Slot::Idle | Slot::Asking { .. } => None,
        };
        let ttl = self.setup.policy.lease_ttl.as_millis() as u64;
        let now = self.now;
        let dice = self.faults.dice(class);
        let usual = dice.millis(1_000, ttl * 2);
        let around = dice.millis(0, 1_000);
        let until = match ends_at {
            Some(ends_at) if dice.chance(0.5) => {
                let about = ends_at.since(BEGIN).saturating_sub(Duration::from_millis(500)) + around;
                BEGIN.plus(about).max(now)
            }
            Some(_) | None => now.plus(usual),
        };
        self.tell(|| format!("runner {runner} stands still until {:.3} s", until.since(BEGIN).as_secs_f64()));
        let it: &mut Runner = &mut self.runners[runner];
        (it.frozen_until, it.machine_frozen) = (Some(until), class == Class::MachineFrozen);
    }
}
