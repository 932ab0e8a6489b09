//! Clients at work, trouble around them, then calm: one recording, and what it is judged to be.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use store::Postgres;

use super::clients::{Client, Crowd};
use super::dice::Dice;
use super::record::{Record, Settings, faults};
use super::report::{Part, grouped};
use super::site::{Plan, Site};
use super::trouble::{Amount, Trouble};
use super::{Stop, bounds, calm, judge, timeline};
use crate::database::block_on;
use crate::output::{progress, usage};

pub struct Order {
    pub seed: u64,
    pub kills: Option<u64>,
    pub time: Option<Duration>,
    pub database: Option<String>,
    pub netns: bool,
    pub fill_disk: Option<PathBuf>,
    pub older: Option<PathBuf>,
}

const SUBMITTERS: usize = 2;
const RUNNERS: usize = 4;
const SLOTS: usize = 2;

/// A lost lease costs three seconds, a lost grant or delivery two.
fn settings(database: bool) -> Settings {
    Settings {
        store: if database { "PostgreSQL" } else { "SQLite" }.into(),
        servers: if database { 2 } else { 1 },
        runners: RUNNERS,
        slots: SLOTS,
        lease_ttl_ms: 3_000,
        heartbeat_ms: 300,
        ack_timeout_ms: 2_000,
        cancel_deadline_ms: 4_000,
        delivery_claim_ttl_ms: 2_000,
        wall_clocks: false, // the site finds out
    }
}

pub fn record(order: Order, stop: &Stop) -> Result<Record> {
    progress("starting servers and runners");
    let plan = Plan {
        seed: order.seed,
        settings: settings(order.database.is_some()),
        database: order.database.clone(),
        data: order.fill_disk.clone(),
        netns: order.netns,
        older: order.older.clone(),
    };
    let mut site = Site::build(&plan)?;
    let crowd = Arc::new(Crowd {
        caller: site.caller.clone(),
        scribe: site.scribe.clone(),
        folder: site.path().into(),
        stop: AtomicBool::new(false),
        accepted: AtomicUsize::new(0),
        finished: site.sink.counter(),
    });
    let amount = Amount {
        kills: order.kills,
        time: order.time,
        fill_disk: order.fill_disk.is_some(),
        upgrade_after: if order.older.is_some() { order.kills.unwrap_or(20) / 3 } else { 0 },
    };
    let mut unexpected = Vec::new();
    thread::scope(|scope| {
        for place in 0..=SUBMITTERS {
            let mut client = Client::new(crowd.clone(), place, Dice::new(order.seed, 100 + place as u64));
            scope.spawn(move || if place < SUBMITTERS { client.work() } else { client.cancel() });
        }
        let mut trouble = Trouble::new(&mut site, Dice::new(order.seed, 1), amount, stop);
        let made = trouble.make(|kills, past| {
            let jobs = crowd.accepted.load(Ordering::SeqCst) as u64;
            progress(&format!("{kills} kills, {} jobs, {} s", grouped(jobs), past.as_secs()));
        });
        unexpected.append(&mut trouble.unexpected);
        crowd.stop.store(true, Ordering::SeqCst);
        made
    })?;
    let mut settled = rest(&mut site, stop)?;
    settled.unrest.append(&mut unexpected);
    let settings = Settings { wall_clocks: !site.post.walls.is_empty(), ..plan.settings };
    let seed = order.seed;
    Ok(Record { seed, settings, moments: site.scribe.moments(), settled })
}

/// The faults have stopped: what is open must end, and then everything is looked at.
fn rest(site: &mut Site, stop: &Stop) -> Result<super::record::Settled> {
    progress("calm: waiting until everything has come to rest");
    let moments = site.scribe.moments();
    let unrest = calm::rest(&site.caller, &moments, stop)?;
    if stop.is_asked() {
        return Ok(Default::default());
    }
    site.end_tail();
    progress("reading everything");
    let mut settled = calm::settled(&site.caller, &moments)?;
    settled.unrest = unrest;
    settled.doctor = doctor(site)?;
    Ok(settled)
}

/// The findings of `deltaci doctor`, as a user would run it.
fn doctor(site: &Site) -> Result<Vec<String>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["doctor", "--json"]).env_remove("DELTACI_DATABASE").env_remove("DELTACI_DATA");
    match &site.post.database {
        Some(database) => command.args(["--database", database]),
        None => command.arg("--data").arg(&site.post.data),
    };
    let output = command.output().context("the doctor cannot be called")?;
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    let Some(findings) = report["findings"].as_array() else {
        return Ok(vec![String::from_utf8_lossy(&output.stderr).trim().to_owned()]);
    };
    let words = |finding: &Value| {
        let word = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}: {}", word("invariant"), word("entity"), word("problem"))
    };
    Ok(findings.iter().map(words).collect())
}

/// Somebody's records are not for this.
pub fn must_be_empty(address: &str) -> Result<()> {
    match block_on(async { Ok(Postgres::open_existing(address).await.is_ok()) })? {
        true => Err(usage("this database holds records: give --database an empty one, made for this")),
        false => Ok(()),
    }
}

/// What the recording shows.
pub fn judged(record: &Record) -> Part {
    let took = match (record.moments.first(), record.moments.last()) {
        (Some(first), Some(last)) => Duration::from_micros((last.at - first.at).unsigned_abs()),
        (None, _) | (_, None) => Duration::ZERO,
    };
    let Settings { store, servers, runners, .. } = &record.settings;
    let faults = faults(&record.moments);
    let kills = faults.iter().filter(|(fault, _)| fault.is_kill()).map(|(_, count)| count).sum();
    let mut tried = vec![("kills".to_owned(), kills)];
    tried.extend(faults.iter().map(|(fault, count)| (fault.words().to_owned(), *count)));
    if !record.settings.wall_clocks {
        tried.push(("wall clocks set: not tried, libfaketime is not here (package faketime)".to_owned(), 0));
    }
    tried.extend(judge::tried(record));
    let of = |count: &usize, what: &str| {
        if *count == 1 { format!("one {what}") } else { format!("{count} {what}s") }
    };
    Part {
        name: format!("chaos: {} on {store}, {}", of(servers, "server"), of(runners, "runner")),
        tried,
        measured: bounds::measured(record),
        found: judge::findings(record),
        took,
        picture: timeline::draw(record),
    }
}
