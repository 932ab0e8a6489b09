//! Secrets of the server, on a connection of their own: they are made at a start, before anything else is written.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use crate::sqlite::open;

pub fn key(connection: &Connection, name: &str) -> rusqlite::Result<Option<[u8; 32]>> {
    let sql = "SELECT secret FROM keys WHERE name = ?1";
    connection.query_row(sql, [name], |row| row.get(0)).optional()
}

/// Whoever comes first decides.
pub fn make(path: &Path, name: &str, offered: [u8; 32]) -> rusqlite::Result<[u8; 32]> {
    let connection = open::connect_beside(path)?;
    connection
        .execute("INSERT OR IGNORE INTO keys (name, secret) VALUES (?1, ?2)", params![name, offered])?;
    key(&connection, name)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}
