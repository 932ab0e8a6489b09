//! The typed machines (`next`, `parse`, `is_final`) against the rows they were made from, cell by cell.

use machines::{
    Illegal, Machine, ROSTER, attempt, blob, delivery, execution, job, lease, run, tenant, upload, version,
    workflow,
};

/// Checks one machine and returns its name and how many cells were looked at.
fn check<M: Machine>() -> (&'static str, usize) {
    names_agree::<M>();
    final_states_absorb::<M>();
    (M::DESCRIPTION.name, cells_agree::<M>())
}

/// The enums and the description name the same states and events in the same order, and a name leads back to its state.
fn names_agree<M: Machine>() {
    let machine = M::DESCRIPTION;
    let states: Vec<_> = M::STATES.iter().map(|state| state.as_str()).collect();
    let described: Vec<_> = machine.states.iter().map(|state| state.name).collect();
    assert_eq!(states, described, "{}", machine.name);
    let events: Vec<_> = M::EVENTS.iter().map(|&event| M::event_str(event)).collect();
    assert_eq!(events, machine.events, "{}", machine.name);
    assert_eq!(M::INITIAL.as_str(), machine.initial);
    for &state in M::STATES {
        assert_eq!(M::parse(state.as_str()), Some(state));
    }
    assert_eq!(M::parse("no such state"), None);
    assert_eq!(M::parse(""), None);
}

fn final_states_absorb<M: Machine>() {
    for &state in M::STATES {
        let left = M::DESCRIPTION.rows.iter().any(|row| row.from.contains(&state.as_str()));
        assert_eq!(state.is_final(), !left, "{} {}", M::DESCRIPTION.name, state.as_str());
        assert_eq!(
            M::DESCRIPTION.is_final(state.as_str()),
            !left,
            "{} {}",
            M::DESCRIPTION.name,
            state.as_str()
        );
        for &event in M::EVENTS.iter().filter(|_| !left) {
            assert!(state.next(event).is_err(), "{} {} {event:?}", M::DESCRIPTION.name, state.as_str());
        }
    }
}

/// Every state × event: the step the one row allows, or a refusal that names machine, state and event.
fn cells_agree<M: Machine>() -> usize {
    for &state in M::STATES {
        for &event in M::EVENTS {
            assert_eq!(
                state.next(event).map(M::as_str),
                by_the_rows::<M>(state.as_str(), M::event_str(event)),
                "{} {} {event:?}",
                M::DESCRIPTION.name,
                state.as_str()
            );
        }
    }
    M::STATES.len() * M::EVENTS.len()
}

fn by_the_rows<M: Machine>(state: &'static str, event: &'static str) -> Result<&'static str, Illegal> {
    let machine = M::DESCRIPTION;
    let rows: Vec<_> =
        machine.rows.iter().filter(|row| row.event == event && row.from.contains(&state)).collect();
    assert_eq!(machine.row(state, event).map(|row| row.to), rows.first().map(|row| row.to));
    match rows.as_slice() {
        [] => Err(Illegal { machine: machine.name, state, event }),
        [row] => Ok(row.to),
        [..] => panic!("{}: {state} + {event} is listed {} times", machine.name, rows.len()),
    }
}

#[test]
fn every_cell_of_every_machine_agrees_with_the_table() {
    let checked = [
        check::<run::State>(),
        check::<attempt::State>(),
        check::<lease::State>(),
        check::<execution::State>(),
        check::<upload::State>(),
        check::<version::State>(),
        check::<delivery::State>(),
        check::<blob::State>(),
        check::<tenant::State>(),
        check::<job::State>(),
        check::<workflow::State>(),
    ];
    assert_eq!(checked.map(|(name, _)| name), ROSTER.map(|machine| machine.name), "a machine was left out");
    // Pinned: a state or an event that comes or goes is noticed here, whoever wanted it.
    let cells = [
        ("run", 121),
        ("attempt", 156),
        ("lease", 30),
        ("execution", 20),
        ("upload", 30),
        ("version", 12),
        ("delivery", 40),
        ("blob", 20),
        ("tenant", 48),
        ("job", 30),
        ("workflow", 25),
    ];
    assert_eq!(checked, cells);
    assert_eq!(cells.map(|(_, count)| count).iter().sum::<usize>(), 532);
}

#[test]
fn a_refusal_names_machine_state_and_event() {
    let refusal = lease::State::Expired.next(lease::Event::Complete).unwrap_err();
    assert_eq!(refusal.to_string(), "the lease machine has no row for Complete in EXPIRED");
}
