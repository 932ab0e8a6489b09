//! The audit log, replayed: every step must be a row of its table, and the last one must lead to what is stored.

use std::collections::BTreeMap;

use machines::Description;

use super::{Finding, Findings};
use crate::records::Event;
use crate::records::event::CREATE;

/// What is stored, by machine and entity.
pub type States<'s> = BTreeMap<(&'s str, String), &'s str>;

/// Kinds of records that the log tells of by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logged {
    Tenants,
    Deliveries,
    Uploads,
    Versions,
}

impl Logged {
    pub const ALL: [Logged; 4] = [Logged::Tenants, Logged::Deliveries, Logged::Uploads, Logged::Versions];

    pub fn table(self) -> &'static str {
        match self {
            Logged::Tenants => "tenants",
            Logged::Deliveries => "deliveries",
            Logged::Uploads => "uploads",
            Logged::Versions => "versions",
        }
    }

    pub fn machine(self) -> &'static str {
        match self {
            Logged::Tenants => "tenant",
            Logged::Deliveries => "delivery",
            Logged::Uploads => "upload",
            Logged::Versions => "version",
        }
    }
}

/// Such a record's state, with what the log says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepsFile {
    pub id: String,
    pub state: String,
    pub events: Vec<Event>,
}

pub fn check_steps(of: Logged, file: &StepsFile) -> Vec<Finding> {
    let mut findings = Findings { entity: file.id.clone(), found: Vec::new() };
    let states = States::from([((of.machine(), file.id.clone()), file.state.as_str())]);
    check_log(&states, &file.events, &mut findings);
    findings.found
}

pub fn check_log(states: &States<'_>, events: &[Event], findings: &mut Findings) {
    let replayed = match replay(events) {
        Ok(replayed) => replayed,
        Err(problem) => return findings.add("I1", problem),
    };
    for ((machine, entity), state) in states {
        let logged = replayed.get(&(machine.to_string(), entity.clone())).map(String::as_str);
        if logged != Some(*state) {
            let logged = logged.unwrap_or("nothing");
            findings.add("I8", format!("{machine} {entity} is stored as {state}, the log leads to {logged}"));
        }
    }
    if replayed.len() != states.len() {
        findings.add("I8", format!("the log knows {} entities, {} are stored", replayed.len(), states.len()));
    }
}

/// The states that a log leads to, by machine and entity.
pub fn replay(events: &[Event]) -> Result<BTreeMap<(String, String), String>, String> {
    let mut states: BTreeMap<(String, String), String> = BTreeMap::new();
    for event in events {
        let key = (event.machine.clone(), event.entity.clone());
        let machine = Description::named(&event.machine)
            .ok_or_else(|| format!("event {}: no machine is called {}", event.seq, event.machine))?;
        let before = states.get(&key);
        if before != event.from.as_ref() {
            return Err(format!(
                "event {} leaves {:?}, but {} was in {before:?}",
                event.seq, event.from, event.entity
            ));
        }
        let to = match before {
            None if event.event == CREATE => Some(machine.initial),
            None => None,
            Some(from) => machine.row(from, &event.event).map(|row| row.to),
        };
        if to != Some(event.to.as_str()) {
            let from = event.from.as_deref().unwrap_or("nothing");
            return Err(format!(
                "event {}: {} has no row {from} + {} → {}",
                event.seq, event.machine, event.event, event.to
            ));
        }
        states.insert(key, event.to.clone());
    }
    Ok(states)
}
