//! Keepers and their jobs: what really runs, on which machine, and until when. A keeper outlives its agent by a moment and
//! its lease by none.

use std::time::Duration;

use decisions::Granted;
use machines::lease;
use runner::clock::Uptime;
use runner::keeper::{Finish, Report};
use wire::{ExecId, JobId, Time};

use super::rules;
use super::world::{Event, World};

pub struct Keeper {
    pub runner: usize,
    pub job: JobId,
    /// The job may run until then, by the machine's own clock.
    until: Uptime,
    pub ends_at: Time,
    finish: Finish,
    /// Asked to stop: then it has.
    stops_at: Option<Time>,
    /// Killed, or without an agent: then it is gone, without a word.
    gone_at: Option<Time>,
    prints_at: Time,
    /// Its effect happens through the server, before it ends.
    commits_at: Option<Time>,
    awake_at: Option<Time>,
}

impl World {
    pub fn start_keeper(&mut self, runner: usize, granted: &Granted, until: Uptime) {
        let dice = &mut self.dice.jobs;
        let takes = if dice.chance(0.06) { granted.max_runtime * 2 } else { dice.millis(500, 45_000) };
        let (finish, takes) = match dice.below(20) {
            _ if takes > granted.max_runtime => (Finish::TimedOut, granted.max_runtime),
            0 | 1 => (Finish::StepFailed { index: 0, exit_code: 1 }, takes),
            2 | 3 => (Finish::Infra { problem: "the disk is full".into() }, takes),
            _ => (Finish::Succeeded, takes),
        };
        let commits = finish == Finish::Succeeded && dice.chance(0.2);
        let ends_at = self.now.plus(takes);
        let prints_at = self.now.plus(dice.millis(10, 4_000));
        if let Some(other) = self.also_at_work(granted.job) {
            let what = format!("{} on runner {runner} and still on runner {other}", granted.job);
            self.watch.broke(rules::ONE_AT_A_TIME, what);
        }
        let keeper = Keeper {
            runner,
            job: granted.job,
            until: self.limit(runner, until),
            ends_at,
            finish,
            stops_at: None,
            gone_at: None,
            prints_at,
            commits_at: commits.then_some(self.now.plus(takes * 3 / 4)),
            awake_at: None,
        };
        self.tell(|| format!("runner {runner}: {} runs", granted.job));
        self.keepers.insert(granted.execution, keeper);
        let execution = granted.execution;
        let started = Report::StepStarted { index: 0 };
        self.agenda.add(self.now, Event::Reported { runner, execution, report: Box::new(started) });
        self.arrange_keeper(execution);
    }

    /// Where the job still runs. A lease that was taken back before its time (a forced cancel, a timeout) is not looked at:
    /// who was cut off meanwhile runs on to the end of the time it was given, and a person may ask for another attempt.
    fn also_at_work(&self, job: JobId) -> Option<usize> {
        let revoked = |id: &ExecId| {
            self.watch.executions.get(id).is_some_and(|it| it.lease.get() == lease::State::Revoked)
        };
        let others = self.keepers.iter().filter(|(id, it)| it.job == job && !revoked(id));
        others.map(|(_, it)| it.runner).find(|runner| !self.is_machine_frozen(*runner))
    }

    /// In the agent's own words, and as the keeper takes them.
    fn limit(&self, runner: usize, until: Uptime) -> Uptime {
        let now = self.uptime(runner);
        now.plus((self.parts.until)(now.until(until)))
    }

    pub fn extend_keeper(&mut self, execution: ExecId, until: Uptime) {
        let Some(runner) = self.keepers.get(&execution).map(|keeper| keeper.runner) else { return };
        let until = self.limit(runner, until);
        if let Some(keeper) = self.keepers.get_mut(&execution) {
            keeper.until = until;
            self.arrange_keeper(execution);
        }
    }

    pub fn cancel_keeper(&mut self, execution: ExecId, grace: Duration) {
        let most = grace.as_millis() as u64;
        let takes =
            if self.dice.jobs.chance(0.2) { grace } else { self.dice.jobs.millis(0, most.min(2_000)) };
        if let Some(keeper) = self.keepers.get_mut(&execution) {
            keeper.stops_at.get_or_insert(self.now.plus(takes));
            self.arrange_keeper(execution);
        }
    }

    /// Also when its agent is gone.
    pub fn kill_keeper(&mut self, execution: ExecId) {
        let takes = self.dice.jobs.millis(0, 1_500);
        if let Some(keeper) = self.keepers.get_mut(&execution) {
            keeper.gone_at.get_or_insert(self.now.plus(takes));
            self.arrange_keeper(execution);
        }
    }

    fn arrange_keeper(&mut self, execution: ExecId) {
        let Some(keeper) = self.keepers.get(&execution) else { return };
        // Time is counted in microseconds here, uptime more finely: rounded up, or it would wake a moment too early for ever.
        let left = self.uptime(keeper.runner).until(keeper.until) + Duration::from_nanos(999);
        let until = self.now.plus(left);
        let Some(keeper) = self.keepers.get_mut(&execution) else { return };
        let moments = [keeper.stops_at, keeper.gone_at, keeper.commits_at].into_iter().flatten();
        let next = moments.fold(until.min(keeper.ends_at).min(keeper.prints_at), Time::min);
        let next = next.max(self.now);
        if keeper.awake_at != Some(next) {
            keeper.awake_at = Some(next);
            self.agenda.add(next, Event::KeeperWakes { execution });
        }
    }

    pub fn keeper_wakes(&mut self, execution: ExecId) {
        let Some(keeper) = self.keepers.get(&execution) else { return };
        let runner = keeper.runner;
        if self.is_machine_frozen(runner) {
            let later = self.runners[runner].frozen_until.expect("a frozen machine thaws");
            return self.agenda.add(later, Event::KeeperWakes { execution });
        }
        let now = self.now;
        let passed = |moment: Option<Time>| moment.is_some_and(|moment| moment <= now);
        let finish = if passed(keeper.gone_at) {
            None
        } else if keeper.until <= self.uptime(runner) {
            Some(Finish::OutOfLease)
        } else if passed(keeper.stops_at) {
            Some(Finish::Canceled { forced: false })
        } else if keeper.ends_at <= now {
            Some(keeper.finish.clone())
        } else {
            return self.keeper_works(execution);
        };
        self.tell(|| format!("runner {runner}: {execution} has ended, {finish:?}"));
        self.keepers.remove(&execution);
        let event = match finish {
            None => Event::Gone { runner, execution },
            Some(finish) => Event::Reported { runner, execution, report: Box::new(Report::Finished(finish)) },
        };
        self.agenda.add(self.now, event);
    }

    fn keeper_works(&mut self, execution: ExecId) {
        let now = self.now;
        let (bytes, pause) = (self.dice.jobs.between(20, 900), self.dice.jobs.millis(1_000, 15_000));
        let Some(keeper) = self.keepers.get_mut(&execution) else { return };
        let runner = keeper.runner;
        if keeper.commits_at.is_some_and(|at| at <= now) {
            keeper.commits_at = None;
            self.agenda.add(now, Event::Commits { runner, execution });
        }
        let Some(keeper) = self.keepers.get_mut(&execution) else { return };
        keeper.awake_at = None;
        if keeper.prints_at <= now {
            keeper.prints_at = now.plus(pause);
            self.agenda.add(now, Event::Printed { runner, execution, bytes });
        }
        self.arrange_keeper(execution);
    }

    pub fn is_machine_frozen(&self, runner: usize) -> bool {
        let runner = &self.runners[runner];
        runner.machine_frozen && runner.frozen_until.is_some_and(|until| until > self.now)
    }
}
