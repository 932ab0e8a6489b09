//! The raw database, for benchmarks: rows of 100 bytes without a secondary index, and a store that is full already. Whoever
//! measures brings the stopwatch.

use std::path::Path;

use rusqlite::Connection;
use tokio_postgres::{Client, NoTls, Statement};

const BODY: &str =
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

/// SQLite with a write-ahead log and a sync of it with every commit (`synchronous=FULL`).
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

/// Entries of one version.
const ENTRIES: u64 = 1_000;

/// Fills a store that nobody has open with blobs that the versions of its first tenant refer to: rows alone, without bytes.
pub fn keep_blobs(path: &Path, count: u64) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    let transaction = connection.transaction()?;
    let tenant: String = transaction.query_row("SELECT id FROM tenants LIMIT 1", [], |row| row.get(0))?;
    {
        let mut blob = transaction.prepare(
            "INSERT INTO blobs (id, digest, length, state, refs, barrier_until, epoch, created_at, updated_at) \
             VALUES (?1, ?2, 64, 'live', 1, 0, 0, 0, 0)",
        )?;
        let mut possession = transaction.prepare(
            "INSERT INTO possessions (tenant_id, digest, blob_id, created_at) VALUES (?1, ?2, ?3, 0)",
        )?;
        let mut version = transaction.prepare(
            "INSERT INTO versions (id, tenant_id, package, version, state, purged, created_at, updated_at) \
             VALUES (?1, ?2, 'kept', ?1, 'draft', 0, 0, 0)",
        )?;
        let mut entry = transaction.prepare(
            "INSERT INTO version_entries (version_id, path, digest, length, blob_id) VALUES (?1, ?2, ?3, 64, ?4)",
        )?;
        for number in 0..count {
            let of = wire::VersionId::from_u128(u128::from(number / ENTRIES) + 1).to_string();
            if number % ENTRIES == 0 {
                version.execute((&of, &tenant))?;
            }
            let id = wire::BlobId::from_u128(u128::from(number) + 1).to_string();
            let mut digest = [0_u8; 32];
            // Spread, as digests are.
            digest[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
            blob.execute((&id, digest.as_slice()))?;
            possession.execute((&tenant, digest.as_slice(), &id))?;
            entry.execute((&of, format!("file-{number}"), digest.as_slice(), &id))?;
        }
    }
    transaction.commit()
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
