//! The play: what may be sent and taken up, what answers do to memories, and how everybody helps in calm.

use decisions::jobs::{CancelJob, ReleaseDependents, RetryJob};
use decisions::leases::{Ack, CancelAck, Commit, Complete, ExecutionDue, Heartbeat, Lease, Wanted};
use decisions::runs::{CancelRun, RunDue, SweepRun};
use decisions::{Answer, Command, Decision, Policy, Refusal};
use stateright::Property;
use wire::runner::CompleteStatus;
use wire::{ExecId, RunnerId};

use super::begin::{begin, job, run, tenant};
use super::cast::{
    Actors, Cancel, Memory, Message, Saying, Step, execution_of_ask, lease_id, lease_key, runner_id,
};
use super::rules::{judge_decision, judge_save, properties};
use super::{Setup, Work};
use crate::models::play::Play;
use crate::models::records::Records;
use crate::models::search::Stage;
use crate::models::world::World;

impl Play for Work {
    type Message = Message;
    type Step = Step;
    type Actors = Actors;

    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn servers(&self) -> usize {
        self.servers
    }

    fn begin(&self) -> World<Work> {
        begin(self)
    }

    fn messages(&self, world: &World<Work>) -> Vec<Message> {
        // Without this bound, a retry and a cancel that come again and again would make attempts for ever.
        let at_first = world.records.jobs.all().all(|job| job.attempts == 1);
        let sent = world.actors.network.iter().filter(|message| at_first || **message != Message::Retry);
        sent.cloned().chain(ticks(world)).collect()
    }

    fn command(&self, world: &World<Work>, message: &Message) -> Command {
        match *message {
            Message::Ask { runner, execution } => ask(world, runner_id(runner), execution),
            Message::Say { runner, execution, saying } => say(runner_id(runner), execution, saying),
            Message::Cancel => match self.setup {
                Setup::Job { .. } => CancelJob { tenant: tenant(), job: job() }.into(),
                Setup::Run { .. } => {
                    CancelRun { tenant: tenant(), run: run(), reason: "not needed".into() }.into()
                }
            },
            Message::Retry => RetryJob { tenant: tenant(), job: job() }.into(),
            Message::ExecutionDue(execution) => ExecutionDue { execution }.into(),
            Message::RunDue => RunDue { run: run() }.into(),
            Message::Sweep => SweepRun { run: run() }.into(),
            Message::Release(job) => ReleaseDependents { job }.into(),
        }
    }

    fn is_awaited(&self, message: &Message) -> bool {
        matches!(message, Message::Ask { .. } | Message::Say { .. } | Message::Cancel | Message::Retry)
    }

    fn told(&self, actors: &mut Actors, message: &Message, answer: &Result<Answer, Refusal>) {
        match *message {
            Message::Ask { runner, execution } => {
                let memory = &mut actors.runners[usize::from(runner)].memory;
                if *memory == Memory::Asked(execution) {
                    let granted = matches!(answer, Ok(Answer::Granted(_)));
                    *memory = if granted { Memory::Offered(execution) } else { Memory::Idle };
                }
            }
            Message::Say { runner, execution, saying } => {
                if saying == Saying::Succeed && matches!(answer, Ok(Answer::Completed { accepted: true })) {
                    actors.accepted.insert(execution);
                }
                let memory = &mut actors.runners[usize::from(runner)].memory;
                if memory.execution() == Some(execution) {
                    *memory = remembered(*memory, execution, answer);
                }
            }
            Message::Cancel => {
                let taken = matches!(answer, Ok(Answer::CancelTaken { .. }));
                actors.cancel = match actors.cancel {
                    Cancel::Taken => Cancel::Taken,
                    Cancel::Unsaid | Cancel::Said | Cancel::TooLate if taken => Cancel::Taken,
                    Cancel::Unsaid | Cancel::Said | Cancel::TooLate => Cancel::TooLate,
                };
            }
            Message::Retry
            | Message::ExecutionDue(_)
            | Message::RunDue
            | Message::Sweep
            | Message::Release(_) => {}
        }
    }

    fn steps(&self, world: &World<Work>) -> Vec<Step> {
        let mut sends = Vec::new();
        let mut crashes = Vec::new();
        for (runner, it) in (0..).zip(&world.actors.runners) {
            let say = |saying, execution| Message::Say { runner, execution, saying };
            match it.memory {
                Memory::Idle if it.asks_left > 0 => {
                    let execution = execution_of_ask(runner, it.asks_left);
                    sends.push(Message::Ask { runner, execution });
                }
                Memory::Idle | Memory::Asked(_) | Memory::Finishing(_) => {}
                Memory::Offered(execution) => sends.push(say(Saying::Ack, execution)),
                Memory::Working { execution, stop } => {
                    let wanted = self.sayings.iter().filter(|saying| stop || **saying != Saying::CancelAck);
                    sends.extend(wanted.map(|saying| say(*saying, execution)));
                }
            }
            if it.memory != Memory::Idle {
                crashes.push(Step::CrashRunner(runner));
            }
        }
        if self.cancel {
            sends.push(Message::Cancel);
        }
        if self.retry {
            sends.push(Message::Retry);
        }
        let new = sends.into_iter().filter(|message| !world.actors.network.contains(message));
        new.map(Step::Send).chain(crashes).collect()
    }

    fn step(&self, world: &mut World<Work>, step: &Step) {
        match step {
            Step::Send(message) => {
                remember_sent(&mut world.actors, message);
                world.actors.network.insert(message.clone());
            }
            Step::CrashRunner(runner) => {
                world.actors.runners[usize::from(*runner)].memory = Memory::Idle;
            }
        }
    }

    fn judge_decision(
        &self,
        world: &World<Work>,
        message: &Message,
        decision: &Decision,
    ) -> Option<&'static str> {
        judge_decision(self, world, message, decision)
    }

    fn judge_save(&self, before: &Records, after: &Records) -> Option<&'static str> {
        judge_save(before, after)
    }

    fn properties(&self) -> Vec<Property<Stage<Work>>> {
        properties(self)
    }

    /// Ticks look at all that is due, and a runner that nothing has happened to yet does one job from lease to success.
    fn help(&self, stage: &Stage<Work>, world: &mut World<Work>) {
        for tick in ticks(world) {
            let command = self.command(world, &tick);
            drop(stage.perform(world, command));
        }
        let (runner, execution) = (RunnerId::parse("calm").expect("it is printable"), fresh_execution(world));
        let lease = ask(world, runner.clone(), execution);
        if let Ok(Answer::Granted(_)) = stage.perform(world, lease) {
            for saying in [Saying::Ack, Saying::Succeed] {
                drop(stage.perform(world, say(runner.clone(), execution, saying)));
            }
        }
    }

    fn is_over(&self, world: &World<Work>) -> bool {
        world.records.jobs.all().all(|job| job.state.is_over() && !job.releasing)
            && world.records.runs.all().all(|run| run.is_over() && run.sweep.is_none())
            && world.records.executions.all().all(|it| !it.lease.get().is_live() && it.due_at.is_none())
    }
}

/// What the servers' own ticks find.
fn ticks(world: &World<Work>) -> Vec<Message> {
    let due = |due_at: Option<wire::Time>| due_at.is_some_and(|due_at| due_at <= world.now);
    let records = &world.records;
    let executions = records.executions.all().filter(|it| due(it.due_at));
    let mut ticks: Vec<Message> = executions.map(|it| Message::ExecutionDue(it.id)).collect();
    for run in records.runs.all() {
        ticks.extend(due(run.due_at).then_some(Message::RunDue));
        ticks.extend(run.sweep.map(|_| Message::Sweep));
    }
    ticks.extend(records.jobs.all().filter(|job| job.releasing).map(|job| Message::Release(job.id)));
    ticks
}

fn ask(world: &World<Work>, runner: RunnerId, execution: ExecId) -> Command {
    let queues = world.records.queues.all().map(|queue| queue.id).collect();
    let lease = lease_id(execution);
    let (tenant, wanted) = (Some(tenant()), Wanted::Any(queues));
    Lease { runner, tenant, capabilities: Vec::new(), wanted, execution, lease }.into()
}

fn say(runner: RunnerId, execution: ExecId, saying: Saying) -> Command {
    let lease = lease_key(execution);
    let complete = |runner, status, exit_code, summary: &str| Complete {
        lease,
        runner,
        status,
        exit_code,
        summary: summary.into(),
        artifacts: "[]".into(),
        stored: None,
        saves: None,
    };
    match saying {
        Saying::Ack => Ack { lease, runner }.into(),
        Saying::Heartbeat => Heartbeat { lease, runner, phase: None }.into(),
        Saying::Commit => Commit { lease, runner, effects: Vec::new() }.into(),
        Saying::Succeed => complete(runner, CompleteStatus::Succeeded, 0, "").into(),
        Saying::Fail => complete(runner, CompleteStatus::Failed, 1, "connection reset").into(),
        Saying::CancelAck => {
            CancelAck { lease, runner, summary: String::new(), artifacts: "[]".into() }.into()
        }
    }
}

fn remember_sent(actors: &mut Actors, message: &Message) {
    match *message {
        Message::Ask { runner, execution } => {
            let it = &mut actors.runners[usize::from(runner)];
            it.asks_left -= 1;
            it.memory = Memory::Asked(execution);
        }
        Message::Say { runner, execution, saying } => match saying {
            Saying::Succeed | Saying::Fail | Saying::CancelAck => {
                actors.runners[usize::from(runner)].memory = Memory::Finishing(execution);
            }
            Saying::Ack | Saying::Heartbeat | Saying::Commit => {}
        },
        Message::Cancel => actors.cancel = Cancel::Said,
        Message::Retry
        | Message::ExecutionDue(_)
        | Message::RunDue
        | Message::Sweep
        | Message::Release(_) => {}
    }
}

/// What a runner makes of an answer about the lease that it remembers.
fn remembered(memory: Memory, execution: ExecId, answer: &Result<Answer, Refusal>) -> Memory {
    match answer {
        Ok(Answer::Acked { .. }) if memory == Memory::Offered(execution) => {
            Memory::Working { execution, stop: false }
        }
        Ok(Answer::Beaten { cancel: Some(_), .. }) | Err(Refusal::CancelRequested) => match memory {
            Memory::Working { .. } => Memory::Working { execution, stop: true },
            Memory::Idle | Memory::Asked(_) | Memory::Offered(_) | Memory::Finishing(_) => memory,
        },
        Ok(Answer::Completed { .. } | Answer::CancelAcked) | Err(Refusal::StaleLease { .. }) => Memory::Idle,
        // A repeat, or a word that came before its time: the runner goes on.
        Ok(_) | Err(_) => memory,
    }
}

/// An execution that nobody has asked for.
fn fresh_execution(world: &World<Work>) -> ExecId {
    ExecId::from_u128(10_000 + world.records.executions.all().count() as u128)
}
