//! The audit log as both databases keep it: what one save says about one root in a row is one stored row.
//!
//! The log is most of what is written, it is written once and hardly ever read. A view shows one event per row.

use std::fmt::Write;

use decisions::records::{Event, Transition};
use wire::Time;
use wire::ids::IdText;

/// Consecutive transitions of one root, at one moment.
pub struct Group {
    pub root: IdText,
    pub at: Time,
    pub size: u32,
    /// A JSON array of `[machine, entity, from_state, event, to_state, owner, cause]`.
    pub entries: String,
}

pub fn grouped(transitions: &[Transition]) -> Vec<Group> {
    let same = |a: &Transition, b: &Transition| a.at == b.at && a.entity.is_filed_with(&b.entity);
    transitions.chunk_by(same).map(packed).collect()
}

fn packed(transitions: &[Transition]) -> Group {
    let first = transitions.first().expect("a chunk is never empty");
    let mut entries = String::with_capacity(transitions.len() * ENTRY_BYTES);
    for it in transitions {
        entries.push(if entries.is_empty() { '[' } else { ',' });
        // Names from the tables and ids need no escaping, and this is most of what a save writes: no formatting of them.
        entries.extend(["[\"", it.machine, "\",\""]);
        let _ = write!(entries, "{}", it.entity);
        match it.from {
            Some(from) => entries.extend(["\",\"", from, "\",\""]),
            None => entries.push_str("\",null,\""),
        }
        entries.extend([it.event, "\",\"", it.to, "\",\"", it.owner.as_str(), "\","]);
        push_text(&mut entries, &it.cause);
        entries.push(']');
    }
    entries.push(']');
    Group { root: first.entity.root(), at: first.at, size: transitions.len() as u32, entries }
}

/// A text as JSON; hardly any needs escaping.
fn push_text(json: &mut String, text: &str) {
    if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        json.push_str(&serde_json::to_string(text).expect("a text is JSON"));
    } else {
        json.extend(["\"", text, "\""]);
    }
}

/// About what an entry takes.
const ENTRY_BYTES: usize = 128;

/// The events of a stored row, in order; `last` is the number of its last one. `None`: the row is damaged.
pub fn unpacked(last: i64, at: Time, entries: &str) -> Option<Vec<Event>> {
    type Stored = (String, String, Option<String>, String, String, String, String);
    let entries: Vec<Stored> = serde_json::from_str(entries).ok()?;
    let first = last - entries.len() as i64 + 1;
    let event = |((machine, entity, from, event, to, owner, cause), seq)| Event {
        seq,
        at,
        machine,
        entity,
        from,
        event,
        to,
        owner,
        cause,
    };
    Some(entries.into_iter().zip(first..).map(event).collect())
}
