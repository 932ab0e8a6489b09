//! The power goes: after every sync and acknowledgement of the story and at every write of its lifecycle, with every fate of
//! what was not synced.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::history::{Event, History, replay};
use super::medium::{Disk, Fate, Medium, PAGE, SECTOR};
use super::recording::Recording;
use super::site::Said;
use super::story::{LIFECYCLE, STEPS};
use super::verdict::{self, Depth};

pub const FATES: [Fate; 9] = [
    Fate::Dropped,
    Fate::Kept,
    Fate::TornAt(SECTOR),
    Fate::FirstHalf,
    Fate::SecondHalf,
    Fate::EveryOther,
    Fate::TornBefore(SECTOR),
    Fate::TornAt(PAGE),
    Fate::Random(1),
];
/// Seeds of the long form, on top of the above.
const SEEDS: std::ops::Range<u64> = 2..10;
/// Everywhere in the lifecycle the first so many of these are met.
const FATES_OF_THE_LIFECYCLE: usize = 3;
/// Outside the lifecycle so many of the writes between two syncs are cut at, the first and the last among them. The long form
/// takes all, but for the thousands of pages of the large job.
const WRITES_BETWEEN_SYNCS: usize = 4;
const WRITES_BETWEEN_SYNCS_LONG: usize = 100;

/// More than there are cores: half of the time a hand waits, for a child or for the hold of a collection.
pub const HANDS: usize = 4;

pub fn is_long() -> bool {
    std::env::var("DELTACI_DISK_CUTS").is_ok_and(|cuts| cuts == "all")
}

/// One cut: how much of the history had happened, and what became of the rest.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    pub after: usize,
    pub fate: Fate,
    pub acknowledged: usize,
    pub depth: Depth,
}

#[derive(Debug, Default)]
pub struct Tally {
    pub cuts: usize,
    /// Different disks; equal ones are looked at once, with everything that was acknowledged by the last of them.
    pub disks: usize,
    pub to_the_end: usize,
    pub failures: Vec<(Cut, String)>,
}

/// All, or if they are too many, so many of them, the first and the last included.
pub fn thinned<T: Clone>(all: Vec<T>, too_many_above: usize, kept: usize) -> Vec<T> {
    if all.len() <= too_many_above {
        return all;
    }
    (0..kept).map(|number| all[number * (all.len() - 1) / (kept - 1)].clone()).collect()
}

/// How much of the history has happened when it is cut.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    after: usize,
    in_the_lifecycle: bool,
    depth: Depth,
}

/// Where the history is cut: behind every sync and acknowledgement, every write of the lifecycle, and some of the others. What
/// the lifecycle adds to the cuts that are made everywhere is looked at, and not gone on with to the end of the story.
fn places(history: &History) -> Vec<Place> {
    let most = if is_long() { WRITES_BETWEEN_SYNCS_LONG } else { WRITES_BETWEEN_SYNCS };
    let (mut places, mut between, mut step) = (Vec::new(), Vec::new(), 0);
    for (index, (_, event)) in history.iter().enumerate() {
        let in_the_lifecycle = LIFECYCLE.contains(&step);
        let place = Place { after: index + 1, in_the_lifecycle, depth: Depth::ToTheEnd };
        if let Event::Changed(_) = event {
            between.push(place);
            continue;
        }
        places.extend(of_the_writes(std::mem::take(&mut between), most));
        if let Event::Synced { .. } | Event::Acknowledged = event {
            places.push(place);
        }
        step += usize::from(matches!(event, Event::Acknowledged));
    }
    places.extend(of_the_writes(between, most));
    places
}

/// Which of the writes between two syncs are cut at.
fn of_the_writes(between: Vec<Place>, most: usize) -> Vec<Place> {
    let some = thinned(between.clone(), most, most);
    let is_among_some = |place: &Place| some.iter().any(|it| it.after == place.after);
    let looked_at = between.into_iter().filter(|it| it.in_the_lifecycle && !is_among_some(it));
    let depth = if is_long() { Depth::ToTheEnd } else { Depth::Look };
    let mut all: Vec<Place> = looked_at.map(|it| Place { depth, ..it }).collect();
    all.extend(some);
    all.sort_by_key(|it| it.after);
    all
}

/// Which fates are met at a place; it has a number too.
pub type Fates = fn(usize, Place) -> Vec<Fate>;

/// The long form meets every fate at every place. The short one loses everything there, in the lifecycle also keeps it and
/// tears it, and where cuts are made everywhere it meets one other, in turn.
fn fates(number: usize, place: Place) -> Vec<Fate> {
    if is_long() {
        return FATES.into_iter().chain(SEEDS.map(Fate::Random)).collect();
    }
    let (met, others) = FATES.split_at(if place.in_the_lifecycle { FATES_OF_THE_LIFECYCLE } else { 1 });
    let other = (place.depth == Depth::ToTheEnd).then(|| others[number % others.len()]);
    met.iter().copied().chain(other).collect()
}

/// Every cut, and those of them that leave a disk like no later one.
fn cuts(before: &Medium, history: &History, fates: Fates) -> (usize, Vec<Cut>) {
    let (mut medium, mut acknowledged, mut done) = (before.clone(), 0, 0);
    let (mut count, mut last_of) = (0, HashMap::<u64, Cut>::new());
    for (number, place) in places(history).into_iter().enumerate() {
        let after = place.after;
        for event in &history[done..after] {
            replay(&mut medium, event);
            acknowledged += usize::from(matches!(event.1, Event::Acknowledged));
        }
        done = after;
        let fates = fates(number, place);
        for (index, fate) in fates.iter().copied().enumerate() {
            count += 1;
            let is_usual = is_long() || index == 0 || index + 1 == fates.len();
            let depth = if is_usual { place.depth } else { Depth::Look };
            let cut = Cut { after, fate, acknowledged, depth };
            let last = last_of.entry(medium.cut_print(fate)).or_insert(cut);
            *last = Cut { depth: last.depth.max(depth), ..cut };
        }
    }
    let mut different: Vec<Cut> = last_of.into_values().collect();
    different.sort_by_key(|cut| cut.after);
    (count, different)
}

/// Cuts everywhere and looks at what is left, until so many did not hold.
pub fn try_all(before: &Medium, history: &History, fates: Fates, failures_max: usize) -> Tally {
    let (count, different) = cuts(before, history, fates);
    if is_long() {
        eprintln!("{count} cuts, {} different disks to look at", different.len());
    }
    let failures = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..HANDS {
            scope.spawn(|| {
                let (mut medium, mut done) = (before.clone(), 0);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cut) = different.get(number) else { return };
                    if is_long() && number.is_multiple_of(1_000) {
                        eprintln!("{number} looked at, {} wrong", failures.lock().unwrap().len());
                    }
                    history[done..cut.after].iter().for_each(|event| replay(&mut medium, event));
                    done = cut.after;
                    let disk = medium.cut(cut.fate);
                    if let Err(why) = judged(&disk, cut) {
                        failures.lock().unwrap().push((*cut, why));
                    }
                    if failures.lock().unwrap().len() >= failures_max {
                        return;
                    }
                }
            });
        }
    });
    let to_the_end = different.iter().filter(|cut| cut.depth == Depth::ToTheEnd).count();
    Tally { cuts: count, disks: different.len(), to_the_end, failures: failures.into_inner().unwrap() }
}

/// A panic is a failure too.
fn judged(disk: &Disk, cut: &Cut) -> Said<()> {
    let judged = std::panic::catch_unwind(|| verdict::of_disk(disk, cut.acknowledged, cut.depth));
    judged.unwrap_or_else(|_| Err("it panics".into()))
}

#[test]
fn a_power_cut_anywhere_loses_nothing_that_was_acknowledged() {
    let recording = Recording::of_everything();
    assert_eq!(recording.acknowledged(), STEPS.len(), "{:?}", recording.refused());
    let tally = try_all(&recording.before, &recording.history, fates, 20);
    println!("{} cuts, {} different disks, {} to the end", tally.cuts, tally.disks, tally.to_the_end);
    assert!(
        tally.failures.is_empty(),
        "{} failures, such as {:#?}",
        tally.failures.len(),
        tally.failures.first()
    );
    assert!(tally.cuts > 2_000, "{} cuts", tally.cuts);
}
