//! The raw limit of a store: one-row inserts of 100 bytes, measured in turns with what is compared with it.

use std::time::Duration;

use anyhow::Result;
use store::raw::{RawPostgres, RawSqlite};

use crate::bench::callers::Watch;

pub enum Raw {
    Sqlite(RawSqlite),
    Postgres(RawPostgres),
}

impl Raw {
    /// Rows per second in durable transactions of so many.
    pub async fn rate(&self, rows_a_transaction: u64, seconds: Duration) -> Result<f64> {
        let mut watch = Watch::start();
        let (mut spent, mut rows) = (Duration::ZERO, 0);
        while spent < seconds {
            match self {
                Raw::Sqlite(raw) => raw.insert(rows_a_transaction)?,
                Raw::Postgres(raw) => raw.insert(rows_a_transaction).await?,
            }
            rows += rows_a_transaction;
            spent += watch.lap();
        }
        Ok(rows as f64 / spent.as_secs_f64())
    }

    pub async fn close(self) -> Result<()> {
        match self {
            Raw::Sqlite(_) => Ok(()),
            Raw::Postgres(raw) => Ok(raw.close().await?),
        }
    }
}
