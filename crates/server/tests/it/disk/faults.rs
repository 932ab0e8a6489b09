//! The disk says no: a write or a sync fails, once, or there is no room for a while.
//!
//! `strace` makes the Nth call of one kind fail, in each thread that comes so far. Whatever the story acknowledged
//! nevertheless must be there, on the disk as it lies and on one that lost its power at the end: what a failed sync did not
//! keep is gone, also when a later sync succeeds.

use super::cuts::is_long;
use super::history::replay;
use super::medium::Fate;
use super::recording::{Recording, ground};
use super::story::STEPS;
use super::verdict;

/// The Nth calls that fail in the short form; the long one goes on until none is hit any more.
const SHORT: [usize; 4] = [1, 3, 8, 20];
const CALLS_MAX: usize = 2_000;

/// How a call fails: `when` is in strace's words.
fn fail(call: &str, error: &str, when: &str) -> Recording {
    let ground = ground();
    std::fs::create_dir(ground.path().join("data")).unwrap();
    let recording = Recording::on(ground, &["-e".into(), format!("inject={call}:error={error}:when={when}")]);
    let story = format!("{call} {error} {when}");
    let mut medium = recording.before.clone();
    recording.history.iter().for_each(|event| replay(&mut medium, event));
    for fate in [Fate::Dropped, Fate::Kept] {
        if let Err(why) = verdict::of_disk(&medium.cut(fate), recording.acknowledged()) {
            panic!("{story}, then a power cut ({fate:?}): {why}; {:?}", recording.refused());
        }
    }
    if let Err(why) = verdict::of_folder(&recording.data(), recording.acknowledged()) {
        panic!("{story}: {why}; {:?}", recording.refused());
    }
    recording
}

/// How many faults were felt.
fn fail_each(call: &str, error: &str, when: impl Fn(usize) -> String) -> usize {
    let numbers: Vec<usize> = if is_long() { (1..CALLS_MAX).collect() } else { SHORT.to_vec() };
    let mut felt = 0;
    for number in numbers {
        let recording = fail(call, error, &when(number));
        felt += usize::from(!recording.refused().is_empty());
        if is_long()
            && recording.refused().is_empty()
            && recording.acknowledged() == STEPS.len()
            && number > 100
        {
            break;
        }
    }
    felt
}

#[test]
fn a_sync_that_fails_is_never_answered_with_success() {
    let felt = fail_each("fdatasync", "EIO", |number| number.to_string());
    println!("{felt} failed syncs were felt");
    assert!(felt > 0);
}

#[test]
fn a_write_that_fails_is_never_answered_with_success() {
    let felt = fail_each("pwrite64", "EIO", |number| number.to_string());
    println!("{felt} failed writes were felt");
    assert!(felt > 0);
}

#[test]
fn without_room_nothing_is_lost_and_with_room_it_goes_on() {
    let felt = fail_each("pwrite64", "ENOSPC", |number| format!("{number}..{}", number + 2));
    println!("{felt} times there was no room");
    assert!(felt > 0);
}
