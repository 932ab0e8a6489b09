//! Clients that submit, trigger, cancel, rerun and retry while everything around them breaks, and write down each request
//! and what came of it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use super::dice::Dice;
use super::effects::{Work, script};
use super::http::{Reply, Silence, ask};
use super::record::{Ask, Happened, Outcome, Scribe, Word};
use super::servers::{ADMIN, Addresses};

/// Longer than any answer of a server that is well.
const PATIENCE: Duration = Duration::from_secs(5);
const MUST_TRIES_MAX: u32 = 200;
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Jobs that wait or run at a time; whoever submits waits for some to end.
const OPEN_MAX: usize = 40;
/// The same request again, when nobody knows what came of it.
const REPEATS_MAX: u32 = 3;
/// Looks until a cancelled job is over.
const STOP_LOOKS_MAX: u32 = 1_500;

/// Speaks to whichever server is there.
#[derive(Clone)]
pub struct Caller {
    addresses: Addresses,
}

impl Caller {
    pub fn new(addresses: Addresses) -> Caller {
        Caller { addresses }
    }

    pub fn send(&self, first: usize, method: &str, path: &str, body: &Value) -> Result<Reply, Silence> {
        let address = self.addresses.any(first).ok_or(Silence::NotSent)?;
        ask(address, ADMIN, method, path, body, PATIENCE)
    }

    /// Until it is done, for what is asked in calm.
    pub fn must(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        self.reply(method, path, body).map(|reply| reply.json())
    }

    pub fn reply(&self, method: &str, path: &str, body: &Value) -> Result<Reply> {
        let mut last = None;
        for try_ in 0..MUST_TRIES_MAX {
            match self.send(try_ as usize, method, path, body) {
                Ok(reply) if reply.status < 300 => return Ok(reply),
                Ok(reply) if reply.status < 500 => {
                    let text = String::from_utf8_lossy(&reply.body).into_owned();
                    return Err(anyhow!("{method} {path}: {} {text}", reply.status));
                }
                other => last = Some(other),
            }
            thread::sleep(LOOK_EVERY);
        }
        Err(anyhow!("{method} {path}: no answer ({last:?})"))
    }

    /// `None` where there is no such thing.
    pub fn find(&self, path: &str) -> Result<Option<Value>> {
        match self.reply("GET", path, &Value::Null) {
            Ok(reply) => Ok(Some(reply.json())),
            Err(error) if error.to_string().contains(": 404 ") => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// What all clients share.
pub struct Crowd {
    pub caller: Caller,
    pub scribe: Arc<Scribe>,
    pub folder: PathBuf,
    pub stop: AtomicBool,
    /// Jobs that were accepted.
    pub accepted: AtomicUsize,
    pub finished: Box<dyn Fn() -> usize + Send + Sync>,
}

pub struct Client {
    pub crowd: Arc<Crowd>,
    pub name: String,
    pub place: usize,
    pub dice: Dice,
    count: usize,
    runs: Vec<String>,
    once: Vec<String>,
}

impl Client {
    pub fn new(crowd: Arc<Crowd>, place: usize, dice: Dice) -> Client {
        let name = format!("client-{}", place + 1);
        Client { crowd, name, place, dice, count: 0, runs: vec![], once: vec![] }
    }

    /// Submits and triggers, reruns and retries, until told to stop.
    pub fn work(&mut self) {
        while !self.crowd.is_stopped() {
            if self.crowd.accepted.load(Ordering::SeqCst) >= (self.crowd.finished)() + OPEN_MAX {
                thread::sleep(LOOK_EVERY);
                continue;
            }
            match self.dice.below(20) {
                0..14 => self.submit(),
                14..17 => self.trigger(),
                17..19 => self.rerun(),
                _ => self.retry(),
            }
            thread::sleep(self.dice.pause(20, 250));
        }
    }

    /// Cancels what runs, and waits until it has stopped.
    pub fn cancel(&mut self) {
        while !self.crowd.is_stopped() {
            thread::sleep(self.dice.pause(200, 900));
            let Some(job) = self.dice.pick(&running(&self.crowd.scribe)).cloned() else { continue };
            let path = format!("/v1/tenants/default/jobs/{job}/cancel");
            let (number, outcome, _) = self.say(Ask::Cancel { job: job.clone() }, &path, &json!({}));
            if outcome == Outcome::Ok {
                self.until_stopped(number, &job);
            }
        }
    }

    fn until_stopped(&self, number: usize, job: &str) {
        let path = format!("/v1/tenants/default/jobs/{job}");
        for _ in 0..STOP_LOOKS_MAX {
            let seen = self.crowd.caller.send(self.place, "GET", &path, &Value::Null);
            if seen.is_ok_and(|reply| reply.status == 200 && reply.json()["state"] == "CANCELED") {
                self.crowd.scribe.saw(Happened::Stopped { of: number });
                return;
            }
            if self.crowd.is_stopped() {
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn payload(&mut self) -> (String, Work) {
        self.count += 1;
        // Some take longer than the lease: they would be seen running twice, if anything let them.
        let tenths = if self.dice.percent(10) { 45 } else { 2 + self.dice.below(10) as u64 };
        let work = Work { tenths, lines: if self.dice.percent(8) { 2_000 } else { 20 } };
        (format!("{}-{}-{}", self.name, self.count, work.lines), work)
    }

    fn submit(&mut self) {
        let (payload, work) = self.payload();
        let mut body = json!({"job_id": payload, "max_attempts": 20,
            "payload": {"steps": [script(&self.crowd.folder, &payload, work)]}});
        if self.dice.percent(25) {
            body["effect"] = json!("once");
            self.once.push(payload.clone());
        }
        if self.insist(&Ask::Submit { payload }, "/v1/tenants/default/jobs", &body).is_some() {
            self.crowd.accepted.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn trigger(&mut self) {
        let jobs: Vec<(String, Work)> = (0..2 + self.dice.below(2)).map(|_| self.payload()).collect();
        let planned = jobs.iter().enumerate().map(|(number, (payload, work))| {
            let needs: Vec<&String> = if number == 1 { vec![&jobs[0].0] } else { vec![] };
            json!({"name": payload, "steps": [script(&self.crowd.folder, payload, *work)],
                "max_attempts": 20, "needs": needs})
        });
        let key = format!("{}-run-{}", self.name, self.count);
        let body = json!({"trigger_key": key, "plan": {"jobs": planned.collect::<Vec<_>>()}});
        let payloads: Vec<String> = jobs.into_iter().map(|(payload, _)| payload).collect();
        let count = payloads.len();
        let told = self.insist(&Ask::Trigger { key, payloads }, "/v1/tenants/default/runs", &body);
        if let Some(told) = told {
            self.crowd.accepted.fetch_add(count, Ordering::SeqCst);
            self.runs.extend(told["id"].as_str().map(String::from));
        }
    }

    fn rerun(&mut self) {
        let Some(run) = self.dice.pick(&self.runs.clone()).cloned() else { return };
        let path = format!("/v1/tenants/default/runs/{run}/rerun");
        let (_, outcome, told) = self.say(Ask::Rerun { run }, &path, &json!({}));
        if outcome == Outcome::Ok {
            let jobs = told["jobs_total"].as_u64().unwrap_or_default();
            self.crowd.accepted.fetch_add(jobs as usize, Ordering::SeqCst);
        }
    }

    /// Of what was lost and may happen once: a person has looked, and says that it may be tried again.
    fn retry(&mut self) {
        let Some(job) = self.dice.pick(&self.once.clone()).cloned() else { return };
        let path = format!("/v1/tenants/default/jobs/{job}/retry");
        self.say(Ask::Retry { job }, &path, &json!({}));
    }

    /// The same request again while nobody knows whether it was done; some leave it at that.
    fn insist(&mut self, ask: &Ask, path: &str, body: &Value) -> Option<Value> {
        for _ in 0..REPEATS_MAX {
            let (_, outcome, told) = self.say(ask.clone(), path, body);
            match outcome {
                Outcome::Ok => return Some(told),
                Outcome::Fail | Outcome::Unknown if self.dice.percent(40) => return None,
                Outcome::Fail | Outcome::Unknown => thread::sleep(LOOK_EVERY * 5),
            }
        }
        None
    }

    fn say(&self, ask: Ask, path: &str, body: &Value) -> (usize, Outcome, Value) {
        let Crowd { scribe, caller, .. } = &*self.crowd;
        let number = scribe.saw(Happened::Asked { client: self.name.clone(), ask });
        let reply = caller.send(self.place, "POST", path, body);
        let outcome = match &reply {
            Ok(reply) if reply.status < 300 => Outcome::Ok,
            Ok(reply) if reply.status < 500 => Outcome::Fail,
            Err(Silence::NotSent) => Outcome::Fail,
            Ok(_) | Err(Silence::Unknown) => Outcome::Unknown,
        };
        scribe.saw(Happened::Answered { of: number, outcome });
        (number, outcome, reply.map_or(Value::Null, |reply| reply.json()))
    }
}

impl Crowd {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// Looked at for jobs that run: as far back as any job takes.
const RECENT: usize = 2_000;

/// Jobs that have begun and not ended, of late.
fn running(scribe: &Scribe) -> Vec<String> {
    let seen = scribe.recent(RECENT, |moment| match &moment.what {
        Happened::Effect { word, job, .. } => Some((*word, job.clone())),
        _ => None,
    });
    let ended: BTreeSet<&String> =
        seen.iter().filter(|(word, _)| *word == Word::End).map(|(_, job)| job).collect();
    let begun = seen.iter().filter(|(word, _)| *word == Word::Begin).map(|(_, job)| job);
    begun.filter(|job| !ended.contains(job)).cloned().collect()
}
