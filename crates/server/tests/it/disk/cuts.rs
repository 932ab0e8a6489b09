//! The power goes: after every sync and at every write of the story, with every fate of what was not synced.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::history::{Event, History, replay};
use super::medium::{Disk, Fate, Medium, PAGE, SECTOR};
use super::recording::Recording;
use super::site::Said;
use super::story::STEPS;
use super::verdict::{self, Depth};

const FATES: [Fate; 9] = [
    Fate::Dropped,
    Fate::Kept,
    Fate::FirstHalf,
    Fate::SecondHalf,
    Fate::EveryOther,
    Fate::TornAt(SECTOR),
    Fate::TornBefore(SECTOR),
    Fate::TornAt(PAGE),
    Fate::Random(1),
];
/// Seeds of the long form, on top of the above.
const SEEDS: std::ops::Range<u64> = 2..10;
/// Of the writes between two syncs, so many are cut at, the first and the last among them. The long form takes all, but for
/// the thousands of pages of the large job.
const WRITES_BETWEEN_SYNCS: usize = 4;
const WRITES_BETWEEN_SYNCS_LONG: usize = 100;

pub fn is_long() -> bool {
    std::env::var("DELTACI_DISK_CUTS").is_ok_and(|cuts| cuts == "all")
}

/// One cut: how much of the history had happened, and what became of the rest.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    pub after: usize,
    pub fate: Fate,
    pub acknowledged: usize,
}

#[derive(Debug, Default)]
pub struct Tally {
    pub cuts: usize,
    /// Different disks; equal ones are looked at once, with everything that was acknowledged by the last of them.
    pub disks: usize,
    pub failures: Vec<(Cut, String)>,
}

/// All, or if they are too many, so many of them, the first and the last included.
pub fn thinned<T: Clone>(all: Vec<T>, too_many_above: usize, kept: usize) -> Vec<T> {
    if all.len() <= too_many_above {
        return all;
    }
    (0..kept).map(|number| all[number * (all.len() - 1) / (kept - 1)].clone()).collect()
}

/// Where the history is cut: behind everything that is no write, and behind some of the writes in between.
fn places(history: &History) -> Vec<usize> {
    let is_change = |index: &usize| matches!(history[*index].1, Event::Changed(_));
    let mut places: Vec<usize> = Vec::new();
    let mut between: Vec<usize> = Vec::new();
    for index in 0..=history.len() {
        if index < history.len() && is_change(&index) {
            between.push(index + 1);
            continue;
        }
        let most = if is_long() { WRITES_BETWEEN_SYNCS_LONG } else { WRITES_BETWEEN_SYNCS };
        places.extend(thinned(std::mem::take(&mut between), most, most));
        if index < history.len() && matches!(history[index].1, Event::Synced { .. } | Event::Acknowledged) {
            places.push(index + 1);
        }
    }
    places
}

/// Which fates are met at a place, by its number.
pub type Fates = fn(usize) -> Vec<Fate>;

/// The long form meets every fate at every place; the short one loses everything there, and meets one other, in turn.
fn fates(place: usize) -> Vec<Fate> {
    if is_long() {
        return FATES.into_iter().chain(SEEDS.map(Fate::Random)).collect();
    }
    vec![Fate::Dropped, FATES[1 + place % (FATES.len() - 1)]]
}

/// Every cut, and those of them that leave a disk like no later one.
fn cuts(before: &Medium, history: &History, fates: Fates) -> (usize, Vec<Cut>) {
    let (mut medium, mut acknowledged, mut done) = (before.clone(), 0, 0);
    let (mut count, mut last_of) = (0, HashMap::new());
    for (place, after) in places(history).into_iter().enumerate() {
        for event in &history[done..after] {
            replay(&mut medium, event);
            acknowledged += usize::from(matches!(event.1, Event::Acknowledged));
        }
        done = after;
        for fate in fates(place) {
            count += 1;
            last_of.insert(medium.cut_print(fate), Cut { after, fate, acknowledged });
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
        for _ in 0..2 {
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
    Tally { cuts: count, disks: different.len(), failures: failures.into_inner().unwrap() }
}

/// A panic is a failure too.
fn judged(disk: &Disk, cut: &Cut) -> Said<()> {
    let judged = std::panic::catch_unwind(|| verdict::of_disk(disk, cut.acknowledged, Depth::ToTheEnd));
    judged.unwrap_or_else(|_| Err("it panics".into()))
}

#[test]
fn a_power_cut_anywhere_loses_nothing_that_was_acknowledged() {
    let recording = Recording::of_everything();
    assert_eq!(recording.acknowledged(), STEPS.len(), "{:?}", recording.refused());
    let tally = try_all(&recording.before, &recording.history, fates, 20);
    println!("{} cuts, {} different disks", tally.cuts, tally.disks);
    assert!(
        tally.failures.is_empty(),
        "{} failures, such as {:#?}",
        tally.failures.len(),
        tally.failures.first()
    );
    assert!(tally.cuts > 1_000, "{} cuts", tally.cuts);
}
