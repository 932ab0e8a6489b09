//! Secrets of the server, shared by all servers on one database.

use crate::StoreError;
use crate::postgres::finders::ask;
use crate::postgres::pool::Pool;
use crate::postgres::round::{BEGIN, COMMIT};

const MAKE: &str = "INSERT INTO keys (name, secret) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const KEY: &str = "SELECT secret FROM keys WHERE name = $1";

/// Whoever comes first decides.
pub async fn key(writers: &Pool, name: &str, offered: [u8; 32]) -> Result<[u8; 32], StoreError> {
    let make = (MAKE, vec![Box::new(name.to_owned()) as _, Box::new(offered.to_vec()) as _]);
    let read = (KEY, vec![Box::new(name.to_owned()) as _]);
    let answers = ask(writers, vec![(BEGIN, vec![]), make, (COMMIT, vec![]), read]).await?;
    let secret = answers.last().and_then(|rows| rows.first()).and_then(|row| row.try_get(0).ok());
    let secret: Vec<u8> = secret.ok_or_else(|| StoreError::Unavailable("a key was not kept".into()))?;
    secret.try_into().map_err(|_| StoreError::Violation("a key has 32 bytes".into()))
}
