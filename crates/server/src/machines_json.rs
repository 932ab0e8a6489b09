//! The state machines as JSON: one document for `/v1/machines` and for `deltaci machines --json`.

use machines::{Description, ROSTER};
use serde_json::{Value, json};

/// All of them.
pub fn document() -> Value {
    of(&ROSTER)
}

/// These.
pub fn of(machines: &[&Description]) -> Value {
    let machines: Vec<Value> = machines.iter().map(|machine| described(machine)).collect();
    json!({ "machines": machines })
}

fn described(machine: &Description) -> Value {
    let states: Vec<Value> = machine
        .states
        .iter()
        .map(|state| {
            json!({
                "name": state.name,
                "final": machine.is_final(state.name),
                "rest": machine.rests.contains(&state.name),
                "about": state.about.trim(),
            })
        })
        .collect();
    let transitions: Vec<Value> = machine
        .steps()
        .map(|(from, row)| {
            json!({
                "from": from, "event": row.event, "to": row.to, "owner": row.owner.as_str(),
                "source": row.source.as_str(), "why": row.source.why(),
            })
        })
        .collect();
    let mut value = json!({
        "name": machine.name, "about": machine.about.trim(), "states": states,
        "initial": machine.initial, "transitions": transitions,
    });
    if machine.derived {
        value["derived"] = json!(true);
    }
    value
}
