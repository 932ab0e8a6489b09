//! People: hand jobs and runs in, cancel them at the worst moment, ask for one more attempt, send dead letters again.

use std::collections::BTreeMap;
use std::time::Duration;

use decisions::records::{Concurrency, Plan, PlanJob};
use machines::{delivery, job};
use serde_json::value::RawValue;
use wire::{RunId, Time};

use super::agent::Slot;
use super::words::{Client, Reply, Request};
use super::world::{BEGIN, Event, World};
use crate::history::{Op, OpId};

/// What a trigger gives rise to.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub jobs: usize,
    /// Each needs the one before; otherwise side by side.
    pub chained: bool,
    pub fail_fast: bool,
    /// It comes with its plan; otherwise a planner is waited for.
    pub planned: bool,
    /// A newer run of the group supersedes it.
    pub grouped: bool,
    pub once: bool,
}

#[derive(Debug, Default)]
pub struct People {
    pub shapes: BTreeMap<String, Shape>,
    errands: Vec<Errand>,
    /// Which errand a call is for.
    calls: BTreeMap<u64, usize>,
    reruns: usize,
}

#[derive(Debug)]
struct Errand {
    request: Request,
    ops: Vec<OpId>,
    tries_left: u32,
}

const TIMEOUT: Duration = Duration::from_secs(5);
const TRIES_MAX: u32 = 6;
const RERUNS_MAX: usize = 2;

impl World {
    /// What is handed in and when.
    pub fn invite_people(&mut self) {
        let storm = self.storm.as_millis() as u64;
        for number in 0..self.setup.jobs {
            let at = self.dice.people.millis(0, storm * 3 / 4);
            let effect_once = self.dice.people.chance(0.2);
            let priority = self.dice.people.below(3) as i32;
            let key = format!("job-{number}");
            let request = Request::Submit { key: key.clone(), effect_once, priority };
            self.plan_errand(BEGIN.plus(at), request);
        }
        for number in 0..self.setup.runs {
            let at = self.dice.people.millis(0, storm * 2 / 3);
            let dice = &mut self.dice.people;
            let shape = Shape {
                jobs: dice.between(0, 4) as usize,
                chained: dice.chance(0.5),
                fail_fast: dice.chance(0.5),
                planned: dice.chance(0.6),
                grouped: dice.chance(0.4),
                once: dice.chance(0.2),
            };
            let trigger = format!("run-{number}");
            self.people.shapes.insert(trigger.clone(), shape);
            self.plan_errand(BEGIN.plus(at), Request::CreateRun { trigger });
        }
        self.agenda.add(BEGIN.plus(self.setup.meddle_every), Event::Meddle);
    }

    fn plan_errand(&mut self, at: Time, request: Request) {
        let errand = self.people.errands.len();
        self.people.errands.push(Errand { request, ops: Vec::new(), tries_left: TRIES_MAX });
        self.agenda.add(at.max(self.now), Event::Errand { errand });
    }

    pub fn run_errand(&mut self, number: usize) {
        let request = self.people.errands[number].request.clone();
        if self.people.errands[number].tries_left == TRIES_MAX {
            let ops = self.ops_of(&request);
            self.people.errands[number].ops =
                ops.into_iter().map(|op| self.history.invoke("person", op)).collect();
        }
        self.people.errands[number].tries_left -= 1;
        let call = self.ask(Client::Person, request, TIMEOUT);
        self.people.calls.insert(call, number);
    }

    /// In the words of the promises. What a run hands in is its jobs, and itself.
    fn ops_of(&self, request: &Request) -> Vec<Op> {
        let put = |queue: &str, item: String| Op::Put { queue: queue.into(), item };
        match request {
            Request::Submit { key, .. } => vec![put("started", key.clone()), put("ended", key.clone())],
            Request::CreateRun { trigger } => {
                let jobs = self.people.shapes[trigger].jobs;
                let jobs = (0..jobs).map(|job| put("started", format!("{trigger}/{job}")));
                jobs.chain([put("ended", trigger.clone())]).collect()
            }
            _ => Vec::new(),
        }
    }

    pub fn person_answered(&mut self, call: u64, _request: &Request, reply: Reply) {
        let Some(number) = self.people.calls.remove(&call) else { return };
        let errand = &self.people.errands[number];
        let ops = errand.ops.clone();
        match reply {
            Reply::Done(_) => ops.into_iter().for_each(|op| self.history.ok(op)),
            Reply::Unknown if errand.tries_left > 0 => {
                let pause = self.dice.people.millis(200, 4_000);
                self.agenda.add(self.now.plus(pause), Event::Errand { errand: number });
            }
            // A refusal may be of a second copy.
            Reply::Refused(_) | Reply::Unknown => ops.into_iter().for_each(|op| self.history.unknown(op)),
        }
    }

    pub fn meddle(&mut self) {
        if self.faults.over {
            return;
        }
        match self.dice.people.below(20) {
            0..=6 => self.meddle_with_a_job(),
            7..=9 => self.meddle_with_a_run(),
            10..=13 => self.retry_something(),
            14 => self.rerun_something(),
            15..=17 => self.redrive(1),
            _ => self.stop_a_runner(),
        }
        let every = self.setup.meddle_every.as_millis() as u64;
        let pause = self.dice.people.millis(every / 4, every * 2);
        self.agenda.add(self.now.plus(pause), Event::Meddle);
    }

    /// About when a job that runs will end: that is where a cancel meets its completion.
    fn worst_moment(&mut self) -> Option<(wire::JobId, Time)> {
        let running: Vec<_> = self.keepers.values().map(|it| (it.job, it.ends_at)).collect();
        let (job, ends_at) = *self.dice.people.pick(&running)?;
        let around = ends_at.since(BEGIN) + self.dice.people.millis(0, 500);
        Some((job, BEGIN.plus(around.saturating_sub(Duration::from_millis(250)))))
    }

    fn meddle_with_a_job(&mut self) {
        let at_its_end = self.dice.people.chance(0.7);
        if let (true, Some((job, at))) = (at_its_end, self.worst_moment()) {
            return self.plan_errand(at, Request::CancelJob { job });
        }
        let open: Vec<_> =
            self.watch.jobs.values().filter(|it| !it.state.is_over()).map(|it| it.id).collect();
        if let Some(job) = self.dice.people.pick(&open).copied() {
            self.plan_errand(self.now, Request::CancelJob { job });
        }
    }

    fn meddle_with_a_run(&mut self) {
        let at_its_end = self.dice.people.chance(0.6);
        if let (true, Some((job, at))) = (at_its_end, self.worst_moment())
            && let Some(run) = self.watch.run_of(job).map(|run| run.id)
        {
            return self.plan_errand(at, Request::CancelRun { run });
        }
        let open: Vec<RunId> = self.watch.runs.values().filter(|it| !it.is_over()).map(|it| it.id).collect();
        if let Some(run) = self.dice.people.pick(&open).copied() {
            self.plan_errand(self.now, Request::CancelRun { run });
        }
    }

    fn retry_something(&mut self) {
        let failed = |state: job::State| matches!(state, job::State::Failed | job::State::Canceled);
        let jobs: Vec<_> = self.watch.jobs.values().filter(|it| failed(it.state)).map(|it| it.id).collect();
        if let Some(job) = self.dice.people.pick(&jobs).copied() {
            self.plan_errand(self.now, Request::RetryJob { job });
        }
    }

    fn rerun_something(&mut self) {
        let over: Vec<_> = self.watch.runs.values().filter(|it| it.is_over()).map(|it| it.id).collect();
        if let Some(run) = self.dice.people.pick(&over).copied().filter(|_| self.people.reruns < RERUNS_MAX) {
            self.people.reruns += 1;
            let failed_only = self.dice.people.chance(0.5);
            self.plan_errand(self.now, Request::Rerun { run, failed_only });
        }
    }

    /// Dead letters are sent again by a person.
    pub fn redrive(&mut self, most: usize) {
        let dead = self.watch.deliveries.values().filter(|it| it.state.get() == delivery::State::DeadLetter);
        let dead: Vec<_> = dead.map(|it| it.id).take(most).collect();
        for delivery in dead {
            self.plan_errand(self.now, Request::Redrive { delivery });
        }
    }

    fn stop_a_runner(&mut self) {
        let runner = self.dice.people.index(self.runners.len());
        let frozen = self.frozen_until(Client::Runner(runner)).is_some();
        if let (Slot::Busy(busy), false) = (&self.runners[runner].slot, frozen) {
            let execution = busy.granted.execution;
            self.tell(|| format!("an operator stops runner {runner}"));
            self.with_session(runner, execution, |session, now| session.handle_stop(now));
        }
    }
}

/// The plan of a trigger; the same every time.
pub fn plan_of(trigger: &str, shape: Shape) -> Plan {
    let name = |number: usize| format!("{number}");
    let job = |number: usize| {
        let spec = format!("{{\"name\":\"{trigger}/{number}\"}}");
        let spec = RawValue::from_string(spec).expect("an object with a name is JSON");
        let needs = if shape.chained && number > 0 { vec![name(number - 1)] } else { Vec::new() };
        let optional = shape.jobs > 2 && number == 1;
        let effect_once = shape.once && number == 0;
        PlanJob { needs, required: !optional, effect_once, ..PlanJob::plain(name(number), spec) }
    };
    let concurrency = shape.grouped.then(|| Concurrency { group: "main".into(), cancel: true });
    let jobs = (0..shape.jobs).map(job).collect();
    Plan { concurrency, fail_fast: shape.fail_fast, jobs, ..Plan::default() }
}
