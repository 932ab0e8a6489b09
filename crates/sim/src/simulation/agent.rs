//! A runner's agent: drives the real protocol session, as `runner::agent::drive` does, over the simulated network.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use decisions::{Answer, Granted, Refusal};
use runner::clock::Uptime;
use runner::session::{self, Action, Call, Plan, Session, Terms, Wanted};
use wire::{Digest, RunnerId, Time};

use super::course::Course;
use super::dice::mixed;
use super::words::{Client, Reply, Request, Said, Word};
use super::world::{BEGIN, Event, World};
use crate::history::{Op, OpId};

pub struct Runner {
    pub name: RunnerId,
    /// How often it was started; what was meant for an earlier life is not heard.
    pub life: u32,
    pub up: bool,
    /// The agent stands still until then.
    pub frozen_until: Option<Time>,
    /// And so does its machine.
    pub machine_frozen: bool,
    /// What the wall clock is wrong by, in seconds.
    pub wrong_by: i64,
    pub slot: Slot,
}

pub enum Slot {
    Idle,
    Asking { call: u64, op: OpId },
    Busy(Box<Busy>),
}

/// One lease.
pub struct Busy {
    pub session: Session,
    pub granted: Granted,
    /// What the job is called by whoever handed it in.
    pub(super) item: String,
    pub(super) calls: BTreeMap<u64, (Waits, Option<OpId>)>,
    /// The log's length.
    written: u64,
    pub(super) content: Option<u8>,
    pub(super) course: Option<Course>,
    pub(super) stored: Vec<Digest>,
    /// The last word is one operation, however often it is said.
    last_word: Option<OpId>,
    pub(super) commits_left: u32,
    awake_at: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    Session(Call),
    Course,
    Commit,
}

pub(super) const ASK_TIMEOUT: Duration = Duration::from_secs(5);
/// The machine was on for a while when it began.
const ON_SINCE: Duration = Duration::from_secs(2 * 3_600);
const CHUNK_BYTES_MAX: u64 = 700;
const COMMITS_MAX: u32 = 3;

impl World {
    /// What the agent's clock says.
    pub fn uptime(&self, runner: usize) -> Uptime {
        let (since, wrong_by) = (self.now.since(BEGIN) + ON_SINCE, self.runners[runner].wrong_by);
        Uptime::from_start((self.parts.uptime)(since, wrong_by))
    }

    pub fn ask_for_work(&mut self, index: usize) {
        if !matches!(self.runners[index].slot, Slot::Idle) || !self.runners[index].up {
            return;
        }
        let name = self.runners[index].name.to_string();
        let op = self.history.invoke(name, Op::Acquire { lease: String::new(), token: None });
        let call = self.ask(Client::Runner(index), Request::Lease, ASK_TIMEOUT);
        self.runners[index].slot = Slot::Asking { call, op };
    }

    fn ask_again(&mut self, index: usize) {
        self.runners[index].slot = Slot::Idle;
        let (life, pause) = (self.runners[index].life, self.dice.agents.millis(300, 2_500));
        let pause = self.pace(pause);
        self.agenda.add(self.now.plus(pause), Event::AskForWork { runner: index, life });
    }

    pub fn runner_answered(&mut self, index: usize, call: u64, reply: Reply) {
        match &mut self.runners[index].slot {
            Slot::Asking { call: asked, op } if *asked == call => {
                let op = *op;
                match reply {
                    Reply::Done(Answer::Granted(granted)) => self.granted(index, *granted, op),
                    Reply::Done(_) | Reply::Refused(_) => {
                        self.history.fail(op);
                        self.ask_again(index);
                    }
                    Reply::Unknown => {
                        self.history.unknown(op);
                        self.ask_again(index);
                    }
                }
            }
            Slot::Busy(busy) => {
                let Some((waits, op)) = busy.calls.remove(&call) else { return };
                self.note_outcome(op, &reply);
                match waits {
                    Waits::Session(kind) => self.session_answered(index, kind, reply),
                    Waits::Course => self.course_answered(index, &reply),
                    Waits::Commit => self.commit_answered(index, &reply),
                }
                self.drive(index);
            }
            Slot::Idle | Slot::Asking { .. } => {}
        }
    }

    /// A refusal may be the answer to a second copy of a request whose first was taken: it says nothing for certain.
    fn note_outcome(&mut self, op: Option<OpId>, reply: &Reply) {
        let Some(op) = op else { return };
        match reply {
            Reply::Done(Answer::Completed { accepted: false }) => self.history.fail(op),
            Reply::Done(_) => self.history.ok(op),
            Reply::Refused(_) | Reply::Unknown => self.history.unknown(op),
        }
    }

    fn granted(&mut self, index: usize, granted: Granted, op: OpId) {
        let (lease, token) = (granted.job.to_string(), Some(u64::from(granted.token)));
        self.history.ok_with(op, Op::Acquire { lease, token });
        let item = item_of(&granted);
        let dice = &mut self.dice.agents;
        let content = dice.chance(0.4).then(|| dice.below(6) as u8);
        let terms = Terms {
            lease_ttl: granted.lease_ttl,
            heartbeat_interval: granted.heartbeat_interval,
            max_runtime: granted.max_runtime,
            steps: 1,
            artifacts: Wanted { any: content.is_some(), reports: false, caches: false },
        };
        let session = Session::new(terms, Plan::Run, self.uptime(index));
        self.runners[index].slot = Slot::Busy(Box::new(Busy {
            session,
            granted,
            item,
            calls: BTreeMap::new(),
            written: 0,
            content,
            course: None,
            stored: Vec::new(),
            last_word: None,
            commits_left: COMMITS_MAX,
            awake_at: None,
        }));
        self.drive(index);
    }

    pub(super) fn busy(&mut self, index: usize) -> Option<&mut Busy> {
        match &mut self.runners[index].slot {
            Slot::Busy(busy) => Some(&mut **busy),
            Slot::Idle | Slot::Asking { .. } => None,
        }
    }

    /// Something happens to the session of this execution, if the agent still has it.
    pub fn with_session(
        &mut self,
        index: usize,
        execution: wire::ExecId,
        happens: impl FnOnce(&mut Session, Uptime),
    ) {
        let now = self.uptime(index);
        let Some(busy) = self.busy(index).filter(|busy| busy.granted.execution == execution) else { return };
        happens(&mut busy.session, now);
        self.drive(index);
    }

    /// The job has printed so much.
    pub fn printed(&mut self, index: usize, execution: wire::ExecId, bytes: u64) {
        let now = self.uptime(index);
        let Some(busy) = self.busy(index).filter(|busy| busy.granted.execution == execution) else { return };
        busy.written += bytes;
        busy.session.handle_written(now, busy.written);
        self.drive(index);
    }

    /// Does what the session wants, until it wants nothing more for now.
    pub fn drive(&mut self, index: usize) {
        let now = self.uptime(index);
        while let Some(action) = self.busy(index).and_then(|busy| busy.session.poll_action(now)) {
            self.act(index, action);
        }
        let (life, at) = (self.runners[index].life, self.now);
        let Some(busy) = self.busy(index) else { return };
        let Some(wake) = busy.session.poll_timeout() else { return };
        let wake = at.plus(now.until(wake).max(Duration::from_millis(1)));
        if busy.awake_at != Some(wake) {
            busy.awake_at = Some(wake);
            self.agenda.add(wake, Event::AgentWakes { runner: index, life });
        }
    }

    fn act(&mut self, index: usize, action: Action) {
        match action {
            Action::Send { request, timeout } => self.say(index, request, timeout),
            Action::Start { until } => {
                let Some(busy) = self.busy(index) else { return };
                let (granted, item) = (busy.granted.clone(), busy.item.clone());
                self.history.saw(granted.execution.to_string(), Op::Take { queue: "started".into(), item });
                self.start_keeper(index, &granted, until);
            }
            Action::Extend { until } => {
                let Some(execution) = self.busy(index).map(|busy| busy.granted.execution) else { return };
                self.extend_keeper(execution, until);
            }
            Action::Cancel { grace } => {
                let Some(execution) = self.busy(index).map(|busy| busy.granted.execution) else { return };
                self.cancel_keeper(execution, grace);
            }
            Action::Kill => {
                let Some(execution) = self.busy(index).map(|busy| busy.granted.execution) else { return };
                self.kill_keeper(execution);
            }
            Action::NoteTruncated => {
                let Some(execution) = self.busy(index).map(|busy| busy.granted.execution) else { return };
                self.printed_quietly(index, execution);
            }
            Action::Collect(_) => self.collect_artifacts(index),
            Action::Abandon => {
                if let Some(busy) = self.busy(index) {
                    busy.course = None;
                }
            }
            Action::Over(end) => {
                self.tell(|| format!("runner {index}: over, {end:?}"));
                self.leave(index);
            }
        }
    }

    fn printed_quietly(&mut self, index: usize, execution: wire::ExecId) {
        let now = self.uptime(index);
        if let Some(busy) = self.busy(index).filter(|busy| busy.granted.execution == execution) {
            busy.written += 40;
            busy.session.handle_written(now, busy.written);
        }
    }

    /// The lease is over for this agent, whatever became of it.
    fn leave(&mut self, index: usize) {
        self.forget_lease(index);
        self.ask_again(index);
    }

    pub fn forget_lease(&mut self, index: usize) {
        let slot = std::mem::replace(&mut self.runners[index].slot, Slot::Idle);
        match slot {
            Slot::Busy(busy) => {
                let open = busy.calls.values().filter_map(|(_, op)| *op);
                open.chain(busy.last_word).for_each(|op| self.history.unknown(op));
            }
            Slot::Asking { op, .. } => self.history.unknown(op),
            Slot::Idle => {}
        }
    }

    fn say(&mut self, index: usize, request: session::Request, timeout: Duration) {
        let name = self.runners[index].name.to_string();
        let call = request.call();
        let Some(busy) = self.busy(index) else { return };
        let (lease, token) = (busy.granted.job.to_string(), u64::from(busy.granted.token));
        let mut op = None;
        let said = match request {
            session::Request::Ack => Said::Ack,
            session::Request::Heartbeat(beat) => {
                op = Some(Op::Use { lease, token });
                Said::Heartbeat(beat)
            }
            session::Request::Log { offset } => {
                let to = busy.written.min(offset + CHUNK_BYTES_MAX);
                let bytes =
                    (offset..to).map(|at| log_byte(busy.granted.execution, at)).collect::<Arc<[u8]>>();
                op = Some(Op::Grow { log: busy.granted.execution.to_string(), to });
                Said::Log { offset, bytes }
            }
            session::Request::Complete { verdict, artifacts, .. } => {
                let succeeded = verdict.outcome == session::Outcome::Succeeded;
                let last = if succeeded { Op::Finish { lease, token } } else { Op::Use { lease, token } };
                let stored = if artifacts.is_empty() { Vec::new() } else { busy.stored.clone() };
                if busy.last_word.is_none() {
                    let id = self.history.invoke(name.clone(), last);
                    self.busy(index).expect("it is busy").last_word = Some(id);
                }
                Said::Complete { verdict, stored }
            }
            session::Request::CancelAck { summary } => Said::CancelAck { summary },
        };
        let op = op.map(|op| self.history.invoke(name, op));
        self.send_word(index, said, timeout, (Waits::Session(call), op));
    }

    pub(super) fn send_word(
        &mut self,
        index: usize,
        said: Said,
        timeout: Duration,
        waits: (Waits, Option<OpId>),
    ) {
        let Some(busy) = self.busy(index) else { return };
        let Granted { execution, tenant, ref lease, .. } = busy.granted;
        let word = Word { lease: lease.clone(), execution, tenant, said };
        let call = self.ask(Client::Runner(index), Request::Word(Box::new(word)), timeout);
        if let Some(busy) = self.busy(index) {
            busy.calls.insert(call, waits);
        }
    }

    fn session_answered(&mut self, index: usize, call: Call, reply: Reply) {
        let (now, jitter) = (self.uptime(index), self.dice.agents.unit());
        let Some(busy) = self.busy(index) else { return };
        let last_word = if call == Call::Complete { busy.last_word } else { None };
        if let (Some(op), Reply::Done(_) | Reply::Refused(_)) = (last_word, &reply) {
            self.note_outcome(Some(op), &reply);
        }
        let answer = heard(reply, jitter);
        if let Some(busy) = self.busy(index) {
            busy.session.handle_answer(now, call, answer);
        }
    }
}

fn heard(reply: Reply, jitter: f64) -> session::Answer {
    match reply {
        Reply::Done(Answer::Acked { lease_ttl }) => session::Answer::Acked { ttl: lease_ttl },
        Reply::Done(Answer::Beaten { lease_ttl, cancel }) => {
            session::Answer::Beaten { ttl: Some(lease_ttl), cancel }
        }
        Reply::Done(Answer::LogAppended { offset, truncated }) => {
            session::Answer::Logged { offset, truncated }
        }
        Reply::Done(Answer::Completed { accepted }) => session::Answer::Completed { accepted },
        Reply::Done(Answer::CancelAcked) => session::Answer::CancelAcked,
        Reply::Done(other) => panic!("no runner is told {other:?}"),
        Reply::Refused(Refusal::StaleLease { reason }) => session::Answer::Stale(reason),
        Reply::Refused(Refusal::LeaseNotAcknowledged) => session::Answer::NotAcknowledged,
        Reply::Refused(Refusal::LogOffset { expected }) => session::Answer::WrongOffset { offset: expected },
        Reply::Refused(refusal) => session::Answer::Refused { code: refusal.code().into() },
        Reply::Unknown => session::Answer::Unknown { jitter },
    }
}

/// The name under which somebody handed the job in: both kinds of specification have it.
fn item_of(granted: &Granted) -> String {
    let spec: serde_json::Value = serde_json::from_str(&granted.spec).expect("a specification is JSON");
    spec["name"].as_str().unwrap_or_default().to_owned()
}

/// Every byte of every log is known.
pub fn log_byte(execution: wire::ExecId, at: u64) -> u8 {
    mixed(execution.as_u128() as u64 ^ at) as u8
}
