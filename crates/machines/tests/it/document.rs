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

#[test]
fn every_state_event_and_reason_is_in_the_document() {
    let document = machines::describe::document();
    for machine in machines::ROSTER {
        assert!(document.contains(&machine.mermaid()), "{}", machine.name);
        assert!(document.contains(&machine.matrix()), "{}", machine.name);
        for row in machine.rows {
            assert!(document.contains(row.source.why()), "{}: {}", machine.name, row.source.why());
        }
    }
}
