//! A record as a history: what was asked, granted, finished and told, in the words of the promises.

use std::collections::{BTreeMap, BTreeSet};

use sim::history::{History, Op, OpId};

use super::is_over;
use crate::verify::record::{Ask, Happened, Outcome, Record, Settled, Word};

/// What was cancelled before it began is never executed, so nobody says that this one must be empty in the end.
const EXECUTED: &str = "the jobs to execute";
const ENDED: &str = "the jobs to end";
const RUNS: &str = "the runs";

pub fn history(record: &Record) -> History {
    let mut telling = Telling::of(record);
    telling.messages_written();
    record.moments.iter().enumerate().for_each(|(number, moment)| telling.tell(number, &moment.what));
    telling.settle();
    telling.history
}

struct Telling<'r> {
    history: History,
    settled: &'r Settled,
    /// The operations of a request, by its number.
    asked: BTreeMap<usize, Vec<OpId>>,
    /// The job and the token of each execution.
    held: BTreeMap<&'r str, (&'r str, u64)>,
    /// What each message is about.
    subjects: BTreeMap<&'r str, &'r str>,
    /// The subjects that came, by lane.
    came: BTreeMap<&'r str, BTreeSet<&'r str>>,
}

impl<'r> Telling<'r> {
    fn of(record: &'r Record) -> Telling<'r> {
        let settled = &record.settled;
        let held = settled.jobs.iter().flat_map(|job| {
            job.executions.iter().map(|execution| (execution.id.as_str(), (job.id.as_str(), execution.token)))
        });
        let subjects = settled.messages.iter().map(|message| (message.id.as_str(), message.subject.as_str()));
        Telling {
            history: History::default(),
            settled,
            asked: BTreeMap::new(),
            held: held.collect(),
            subjects: subjects.collect(),
            came: BTreeMap::new(),
        }
    }

    fn messages_written(&mut self) {
        for message in &self.settled.messages {
            let (queue, item) = (messages_to(&message.lane), message.id.clone());
            self.history.saw("server", Op::Put { queue, item });
            let name = Some(message.subject.clone());
            self.history.saw("server", Op::Name { of: format!("subjects told to {}", message.lane), name });
        }
    }

    fn tell(&mut self, number: usize, what: &'r Happened) {
        match what {
            Happened::Asked { client, ask } => {
                let ops = operations(ask).into_iter().map(|op| self.history.invoke(client.as_str(), op));
                self.asked.insert(number, ops.collect());
            }
            Happened::Answered { of, outcome } => self.answered(*of, *outcome),
            Happened::Effect { word: Word::Begin, payload, execution, .. } => {
                let (queue, item) = (EXECUTED.into(), payload.clone());
                self.history.saw(execution.as_str(), Op::Take { queue, item });
            }
            Happened::Wanted { runner } => {
                let wanted = Op::Acquire { lease: String::new(), token: None };
                let id = self.history.invoke(runner.as_str(), wanted);
                self.asked.insert(number, vec![id]);
            }
            Happened::Granted { of, execution, .. } => {
                let held = self.held.get(execution.as_str());
                let asked = self.asked.get(of).and_then(|ids| ids.first());
                if let (Some(id), Some((job, token))) = (asked, held) {
                    let (lease, token) = ((*job).to_owned(), Some(*token));
                    self.history.ok_with(*id, Op::Acquire { lease, token });
                }
            }
            Happened::Completed { runner, execution, succeeded: true, accepted: true } => {
                if let Some((job, token)) = self.held.get(execution.as_str()) {
                    let (lease, token) = ((*job).to_owned(), *token);
                    self.history.saw(runner.as_str(), Op::Finish { lease, token });
                }
            }
            Happened::Told { lane, message, .. } => {
                let (queue, item) = (messages_to(lane), message.clone());
                self.history.saw(lane.as_str(), Op::Take { queue, item });
                self.came.entry(lane).or_default().extend(self.subjects.get(message.as_str()).copied());
            }
            Happened::Effect { .. } | Happened::Completed { .. } | Happened::Stopped { .. } => {}
            Happened::Fault { .. } | Happened::Started { .. } | Happened::Ready { .. } => {}
        }
    }

    fn answered(&mut self, of: usize, outcome: Outcome) {
        for id in self.asked.get(&of).into_iter().flatten() {
            match outcome {
                Outcome::Ok => self.history.ok(*id),
                Outcome::Fail => self.history.fail(*id),
                Outcome::Unknown => self.history.unknown(*id),
            }
        }
    }

    fn settle(&mut self) {
        self.jobs();
        for run in &self.settled.runs {
            if let Some(item) = run.key.clone() {
                self.history.saw("api", Op::Take { queue: RUNS.into(), item });
            }
            let reruns = self.settled.runs.iter().filter(|other| other.rerun_of.as_ref() == Some(&run.id));
            let (counter, is) = (reruns_of(&run.id), Some(reruns.count() as u64));
            self.history.saw("api", Op::Count { counter, is });
        }
        let lanes: BTreeSet<&str> =
            self.settled.messages.iter().map(|message| message.lane.as_str()).collect();
        lanes.iter().for_each(|lane| self.news_of(lane));
        let queues = [ENDED, RUNS].map(String::from).into_iter().chain(lanes.into_iter().map(messages_to));
        queues.for_each(|queue| self.history.saw("api", Op::Drained { queue }));
    }

    fn jobs(&mut self) {
        for job in &self.settled.jobs {
            if is_over(&job.state) {
                let (queue, item) = (ENDED.into(), job.payload.clone());
                self.history.saw("api", Op::Take { queue, item });
            }
            for execution in &job.executions {
                let name = Some(execution.id.clone());
                self.history.saw("api", Op::Name { of: "executions".into(), name });
                let name = Some(execution.token.to_string());
                self.history.saw("api", Op::Name { of: format!("tokens of {}", job.uid), name });
                if execution.committed {
                    let (lease, token) = (job.id.clone(), execution.token);
                    self.history.saw("api", Op::Finish { lease, token });
                }
            }
        }
    }

    /// Each end of a job is told; one that was tried again may have had several.
    fn news_of(&mut self, lane: &str) {
        let set = format!("the news for {lane}");
        for job in self.settled.jobs.iter().filter(|job| is_over(&job.state)) {
            for attempt in 0..=job.attempts {
                let keep = Op::Keep { set: set.clone(), item: format!("{}/{attempt}", job.uid) };
                let id = self.history.invoke(job.payload.as_str(), keep);
                if attempt == job.attempts { self.history.ok(id) } else { self.history.unknown(id) }
            }
        }
        let items = self.came.get(lane).map(|came| came.iter().map(|item| (*item).to_owned()).collect());
        self.history.saw(lane, Op::Look { set, items: Some(items.unwrap_or_default()) });
    }
}

fn operations(ask: &Ask) -> Vec<Op> {
    let put = |queue: &str, item: &String| Op::Put { queue: queue.into(), item: item.clone() };
    match ask {
        Ask::Submit { payload } => vec![put(EXECUTED, payload), put(ENDED, payload)],
        Ask::Trigger { key, payloads } => {
            let jobs = payloads.iter().flat_map(|payload| [put(EXECUTED, payload), put(ENDED, payload)]);
            jobs.chain([put(RUNS, key)]).collect()
        }
        Ask::Rerun { run } => vec![Op::Add { counter: reruns_of(run), by: 1 }],
        Ask::Cancel { .. } | Ask::Retry { .. } => vec![],
    }
}

fn messages_to(lane: &str) -> String {
    format!("the messages for {lane}")
}

fn reruns_of(run: &str) -> String {
    format!("reruns of {run}")
}
