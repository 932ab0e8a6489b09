//! Which database a command looks at.

use std::path::PathBuf;

use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;
use store::{OpenError, Postgres, Sqlite};

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

/// Whether the command line itself names a database: that outweighs a server which the environment names.
pub struct Pointed {
    pub at_database: bool,
}

impl clap::FromArgMatches for Pointed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Pointed, clap::Error> {
        let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        Ok(Pointed { at_database: given("database") || given("data") })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Pointed::from_arg_matches(matches)?;
        Ok(())
    }
}

/// It has no flags of its own; it looks at those of [`Database`].
impl clap::Args for Pointed {
    fn augment_args(command: clap::Command) -> clap::Command {
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        command
    }
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

impl Database {
    /// Also a file that is damaged, if anything of it can be read, with what is wrong with it.
    pub async fn open_damaged(&self) -> Result<(Opened, Option<String>)> {
        match self.open_existing().await {
            Err(error) if matches!(error.downcast_ref(), Some(OpenError::Corrupt(_))) && self.is_file() => {
                let in_data = || self.data.join(FILE);
                let path = self.database.as_ref().map_or_else(in_data, PathBuf::from);
                let (store, damage) = Sqlite::open_damaged(&path)?;
                Ok((Opened::Sqlite(store), damage))
            }
            opened => Ok((opened?, None)),
        }
    }

    fn is_file(&self) -> bool {
        !self.database.as_deref().is_some_and(is_postgres)
    }
}
