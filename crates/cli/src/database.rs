//! Which database a command looks at.

use std::path::PathBuf;

use anyhow::Result;
use store::{Postgres, Sqlite};

/// The file inside the data directory.
pub const FILE: &str = "deltaci.db";

#[derive(clap::Args)]
pub struct Database {
    /// A SQLite file or a postgres:// address; by default the file in the data directory
    #[arg(long, env = "DELTACI_DATABASE", hide_env_values = true)]
    pub database: Option<String>,
    /// The data directory
    #[arg(long, env = "DELTACI_DATA", default_value = "./.deltaci")]
    pub data: PathBuf,
}

/// An existing database, opened for reading.
pub enum Opened {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

impl Database {
    pub async fn open_existing(&self) -> Result<Opened> {
        match &self.database {
            Some(address) if is_postgres(address) => {
                Ok(Opened::Postgres(Box::new(Postgres::open_existing(address).await?)))
            }
            Some(path) => Ok(Opened::Sqlite(Sqlite::open_existing(path.as_ref())?)),
            None => Ok(Opened::Sqlite(Sqlite::open_existing(&self.data.join(FILE))?)),
        }
    }
}

pub fn is_postgres(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

/// Commands that only ask need no more than one thread.
pub fn block_on<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}
