//! The audit log as both databases keep it: what one save says about one root in a row is one stored row.
//!
//! The log is most of what is written, it is written once and hardly ever read. So an entry leaves out what goes without
//! saying: of an entity's name what it has from its root, and that the orchestrator moved it. A view shows one event per row,
//! with everything in it.

use std::fmt::Write;

use decisions::records::{Entity, Event, Transition};
use machines::Owner;
use wire::Time;
use wire::ids::IdText;

/// Consecutive transitions of one root, at one moment.
pub struct Group {
    pub root: IdText,
    pub at: Time,
    pub size: u32,
    /// A JSON array of `[machine, entity, from_state, event, to_state, cause]`, each with a seventh if the owner is not the
    /// orchestrator. An entity that is empty or begins with `/` goes on from the root.
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
        push_entity(&mut entries, &it.entity);
        match it.from {
            Some(from) => entries.extend(["\",\"", from, "\",\""]),
            None => entries.push_str("\",null,\""),
        }
        entries.extend([it.event, "\",\"", it.to, "\","]);
        push_text(&mut entries, &it.cause);
        if it.owner != USUAL_OWNER {
            entries.extend([",\"", it.owner.as_str(), "\""]);
        }
        entries.push(']');
    }
    entries.push(']');
    Group { root: first.entity.root(), at: first.at, size: transitions.len() as u32, entries }
}

const USUAL_OWNER: Owner = Owner::Orchestrator;

/// What follows its root's name, or all of its name if that does not begin with its root's.
fn push_entity(json: &mut String, entity: &Entity) {
    match entity {
        Entity::Attempt(key) => _ = write!(json, "/{}", key.index),
        Entity::Execution(id, _) => json.push_str(id.text().as_str()),
        Entity::Tenant(_) | Entity::Run(_) | Entity::Delivery(_) => {}
        Entity::Upload(_) | Entity::Version(_) | Entity::Blob(_) => {}
    }
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
const ENTRY_BYTES: usize = 96;

/// The events of a stored row, in order; `last` is the number of its last one. `None`: the row is damaged.
pub fn unpacked(last: i64, at: Time, root: &str, entries: &str) -> Option<Vec<Event>> {
    let entries: Vec<Vec<Option<String>>> = serde_json::from_str(entries).ok()?;
    let first = last - entries.len() as i64 + 1;
    entries.into_iter().zip(first..).map(|(entry, seq)| event(seq, at, root, entry)).collect()
}

fn event(seq: i64, at: Time, root: &str, entry: Vec<Option<String>>) -> Option<Event> {
    let mut cells = entry.into_iter();
    let (machine, entity, from) = (cells.next()??, cells.next()??, cells.next()?);
    let (event, to, cause) = (cells.next()??, cells.next()??, cells.next()??);
    let owner = cells.next().flatten().unwrap_or_else(|| USUAL_OWNER.as_str().into());
    let goes_on = entity.is_empty() || entity.starts_with('/');
    let entity = if goes_on { format!("{root}{entity}") } else { entity };
    Some(Event { seq, at, machine, entity, from, event, to, owner, cause })
}

#[cfg(test)]
mod tests {
    use decisions::records::AttemptKey;
    use wire::{BlobId, ExecId, JobId, MessageId, RunId, TenantId, UploadId, VersionId};

    use super::*;

    fn transition(entity: Entity, owner: Owner) -> Transition {
        let at = Time::from_seconds(7);
        let cause = "what \"they\" said".into();
        Transition { at, machine: "machine", entity, from: Some("A"), event: "Go", to: "B", owner, cause }
    }

    #[test]
    fn what_is_left_out_of_an_entry_comes_back() {
        let (job, other) = (JobId::from_u128(1), JobId::from_u128(2));
        let entities = [
            Entity::Tenant(TenantId::from_u128(1)),
            Entity::Run(RunId::from_u128(1)),
            Entity::Attempt(AttemptKey { job, index: 1 }),
            Entity::Attempt(AttemptKey { job, index: 12 }),
            Entity::Execution(ExecId::from_u128(1), job),
            Entity::Execution(ExecId::from_u128(2), other),
            Entity::Delivery(MessageId::from_u128(1)),
            Entity::Upload(UploadId::from_u128(1)),
            Entity::Version(VersionId::from_u128(1)),
            Entity::Blob(BlobId::from_u128(1)),
        ];
        let owners = [Owner::Orchestrator, Owner::Runner].into_iter().cycle();
        let transitions: Vec<_> =
            entities.into_iter().zip(owners).map(|(entity, owner)| transition(entity, owner)).collect();
        let groups = grouped(&transitions);
        assert_eq!(groups.len(), 8);
        let events = groups.iter().flat_map(|it| unpacked(9, it.at, it.root.as_str(), &it.entries).unwrap());
        for (event, transition) in events.zip(&transitions) {
            assert_eq!(event.entity, transition.entity.to_string());
            assert_eq!(event.owner, transition.owner.as_str());
            assert_eq!(event.cause, transition.cause);
        }
        let last: Vec<i64> = groups
            .iter()
            .flat_map(|it| unpacked(9, it.at, "", &it.entries).unwrap())
            .map(|it| it.seq)
            .collect();
        assert_eq!(last[..5], [9, 9, 7, 8, 9]);
    }

    #[test]
    fn what_is_no_entry_is_damage() {
        for entries in ["", "{}", "[[]]", r#"[["m","e",null,"E","s"]]"#, r#"[["m",1,null,"E","s","c"]]"#] {
            assert_eq!(unpacked(1, Time::from_seconds(0), "root", entries), None, "{entries}");
        }
    }
}
