//! The raw database, for benchmarks: rows of 100 bytes without a secondary index, and nothing else. Whoever measures
//! brings the stopwatch.

use std::path::Path;

use rusqlite::Connection;
use tokio_postgres::{Client, NoTls, Statement};

const BODY: &str =
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

/// SQLite with the settings of the real store: WAL, `synchronous=FULL`.
pub struct RawSqlite(Connection);

impl RawSqlite {
    pub fn open(path: &Path) -> rusqlite::Result<RawSqlite> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "wal_autocheckpoint", 16_384)?;
        connection.execute_batch("CREATE TABLE raw (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")?;
        Ok(RawSqlite(connection))
    }

    /// One durable transaction of one-row inserts.
    pub fn insert(&self, rows: u64) -> rusqlite::Result<()> {
        self.0.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut insert = self.0.prepare_cached("INSERT INTO raw (body) VALUES (?1)")?;
        for _ in 0..rows {
            insert.execute([BODY])?;
        }
        self.0.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}

/// PostgreSQL as it is configured, over one connection.
pub struct RawPostgres {
    client: Client,
    insert: Statement,
}

impl RawPostgres {
    pub async fn open(address: &str) -> Result<RawPostgres, tokio_postgres::Error> {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
        tokio::spawn(connection); // ends with its client
        client
            .batch_execute("DROP TABLE IF EXISTS raw; CREATE TABLE raw (id bigserial PRIMARY KEY, body text)")
            .await?;
        let insert = client.prepare("INSERT INTO raw (body) SELECT unnest($1::text[])").await?;
        Ok(RawPostgres { client, insert })
    }

    /// One durable transaction, set-based.
    pub async fn insert(&self, rows: u64) -> Result<(), tokio_postgres::Error> {
        let bodies: Vec<&str> = vec![BODY; rows as usize];
        self.client.execute(&self.insert, &[&bodies]).await?;
        Ok(())
    }

    pub async fn close(self) -> Result<(), tokio_postgres::Error> {
        self.client.batch_execute("DROP TABLE raw").await
    }
}
