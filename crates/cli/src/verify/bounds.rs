//! How long it took until things were well again, from the record of the same run.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::record::{Ask, Fault, Happened, Moment, Record, Settings, Word};
use super::site::LANES;

#[derive(Debug, Clone, Serialize)]
pub struct Bound {
    pub what: &'static str,
    /// The settings that it depends on.
    pub depends_on: String,
    pub count: usize,
    pub p50_ms: u64,
    pub max_ms: u64,
}

pub fn measured(record: &Record) -> Vec<Bound> {
    let Settings { lease_ttl_ms, heartbeat_ms, cancel_deadline_ms, delivery_claim_ttl_ms, .. } =
        record.settings;
    let moments = &record.moments;
    [
        (
            "a runner dies, its job runs again",
            format!("lease {lease_ttl_ms} ms, heartbeat {heartbeat_ms} ms"),
            runs_again(record),
        ),
        (
            "a cancel is accepted, the job has stopped",
            format!("heartbeat {heartbeat_ms} ms, deadline {cancel_deadline_ms} ms"),
            stopped(moments),
        ),
        ("a server is started, it is ready", "-".into(), ready(moments)),
        (
            "a server dies after a commit, the news of it arrive",
            format!("claim {delivery_claim_ttl_ms} ms"),
            delivered(record, false),
        ),
        (
            "the same, behind all news before it",
            format!("claim {delivery_claim_ttl_ms} ms"),
            delivered(record, true),
        ),
    ]
    .into_iter()
    .map(|(what, depends_on, micros)| bound(what, depends_on, micros))
    .collect()
}

fn bound(what: &'static str, depends_on: String, mut micros: Vec<i64>) -> Bound {
    micros.sort_unstable();
    let ms = |found: Option<&i64>| found.map_or(0, |micros| micros.unsigned_abs() / 1_000);
    Bound {
        what,
        depends_on,
        count: micros.len(),
        p50_ms: ms(micros.get(micros.len() / 2)),
        max_ms: ms(micros.last()),
    }
}

/// From the kill of a runner to the next execution of what it was at, unless a person had a word in it.
fn runs_again(record: &Record) -> Vec<i64> {
    let moments = &record.moments;
    let waits = record.settled.jobs.iter().filter(|job| job.once).map(|job| job.id.as_str());
    let asked = moments.iter().filter_map(|moment| match &moment.what {
        Happened::Asked { ask: Ask::Cancel { job } | Ask::Retry { job }, .. } => Some(job.as_str()),
        _ => None,
    });
    let left_out: BTreeSet<&str> = waits.chain(asked).collect();
    // Of each job: the runner and since when it is at it.
    let mut holders: BTreeMap<&str, &str> = BTreeMap::new();
    let mut at_work: BTreeMap<&str, &str> = BTreeMap::new();
    let mut orphans: BTreeMap<&str, i64> = BTreeMap::new();
    let mut found = Vec::new();
    for Moment { at, what } in moments {
        match what {
            Happened::Granted { runner, execution, .. } => drop(holders.insert(execution, runner)),
            Happened::Effect { word: Word::Begin, job, execution, .. } => {
                found.extend(orphans.remove(job.as_str()).map(|died| at - died));
                at_work.extend(holders.get(execution.as_str()).map(|runner| (job.as_str(), *runner)));
            }
            Happened::Effect { word: Word::End, job, .. } => {
                at_work.remove(job.as_str());
                orphans.remove(job.as_str());
            }
            Happened::Fault { what: Fault::KillRunner, whom } => {
                let lost: Vec<&str> =
                    at_work.iter().filter(|(_, runner)| *runner == whom).map(|(job, _)| *job).collect();
                for job in lost {
                    at_work.remove(job);
                    if !left_out.contains(job) {
                        orphans.insert(job, *at);
                    }
                }
            }
            _ => {}
        }
    }
    found
}

fn stopped(moments: &[Moment]) -> Vec<i64> {
    let mut accepted: BTreeMap<usize, i64> = BTreeMap::new();
    let mut found = Vec::new();
    for Moment { at, what } in moments {
        match what {
            Happened::Answered { of, .. } => drop(accepted.insert(*of, *at)),
            Happened::Stopped { of } => found.extend(accepted.get(of).map(|since| at - since)),
            _ => {}
        }
    }
    found
}

fn ready(moments: &[Moment]) -> Vec<i64> {
    let mut started: BTreeMap<&str, i64> = BTreeMap::new();
    let mut found = Vec::new();
    for Moment { at, what } in moments {
        match what {
            Happened::Started { whom } => drop(started.insert(whom, *at)),
            Happened::Ready { whom } => found.extend(started.remove(whom.as_str()).map(|since| at - since)),
            _ => {}
        }
    }
    found
}

/// From the kill of a server that found the message on record to its first arrival; when several did, from the last.
fn delivered(record: &Record, in_order: bool) -> Vec<i64> {
    let lanes: Vec<&str> =
        LANES.iter().filter(|(_, ordered)| *ordered == in_order).map(|(lane, _)| *lane).collect();
    let kills: Vec<i64> = record
        .moments
        .iter()
        .filter(|moment| matches!(moment.what, Happened::Fault { what: Fault::KillServer, .. }))
        .map(|moment| moment.at)
        .collect();
    let mut arrived: BTreeMap<&str, i64> = BTreeMap::new();
    for Moment { at, what } in &record.moments {
        if let Happened::Told { message, .. } = what {
            arrived.entry(message).or_insert(*at);
        }
    }
    let late = |message: &super::record::MessageSeen| {
        let arrived = *arrived.get(message.id.as_str())?;
        let killed = *kills.iter().rfind(|kill| **kill < arrived)?;
        (killed > message.created_at).then_some(arrived - killed)
    };
    let ours = record.settled.messages.iter().filter(|message| lanes.contains(&message.lane.as_str()));
    ours.filter_map(late).collect()
}
