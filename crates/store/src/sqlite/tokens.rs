//! Access tokens in their table.

use decisions::book::Shelf;
use decisions::records::{Token, TokenKind};
use rusqlite::{Connection, Row, params};
use wire::{TenantId, TokenHash, TokenId};

use crate::sqlite::rows;

const TOKEN: &str = "SELECT id, kind, tenant_id, name, hash, created_at, revoked_at FROM tokens";

pub fn token(connection: &Connection, id: TokenId) -> rusqlite::Result<Option<Token>> {
    rows::one(connection, &[TOKEN, " WHERE id = ?1"].concat(), [id.text().as_str()], read)
}

pub fn tokens_of(
    connection: &Connection,
    tenant: Option<TenantId>,
    after: Option<TokenId>,
    limit: usize,
) -> rusqlite::Result<Vec<Token>> {
    let sql = [TOKEN, " WHERE tenant_id IS ?1 AND id > ?2 ORDER BY id LIMIT ?3"].concat();
    let tenant = tenant.map(|tenant| tenant.to_string());
    let after = after.map_or(String::new(), |id| id.to_string());
    rows::all(connection, &sql, params![tenant, after, limit as i64], read)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Token> {
    Ok(Token {
        id: rows::id(row, 0)?,
        kind: rows::text(row, 1, TokenKind::parse)?,
        tenant: rows::maybe_id(row, 2)?,
        name: row.get(3)?,
        hash: TokenHash::from_bytes(row.get(4)?),
        created_at: rows::time(row, 5)?,
        revoked_at: rows::maybe_time(row, 6)?,
    })
}

pub fn write(connection: &Connection, tokens: &Shelf<Token>) -> rusqlite::Result<()> {
    let sql = "INSERT INTO tokens (id, kind, tenant_id, name, hash, created_at, revoked_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET revoked_at = excluded.revoked_at";
    for (_, it) in tokens.writes() {
        connection.prepare_cached(sql)?.execute(params![
            it.id.text().as_str(),
            it.kind.as_str(),
            it.tenant.map(|tenant| tenant.to_string()),
            it.name,
            it.hash.as_bytes(),
            it.created_at.as_micros(),
            it.revoked_at.map(|at| at.as_micros()),
        ])?;
    }
    Ok(())
}
