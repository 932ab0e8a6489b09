//! The audit log in its table: what one save says about one root in a row is packed into one row.

use std::sync::LazyLock;

use decisions::records::{Event, Transition};
use wire::Time;

use crate::StoreError;
use crate::log_groups::{grouped, unpacked};
use crate::postgres::cache::Save;
use crate::postgres::round::{Answer, Param, Round};
use crate::postgres::rows::{Cells, count, id, moment};
use crate::postgres::tables::{Arrays, Forms};

/// Takes the next numbers and uses them at once. The row of the last number stays locked until the commit. Returns the
/// number of the save, and the version that all rows have which it writes.
static LOG: LazyLock<Forms> = LazyLock::new(|| {
    let arrays = Arrays(vec![
        ("place", "bigint"),
        ("size", "integer"),
        ("at", "timestamptz"),
        ("root", "text"),
        ("entries", "text"),
    ]);
    let statement = |u: &str| {
        format!(
            "WITH head AS (
                 UPDATE event_head SET seq = seq + $6, saves = saves + 1 WHERE one
                 RETURNING seq, saves, xmin AS version),
             log AS (
                 INSERT INTO event_groups (seq, size, at, root, entries)
                 SELECT head.seq - $6 + u.place, u.size, u.at, u.root, u.entries FROM head CROSS JOIN {u})
             SELECT saves, version FROM head"
        )
    };
    Forms::of(statement, &arrays)
});

/// What [`read`] reads.
pub const COLUMNS: &str = "seq, at, root, entries";

/// To be pushed last before the commit, also if there is nothing to log.
pub fn log(round: &mut Round<'_>, transitions: &[Transition]) {
    let groups = grouped(transitions);
    let places = groups.iter().scan(0, |place, group| {
        *place += i64::from(group.size);
        Some(*place)
    });
    let rows = groups.len();
    let params: Vec<Param<'static>> = vec![
        Box::new(places.collect::<Vec<i64>>()),
        Box::new(groups.iter().map(|group| count(group.size)).collect::<Vec<_>>()),
        Box::new(groups.iter().map(|group| moment(group.at)).collect::<Vec<_>>()),
        Box::new(groups.iter().map(|group| id(group.root)).collect::<Vec<_>>()),
        Box::new(groups.into_iter().map(|group| group.entries).collect::<Vec<_>>()),
        Box::new(transitions.len() as i64),
    ];
    round.push(LOG.for_rows(rows), params);
}

/// What the statement of [`log`] said, the last but one of a round that was committed. Should its row be missing, the
/// commit is good all the same; there is only nothing that a later load could rely on.
pub fn logged(answers: &[Answer]) -> Option<Save> {
    let row = answers.iter().rev().nth(1)?.first()?;
    let mut cells = Cells::of(row);
    Some(Save { number: cells.next().ok()?, version: cells.next().ok()? })
}

/// The events of a row, in order.
pub fn read(cells: &mut Cells<'_>) -> Result<Vec<Event>, StoreError> {
    let (last, at, root): (i64, Time, String) = (cells.next()?, cells.next()?, cells.next()?);
    cells.parsed(|entries| unpacked(last, at, &root, entries))
}
