//! Which database a command looks at.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ArgMatches;
use clap::parser::ValueSource;
use store::{OpenError, Postgres, Sqlite};

use crate::output::usage;

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

/// Where a database is.
pub enum Address<'a> {
    Postgres(&'a str),
    /// A SQLite file that was named.
    File(&'a Path),
    /// The one in the data directory.
    OfData(PathBuf),
}

impl Database {
    /// Another scheme would be taken for the name of a folder. Not repeated in full: it may hold a password.
    pub fn address(&self) -> Result<Address<'_>> {
        const FORMS: &str = "give the path of a SQLite file, or postgres://USER@HOST:PORT/NAME";
        match self.database.as_deref() {
            None => Ok(Address::OfData(self.data.join(FILE))),
            Some("") => Err(usage(format!("--database is empty: {FORMS}"))),
            Some(address) if is_postgres(address) => Ok(Address::Postgres(address)),
            Some(path) => match path.split_once("://") {
                Some((scheme, _)) => {
                    Err(usage(format!("--database: `{scheme}://` is no database that we know; {FORMS}")))
                }
                None => Ok(Address::File(path.as_ref())),
            },
        }
    }

    pub async fn open_existing(&self) -> Result<Opened> {
        match self.address()? {
            Address::Postgres(address) => {
                Ok(Opened::Postgres(Box::new(Postgres::open_existing(address).await?)))
            }
            Address::File(path) => Ok(Opened::Sqlite(Sqlite::open_existing(path)?)),
            Address::OfData(path) => Ok(Opened::Sqlite(Sqlite::open_existing(&path)?)),
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
