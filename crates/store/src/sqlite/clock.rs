//! Where the time of whoever was at work on this file stood, on a connection of its own: it is written at a start, before
//! anything else is.

use std::path::Path;

use rusqlite::{Connection, params};
use wire::Time;

use crate::sqlite::{open, rows};
use crate::timekeeping::{Anchor, Kept};

/// What a start finds. Nobody else is at work, so it need not be one moment.
pub fn kept(connection: &Connection) -> rusqlite::Result<Kept> {
    let latest = "SELECT at FROM event_groups ORDER BY seq DESC LIMIT 1";
    let leases_until = "SELECT max(expires_at) FROM executions WHERE finished_at IS NULL";
    Ok(Kept {
        anchor: anchor(connection)?,
        latest: rows::one(connection, latest, [], |row| rows::time(row, 0))?,
        leases_until: rows::one(connection, leases_until, [], |row| rows::maybe_time(row, 0))?.flatten(),
    })
}

fn anchor(connection: &Connection) -> rusqlite::Result<Option<Anchor>> {
    let sql = "SELECT boot, epoch, leases_end_after FROM clock";
    rows::one(connection, sql, [], |row| {
        Ok(Anchor {
            boot: row.get(0)?,
            epoch: rows::time(row, 1)?,
            leases_end_after: rows::maybe_time(row, 2)?,
        })
    })
}

/// Of two that start at once, the first decides.
pub fn keep(path: &Path, found: Option<&Anchor>, offered: &Anchor) -> rusqlite::Result<Anchor> {
    let connection = open::connect_beside(path)?;
    let sql = "INSERT INTO clock (one, boot, epoch, leases_end_after) VALUES (1, ?1, ?2, ?3)
               ON CONFLICT (one) DO UPDATE
               SET boot = excluded.boot, epoch = excluded.epoch, leases_end_after = excluded.leases_end_after
               WHERE boot = ?4 AND epoch = ?5";
    let (boot, epoch) = found.map(|found| (&found.boot, found.epoch.as_micros())).unzip();
    let leases_end_after = offered.leases_end_after.map(Time::as_micros);
    let values = params![offered.boot, offered.epoch.as_micros(), leases_end_after, boot, epoch];
    connection.execute(sql, values)?;
    anchor(&connection)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}
