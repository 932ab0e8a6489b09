//! Mistakes that the checks must find, planted by changing the recording: a sync that was never asked for leaves out what
//! the recording says about it, and an answer that came too soon stands before the sync it should have waited for.

use super::cuts::try_all;
use super::history::{Event, History, UNNAMED};
use super::medium::Fate;
use super::recording::Recording;

/// So that it shows: one is enough.
const FAILURES_MAX: usize = 1;

fn without_syncs(history: &History, of: impl Fn(&str) -> bool) -> History {
    let is_kept = |event: &Event| !matches!(event, Event::Synced { path, .. } if of(path));
    history.iter().filter(|(_, event)| is_kept(event)).cloned().collect()
}

/// Each acknowledgement before the last sync of the database that came before it.
fn acknowledged_too_soon(history: &History) -> History {
    let mut hasty: History = Vec::new();
    for event in history {
        let is_sync =
            |it: &(usize, Event)| matches!(&it.1, Event::Synced { path, .. } if path.ends_with("-wal"));
        match (&event.1, hasty.iter().rposition(is_sync)) {
            (Event::Acknowledged, Some(before)) => hasty.insert(before, event.clone()),
            _ => hasty.push(event.clone()),
        }
    }
    hasty
}

#[track_caller]
fn is_found(recording: &Recording, history: &History, mistake: &str) {
    let tally = try_all(&recording.before, history, |_, _| vec![Fate::Dropped], FAILURES_MAX);
    let (cut, why) = tally.failures.first().unwrap_or_else(|| panic!("{mistake} is not found"));
    println!("{mistake}: {why} ({cut:?})");
}

/// A sync that is left out, and of which paths.
type Plant = (&'static str, fn(&str) -> bool);

const LEFT_OUT: [Plant; 8] = [
    ("synchronous=OFF", |path| path.starts_with("deltaci.db")),
    ("synchronous=NORMAL", |path| path.ends_with("-wal")),
    ("the folder of the data that is not synced", |path| path.is_empty()),
    ("a folder of blobs that is not synced", |path| {
        path.starts_with("blobs/blobs/") && path.len() == "blobs/blobs/a4".len()
    }),
    ("a folder of uploads that is not synced", |path| path == "blobs/staging"),
    ("a small body that is not synced before it gets its name", |path| path == UNNAMED),
    ("a stream that is not synced", |path| path.ends_with("/bytes")),
    ("joined parts that are not synced", |path| path.ends_with("/joined")),
];

#[test]
fn a_missing_sync_and_an_answer_too_soon_are_found() {
    let recording = Recording::of_everything();
    let history = &recording.history;
    for (mistake, of) in LEFT_OUT {
        is_found(&recording, &without_syncs(history, of), mistake);
    }
    is_found(&recording, &acknowledged_too_soon(history), "an answer before its sync");
}
