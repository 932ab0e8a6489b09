//! The moment that a load is of: the last save it sees, and the database's time.

use wire::Time;

use crate::StoreError;
use crate::postgres::cache::Save;
use crate::postgres::round::Answer;
use crate::postgres::rows::Cells;

pub const MOMENT: &str = "SELECT saves, xmin, clock_timestamp() FROM event_head WHERE one";

#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub last: Save,
    pub now: Time,
}

impl Moment {
    pub fn read(cells: &mut Cells<'_>) -> Result<Moment, StoreError> {
        let last = Save { number: cells.next()?, version: cells.next()? };
        Ok(Moment { last, now: cells.next()? })
    }

    /// By the answer to [`MOMENT`].
    pub fn shown(answer: &Answer) -> Result<Moment, StoreError> {
        let row = answer.first().ok_or_else(|| StoreError::Unavailable("event_head has no row".into()))?;
        Moment::read(&mut Cells::of(row))
    }
}
