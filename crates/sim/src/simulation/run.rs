//! One seed, or many: what a command calls.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::faults::{Class, Strike};
use super::parts::Parts;
use super::setup::Profile;
use super::world::{BEGIN, World};
use crate::history::Violation;

/// A row of a machine: its name, the state, the event.
pub type Row = (&'static str, &'static str, &'static str);

/// How one seed went.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub seed: u64,
    /// A hash over everything that happened: the same for the same seed, profile and code.
    pub trace: u64,
    pub events: u64,
    pub simulated: Duration,
    pub faults: BTreeMap<Class, u64>,
    /// Which faults, in order.
    pub struck: Vec<Strike>,
    /// How often each row of each machine was taken.
    pub rows: BTreeMap<Row, u64>,
    pub violations: Vec<Violation>,
    /// In words, if the profile asks for them.
    pub story: Vec<String>,
}

impl Outcome {
    pub fn faults_total(&self) -> u64 {
        self.faults.values().sum()
    }
}

/// Plays one seed to its end, or to the first rule that breaks.
pub fn run(seed: u64, profile: &Profile) -> Outcome {
    run_with(seed, profile, Parts::REAL)
}

/// With something planted.
pub fn run_with(seed: u64, profile: &Profile, parts: Parts) -> Outcome {
    let mut world = World::new(seed, profile, parts);
    world.play();
    Outcome {
        seed,
        trace: world.trace.hash,
        events: world.trace.events,
        simulated: world.now.since(BEGIN),
        faults: world.faults_by_class(),
        struck: world.faults.struck,
        rows: world.watch.steps,
        violations: world.watch.violations,
        story: world.trace.story.unwrap_or_default(),
    }
}

/// How many seeds went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Total {
    pub seeds: u64,
    pub events: u64,
    pub simulated: Duration,
    pub faults: BTreeMap<Class, u64>,
    pub rows: BTreeMap<Row, u64>,
    /// Over all traces, whatever order they were played in.
    pub trace: u64,
    /// The first seeds that broke a rule, by number.
    pub failed: BTreeMap<u64, Vec<Violation>>,
}

/// After so many failures the rest is not played.
const FAILED_MAX: usize = 8;

impl Total {
    pub fn faults_total(&self) -> u64 {
        self.faults.values().sum()
    }

    fn add(&mut self, outcome: Outcome) {
        self.seeds += 1;
        self.events += outcome.events;
        self.simulated += outcome.simulated;
        self.trace = self.trace.wrapping_add(outcome.trace);
        outcome.faults.iter().for_each(|(class, count)| *self.faults.entry(*class).or_default() += count);
        outcome.rows.iter().for_each(|(row, count)| *self.rows.entry(*row).or_default() += count);
        if !outcome.violations.is_empty() {
            self.failed.insert(outcome.seed, outcome.violations);
        }
    }
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.simulated.as_secs() / 3_600;
        let (seeds, events, faults) = (self.seeds, self.events, self.faults_total());
        writeln!(f, "{seeds} seeds, {hours} simulated hours, {events} events, {faults} faults")?;
        self.faults.iter().try_for_each(|(class, count)| writeln!(f, "  {count:>9} {class}"))
    }
}

/// Plays the seeds on so many threads. `progress` hears of each outcome, in any order.
pub fn many(
    seeds: Range<u64>,
    profile: &Profile,
    threads: usize,
    progress: &(dyn Fn(&Outcome) + Sync),
) -> Total {
    many_with(seeds, profile, Parts::REAL, threads, progress)
}

pub fn many_with(
    seeds: Range<u64>,
    profile: &Profile,
    parts: Parts,
    threads: usize,
    progress: &(dyn Fn(&Outcome) + Sync),
) -> Total {
    let (next, total) = (AtomicU64::new(seeds.start), Mutex::new(Total::default()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || total.lock().expect("no panic holds it").failed.len() >= FAILED_MAX {
                return;
            }
            let outcome = run_with(seed, profile, parts);
            progress(&outcome);
            total.lock().expect("no panic holds it").add(outcome);
        }
    };
    std::thread::scope(|scope| {
        (0..threads.max(1)).for_each(|_| drop(scope.spawn(work)));
    });
    total.into_inner().expect("no panic holds it")
}
