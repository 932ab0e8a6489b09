//! A server ends before its sync or because of it, and is started again: what the next one reads may be in the system's memory
//! alone. What it answers by that has to be on the disk all the same when the power goes.

use super::cuts::{FATES, try_all};
use super::history::{Event, History, replay};
use super::medium::Medium;
use super::part::{Grounds, Part};
use super::recording::Recording;
use super::story::Step;

/// Each of them writes records and nothing else.
const STEPS_THAT_END_EARLY: [Step; 3] = [Step::Submitted, Step::Leased, Step::Completed];
/// So many steps are acknowledged after a failed sync: behind a hole in the log, if it has one.
const STEPS_AFTER_A_FAILURE: usize = 3;

fn is_sync_of_the_log(event: &Event) -> bool {
    matches!(event, Event::Synced { path, .. } if path.ends_with("-wal"))
}

fn replayed(before: &Medium, history: &[(usize, Event)]) -> Medium {
    let mut medium = before.clone();
    history.iter().for_each(|event| replay(&mut medium, event));
    medium
}

/// Of a process that came after another one, with all that was acknowledged before it.
fn told_after(earlier: &[(usize, Event)], acknowledged: usize, history: &History) -> History {
    let ended = earlier.last().map_or(0, |(moment, _)| moment + 1);
    let later = history.iter().map(|(moment, event)| {
        let mut event = event.clone();
        if let Event::Synced { begun, .. } = &mut event {
            *begun += ended;
        }
        (moment + ended, event)
    });
    std::iter::repeat_n((ended, Event::Acknowledged), acknowledged).chain(later).collect()
}

/// Started again on what the system shows it goes on, and the power goes anywhere.
#[track_caller]
fn goes_on(left: &Medium, earlier: &[(usize, Event)], part: Part) {
    let recording = Recording::of(left, part, None);
    assert_eq!(recording.acknowledged(), part.steps().len(), "{:?}", recording.refused());
    let history = told_after(earlier, part.first, &recording.history);
    let tally = try_all(left, &history, |_, _| FATES.to_vec(), 5);
    println!("{:?}: {} cuts, {} different disks", part.steps(), tally.cuts, tally.disks);
    assert!(tally.failures.is_empty(), "{:?}: {:#?}", part.steps(), tally.failures.first());
}

#[test]
fn what_a_killed_server_had_not_synced_is_durable_once_the_next_one_acknowledges_it() {
    let whole = Recording::of_everything();
    for step in STEPS_THAT_END_EARLY {
        let mut acknowledged = 0;
        let killed = whole.history.iter().position(|(_, event)| {
            acknowledged += usize::from(matches!(event, Event::Acknowledged));
            acknowledged == step as usize && is_sync_of_the_log(event)
        });
        let earlier = &whole.history[..killed.expect("a step that is synced")];
        let left = replayed(&whole.before, earlier);
        let again = Part { first: step as usize, end: step as usize + 1, opening: true, closing: false };
        goes_on(&left, earlier, again);
    }
}

/// The step before is on the disk when the sync fails: the log then holds a part of what it should.
#[test]
fn what_is_acknowledged_after_a_failed_sync_and_a_restart_is_durable() {
    let grounds = Grounds::prepare().unwrap();
    for step in STEPS_THAT_END_EARLY {
        let part = Part { first: step as usize - 1, end: step as usize + 1, opening: false, closing: false };
        let smooth = Recording::of(grounds.of(&part), part, None);
        let sync = smooth.places.iter().rfind(|place| place.call == "fdatasync").expect("it is synced");
        let fault = format!("inject=fdatasync:error=EIO:when={}", sync.nth);
        let failed = Recording::of(grounds.of(&part), part, Some(&fault));
        assert!(failed.injected > 0 && failed.acknowledged() == 1, "{:?}", failed.refused());
        let left = replayed(&failed.before, &failed.history);
        let first = step as usize;
        let again = Part { first, end: first + STEPS_AFTER_A_FAILURE, opening: true, closing: false };
        goes_on(&left, &failed.history, again);
    }
}
