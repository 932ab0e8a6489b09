//! The disk says no: every single call of the lifecycle that asks something of it fails once in each of its ways, or there is no
//! room for a while; of what lies outside the lifecycle, some calls do, each in one way.
//!
//! `strace` makes the Nth call of one kind fail, in each thread that comes so far. A child process plays one step
//! (`part.rs`) and tries again what was refused. Whatever it acknowledged must then be there: on the disk as it lies, on one
//! where half of the failed write was done, and on one that lost its power at the end. What a failed sync did not keep is
//! gone, also when a later sync succeeds.
//!
//! Below SQLite and below our own files there is one layer that both pass through: the kernel's. A SQLite VFS would see
//! neither blobs nor folders, and would need `unsafe`, which this workspace forbids. A process costs 45 ms.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cuts::{HANDS, is_long, thinned};
use super::history::{Place, replay, replay_torn};
use super::medium::{Fate, Medium};
use super::part::{Grounds, Part};
use super::recording::Recording;
use super::site::Said;
use super::verdict::{self, Depth};

/// Calls of one kind within a part outside the lifecycle that are all tried. Of more (the pages of the first schema, of the
/// large job, the 256 folders of blobs) only some are: they differ in nothing but their number.
const ALL_MAX: usize = 30;
const SOME: usize = 10;
const SOME_LONG: usize = 200;
const FAILURES_MAX: usize = 10;
/// Far fewer than there are: so that an empty lifecycle is noticed.
const OF_THE_LIFECYCLE_MIN: usize = 500;
/// In the short form so manieth disk is gone on with to the end of the story; the others are opened and looked at.
const TO_THE_END_EVERY: usize = 16;

/// How a call fails.
#[derive(Debug, Clone, Copy)]
struct Way {
    error: &'static str,
    /// So many calls in a row.
    calls: usize,
    /// The same again, but half of what it should have written is there. Nobody who was told of the failure can know, so one
    /// child plays both.
    torn: bool,
}

const fn way(error: &'static str, calls: usize, torn: bool) -> Way {
    Way { error, calls, torn }
}

const WRITE: [Way; 2] = [way("EIO", 1, true), way("ENOSPC", 3, false)];
const SYNC: [Way; 1] = [way("EIO", 1, false)];
const OTHER: [Way; 2] = [way("EIO", 1, false), way("ENOSPC", 1, false)];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Write,
    Sync,
    /// Of names and lengths.
    Other,
}

impl Kind {
    fn of(call: &str) -> Kind {
        match call {
            "pwrite64" | "write" | "writev" => Kind::Write,
            "fsync" | "fdatasync" => Kind::Sync,
            _ => Kind::Other,
        }
    }

    fn ways(self) -> &'static [Way] {
        match self {
            Kind::Write => &WRITE,
            Kind::Sync => &SYNC,
            Kind::Other => &OTHER,
        }
    }
}

#[derive(Debug, Clone)]
struct Fault {
    part: Part,
    place: Place,
    way: Way,
    depth: Depth,
}

impl Fault {
    fn kind(&self) -> Kind {
        Kind::of(&self.place.call)
    }

    /// In strace's words.
    fn injected(&self) -> String {
        let (Place { call, nth }, Way { error, calls, .. }) = (&self.place, self.way);
        let when = if calls == 1 { nth.to_string() } else { format!("{nth}..{}", nth + calls - 1) };
        format!("inject={call}:error={error}:when={when}")
    }

    fn happens(&self, grounds: &Grounds) -> Said<Happened> {
        let (ground, fault) = (grounds.of(&self.part), self.injected());
        let as_it_lies = self.kind() == Kind::Write && !self.way.torn && !is_long(); // then nothing is replayed
        let recording = if as_it_lies {
            Recording::briefly(ground, self.part, &self.place.call, &fault)
        } else {
            Recording::of(ground, self.part, Some(&fault))
        };
        let acknowledged = self.part.first + recording.acknowledged();
        let told = |why| format!("{why}; it was told {:?}", recording.refused());
        let left = |replay: fn(&mut Medium, &_)| {
            let mut medium = recording.before.clone();
            recording.history.iter().for_each(|event| replay(&mut medium, event));
            medium
        };
        if self.kind() == Kind::Write || self.depth == Depth::ToTheEnd {
            verdict::of_folder(&recording.data(), acknowledged, self.depth).map_err(told)?;
        }
        let torn = self.way.torn.then(|| left(replay_torn).live).filter(|torn| *torn != left(replay).live);
        if let Some(torn) = &torn {
            let judged = verdict::of_disk(torn, acknowledged, self.depth);
            judged.map_err(|why| format!("torn, {}", told(why)))?;
        }
        if self.kind() != Kind::Write || is_long() {
            let cut = left(replay).cut(Fate::Dropped);
            let judged = verdict::of_disk(&cut, acknowledged, self.depth);
            judged.map_err(|why| format!("power cut, {}", told(why)))?;
        }
        Ok(Happened {
            failed: recording.injected > 0,
            felt: !recording.refused().is_empty(),
            torn_shows: torn.is_some(),
        })
    }
}

struct Happened {
    /// A call failed.
    failed: bool,
    /// The story was refused something.
    felt: bool,
    /// A torn write left another disk than one that was not done at all. Else who tried again wrote over it.
    torn_shows: bool,
}

/// Every call after the beginning of a part, each in all ways; in the short form outside the lifecycle some calls, each in one
/// of its ways, in turn.
fn faults(grounds: &Grounds, part: Part) -> Vec<Fault> {
    let recording = Recording::of(grounds.of(&part), part, None);
    assert_eq!(recording.acknowledged(), part.steps().len(), "{part:?}: {:?}", recording.refused());
    let mut by_call: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for place in recording.places.iter().cloned().collect::<BTreeSet<_>>() {
        assert!(
            place.call != "write",
            "threads are woken by `write`: what a fault is to hit is written by `pwrite64`"
        );
        by_call.entry(place.call.clone()).or_default().push(place);
    }
    let mut faults = Vec::new();
    let some = if is_long() { SOME_LONG } else { SOME };
    let too_many_above = if part.is_of_the_lifecycle() { usize::MAX } else { ALL_MAX.max(some) };
    let places = by_call.into_values().flat_map(|places| thinned(places, too_many_above, some));
    for (number, place) in places.enumerate() {
        let ways = Kind::of(&place.call).ways();
        let turn = (number + part.first) % ways.len();
        let taken = if is_long() || part.is_of_the_lifecycle() { ways } else { &ways[turn..=turn] };
        for way in taken {
            let to_the_end = is_long() || faults.len() % TO_THE_END_EVERY == part.first % TO_THE_END_EVERY;
            let depth = if to_the_end { Depth::ToTheEnd } else { Depth::Look };
            faults.push(Fault { part, place: place.clone(), way: *way, depth });
        }
    }
    faults
}

/// The results are in no order.
fn in_parallel<'a, T: Sync, R: Send>(all: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..HANDS {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(one);
                    results.lock().unwrap().push(result);
                }
            });
        }
    });
    results.into_inner().unwrap()
}

#[derive(Debug, Default)]
struct Tally {
    tried: usize,
    failed: usize,
    felt: usize,
    torn: usize,
    torn_shows: usize,
}

#[test]
fn whichever_call_fails_nothing_that_was_acknowledged_is_lost() {
    let grounds = Grounds::prepare().unwrap();
    let faults = in_parallel(&Part::all(), |part| faults(&grounds, *part)).concat();
    let failures = AtomicUsize::new(0);
    let tried = in_parallel(&faults, |fault| {
        if failures.load(Ordering::Relaxed) >= FAILURES_MAX {
            return None;
        }
        let happened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fault.happens(&grounds)))
            .unwrap_or_else(|_| Err("it panics".into()));
        failures.fetch_add(usize::from(happened.is_err()), Ordering::Relaxed);
        Some((fault, happened))
    });
    let mut tallies: BTreeMap<(bool, Kind), Tally> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (fault, happened) in tried.into_iter().flatten() {
        let tally = tallies.entry((fault.part.is_of_the_lifecycle(), fault.kind())).or_default();
        tally.tried += 1;
        match happened {
            Ok(happened) => {
                tally.failed += usize::from(happened.failed);
                tally.felt += usize::from(happened.felt);
                tally.torn += usize::from(fault.way.torn);
                tally.torn_shows += usize::from(happened.torn_shows);
            }
            Err(why) => wrong.push(format!("{:?}: {}: {why}", fault.part.steps(), fault.injected())),
        }
    }
    assert!(wrong.is_empty(), "{} faults, such as {wrong:#?}", wrong.len());
    let of_the_lifecycle: usize = tallies.iter().filter(|it| it.0.0).map(|it| it.1.tried).sum();
    assert!(of_the_lifecycle > OF_THE_LIFECYCLE_MIN, "{of_the_lifecycle} of the lifecycle");
    for ((is_of_the_lifecycle, kind), Tally { tried, failed, felt, torn, torn_shows }) in tallies {
        let place = if is_of_the_lifecycle { "of the lifecycle" } else { "elsewhere" };
        let told = format!(
            "{kind:?} {place}: {failed} of {tried} failed, {felt} felt; {torn_shows} of {torn} torn show"
        );
        println!("{told}");
        assert!(failed * 10 >= tried * 9 && felt * 2 >= tried, "{told}");
    }
}
