//! What every table must be, whatever it says: reachable, able to end, no dead words, each extension with a reason.

use std::collections::BTreeSet;

use machines::{Description, ROSTER, Source};

/// The states that can be reached from one, itself included.
fn reachable(machine: &Description, from: &'static str) -> BTreeSet<&'static str> {
    let mut seen = BTreeSet::from([from]);
    let mut front = vec![from];
    while let Some(state) = front.pop() {
        for (_, row) in machine.steps().filter(|(from, _)| *from == state) {
            if seen.insert(row.to) {
                front.push(row.to);
            }
        }
    }
    seen
}

/// Every pair of a machine and one of its states.
fn states() -> impl Iterator<Item = (&'static Description, &'static str)> {
    ROSTER.into_iter().flat_map(|machine| machine.states.iter().map(move |state| (machine, state.name)))
}

fn assert_unique<'a>(names: impl IntoIterator<Item = &'a str>, whose: &str) {
    let mut seen = BTreeSet::new();
    for name in names {
        assert!(!name.is_empty(), "{whose} has an empty name");
        assert!(seen.insert(name), "{whose} names {name} twice");
    }
}

#[test]
fn every_state_is_reachable() {
    for (machine, state) in states() {
        assert!(
            reachable(machine, machine.initial).contains(state),
            "{} never comes to {state}",
            machine.name
        );
    }
}

#[test]
fn from_every_state_an_end_is_reachable() {
    for (machine, state) in states() {
        let is_end = |state: &&str| machine.is_final(state) || machine.rests.contains(state);
        assert!(reachable(machine, state).iter().any(is_end), "{} is trapped in {state}", machine.name);
    }
}

#[test]
fn a_resting_state_is_one_that_rows_leave() {
    for machine in ROSTER {
        assert_unique(machine.rests.iter().copied(), machine.name);
        for rest in machine.rests {
            assert!(machine.states.iter().any(|state| state.name == *rest), "{}: {rest}", machine.name);
            assert!(!machine.is_final(rest), "{} rests in {rest}, which is final anyway", machine.name);
        }
    }
}

#[test]
fn every_event_moves_something() {
    for machine in ROSTER {
        for event in machine.events {
            assert!(
                machine.rows.iter().any(|row| row.event == *event),
                "{}: {event} has no row",
                machine.name
            );
        }
    }
}

#[test]
fn every_extension_has_a_reason_and_every_state_a_meaning() {
    for machine in ROSTER {
        assert!(!machine.about.trim().is_empty(), "{}", machine.name);
        for state in machine.states {
            assert!(!state.about.trim().is_empty(), "{} {}", machine.name, state.name);
        }
        for row in machine.rows {
            match row.source {
                Source::Seed => {}
                Source::Extension(why) => assert!(!why.trim().is_empty(), "{} {row:?}", machine.name),
            }
        }
    }
}

#[test]
fn names_are_unique() {
    assert_unique(ROSTER.map(|machine| machine.name), "the roster");
    for machine in ROSTER {
        assert_unique(machine.states.iter().map(|state| state.name), machine.name);
        assert_unique(machine.events.iter().copied(), machine.name);
        assert!(std::ptr::eq(Description::named(machine.name).unwrap(), machine));
    }
    assert!(Description::named("no such machine").is_none());
}

#[test]
fn two_machines_are_derived() {
    let derived: Vec<_> =
        ROSTER.into_iter().filter(|machine| machine.derived).map(|machine| machine.name).collect();
    assert_eq!(derived, ["job", "workflow"]);
}
