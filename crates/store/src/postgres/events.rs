//! The audit log in its table: what one save says about one root in a row is packed into one row.

use decisions::records::{Event, Transition};
use wire::Time;
use wire::ids::IdText;

use crate::StoreError;
use crate::postgres::cache::Save;
use crate::postgres::round::{Answer, Param, Round};
use crate::postgres::rows::{Cells, count, moment};

/// Takes the next numbers and uses them at once. The row of the last number stays locked until the commit. Returns the
/// number of the save, and the version that all rows have which it writes.
const LOG: &str = "
    WITH head AS (
        UPDATE event_head SET seq = seq + $1, saves = saves + 1 WHERE one RETURNING seq, saves, xmin AS version),
    log AS (
        INSERT INTO event_groups (seq, size, at, root, entries)
        SELECT head.seq - $1 + u.place, u.size, u.at, u.root, u.entries
        FROM head CROSS JOIN unnest($2::bigint[], $3::integer[], $4::timestamptz[], $5::text[], $6::text[])
            AS u (place, size, at, root, entries))
    SELECT saves, version FROM head";

/// What [`read`] reads.
pub const COLUMNS: &str = "seq, size, at, entries";

/// Consecutive transitions of one root, at one moment.
struct Group<'a> {
    root: IdText,
    at: Time,
    entries: Vec<Entry<'a>>,
}

/// Machine, entity, from, event, to, owner, cause.
type Entry<'a> = (&'a str, String, Option<&'a str>, &'a str, &'a str, &'a str, &'a str);

/// To be pushed last before the commit, also if there is nothing to log.
pub fn log(round: &mut Round<'_>, transitions: &[Transition]) {
    let groups = grouped(transitions);
    let places = groups.iter().scan(0, |place, group| {
        *place += group.entries.len() as i64;
        Some(*place)
    });
    let params: Vec<Param<'static>> = vec![
        Box::new(transitions.len() as i64),
        Box::new(places.collect::<Vec<i64>>()),
        Box::new(groups.iter().map(|group| count(group.entries.len() as u32)).collect::<Vec<_>>()),
        Box::new(groups.iter().map(|group| moment(group.at)).collect::<Vec<_>>()),
        Box::new(groups.iter().map(|group| group.root.as_str().to_owned()).collect::<Vec<_>>()),
        Box::new(groups.iter().map(|group| json(&group.entries)).collect::<Vec<_>>()),
    ];
    round.push(LOG, params);
}

/// What the statement of [`log`] said, the last but one of a round that was committed. Should its row be missing, the
/// commit is good all the same; there is only nothing that a later load could rely on.
pub fn logged(answers: &[Answer]) -> Option<Save> {
    let row = answers.iter().rev().nth(1)?.rows.first()?;
    let mut cells = Cells::of(row);
    Some(Save { number: cells.next().ok()?, version: cells.next().ok()? })
}

fn grouped(transitions: &[Transition]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for it in transitions {
        let root = it.entity.root();
        let entity = it.entity.to_string();
        let entry = (it.machine, entity, it.from, it.event, it.to, it.owner.as_str(), it.cause.as_ref());
        match groups.last_mut() {
            Some(group) if group.root.as_str() == root.as_str() && group.at == it.at => {
                group.entries.push(entry)
            }
            Some(_) | None => groups.push(Group { root, at: it.at, entries: vec![entry] }),
        }
    }
    groups
}

fn json(entries: &[Entry<'_>]) -> String {
    serde_json::to_string(entries).expect("texts are JSON")
}

/// The events of a row, in order.
pub fn read(cells: &mut Cells<'_>) -> Result<Vec<Event>, StoreError> {
    let (last, size, at): (i64, i32, Time) = (cells.next()?, cells.next()?, cells.next()?);
    type Stored = (String, String, Option<String>, String, String, String, String);
    let entries: Vec<Stored> = cells.parsed(|text| serde_json::from_str(text).ok())?;
    let numbered = entries.into_iter().zip(last - i64::from(size) + 1..);
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
    Ok(numbered.map(event).collect())
}
