//! `docs/machines.md` is what readers see of the tables, so it may not lag behind them.

use std::path::Path;

#[test]
fn the_document_is_current() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machines.md");
    let written = std::fs::read_to_string(place).unwrap_or_default();
    assert!(
        written == machines::describe::document(),
        "docs/machines.md is out of date: run `cargo xtask golden`"
    );
}

/// What a reader looks for is counted in the text, not made a second time.
#[test]
fn every_state_event_and_reason_is_in_the_document() {
    let document = machines::describe::document();
    for (number, machine) in machines::ROSTER.iter().enumerate() {
        let from = document.find(&format!("## `{}`", machine.name)).expect(machine.name);
        let until =
            machines::ROSTER.get(number + 1).map(|next| document.find(&format!("## `{}`", next.name)));
        let chapter = &document[from..until.flatten().unwrap_or(document.len())];
        for state in machine.states {
            assert!(chapter.contains(&format!("- `{}`:{}", state.name, state.about)), "{}", state.name);
        }
        for event in machine.events {
            assert!(chapter.contains(&format!(" {event} |")), "{}: {event}", machine.name);
        }
        let marks = |text: &str| machine.rows.iter().filter(|row| row.source.why() == text).count();
        for why in machine.rows.iter().map(|row| row.source.why()).filter(|why| !why.is_empty()) {
            assert!(chapter.matches(why).count() >= marks(why), "{}: {why}", machine.name);
        }
        let moved = chapter.lines().filter(|line| line.contains(" --> ") && line.contains(": ")).count();
        assert_eq!(moved, machine.steps().count(), "{}", machine.name);
    }
}
