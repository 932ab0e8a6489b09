//! The raw limit of a store, measured in the same run as what is compared with it.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use store::raw::{RawPostgres, RawSqlite};

use crate::bench::callers::Watch;

#[derive(Serialize, Clone, Copy)]
pub struct Limit {
    /// One-row inserts of 100 bytes, 100 a transaction.
    pub raw_rows_per_second: f64,
    /// One row each.
    pub raw_commits_per_second: f64,
}

const ROWS_A_TRANSACTION: u64 = 100;

pub fn sqlite(path: &Path, seconds: Duration) -> Result<Limit> {
    let raw = RawSqlite::open(path)?;
    let rate = |rows: u64, seconds: Duration| {
        let mut rate = Rate::default();
        while rate.spent < seconds {
            raw.insert(rows)?;
            rate.count(rows);
        }
        anyhow::Ok(rate.per_second())
    };
    Ok(Limit {
        raw_rows_per_second: rate(ROWS_A_TRANSACTION, seconds)?,
        raw_commits_per_second: rate(1, seconds / 2)?,
    })
}

pub async fn postgres(address: &str, seconds: Duration) -> Result<Limit> {
    let raw = RawPostgres::open(address).await?;
    let mut rates = [Rate::default(), Rate::default()];
    for (rate, rows) in rates.iter_mut().zip([ROWS_A_TRANSACTION, 1]) {
        while rate.spent < seconds / 2 {
            raw.insert(rows).await?;
            rate.count(rows);
        }
    }
    raw.close().await?;
    let [rows, commits] = rates.map(|rate| rate.per_second());
    Ok(Limit { raw_rows_per_second: rows, raw_commits_per_second: commits })
}

struct Rate {
    watch: Watch,
    spent: Duration,
    rows: u64,
}

impl Default for Rate {
    fn default() -> Rate {
        Rate { watch: Watch::start(), spent: Duration::ZERO, rows: 0 }
    }
}

impl Rate {
    fn count(&mut self, rows: u64) {
        self.rows += rows;
        self.spent += self.watch.lap();
    }

    fn per_second(&self) -> f64 {
        self.rows as f64 / self.spent.as_secs_f64()
    }
}
