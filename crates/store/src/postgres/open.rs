//! Opening a database: refuse what is too old, newer than we are, or not ours, before anything is touched.

use refinery::Migration;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::OpenError;
use crate::postgres::address::Address;
use crate::postgres::connect::connect;

mod embedded {
    refinery::embed_migrations!("migrations/postgres");
}

const SERVER_VERSION_MIN: i32 = 150_000;

/// Held while the schema is looked at and brought up to date, so that one server does it and the others wait. The
/// number is ours, and means nothing: "deltaci" in ASCII.
const MIGRATION_LOCK: i64 = 0x64_65_6c_74_61_63_69;

/// The longest that one server waits for another one's migration.
const MIGRATION_WAIT: &str = "SET lock_timeout = '300s'";

/// Some of our tables, at least one from each migration: what shows that a database is, or is not, ours.
const TABLES: &[&str] = &[
    "tenants",
    "queues",
    "runs",
    "jobs",
    "attempts",
    "ready",
    "executions",
    "deliveries",
    "event_groups",
    "event_head",
];

/// Brings the schema up to date. Each migration is a transaction of its own, with its line in the history, so a kill in
/// the middle leaves the version before.
pub async fn migrate(address: &Address) -> Result<(), OpenError> {
    let mut client = connect_to_known(address).await?;
    let unreachable = |error| OpenError::Unreachable(address.explain(&error));
    client.batch_execute(MIGRATION_WAIT).await.map_err(unreachable)?;
    // The lock ends with the connection, which ends with this function.
    client.execute("SELECT pg_advisory_lock($1)", &[&MIGRATION_LOCK]).await.map_err(unreachable)?;
    if schema(&client, address).await? == Schema::Current {
        return Ok(());
    }
    match embedded::migrations::runner().run_async(&mut client).await {
        Ok(_) => Ok(()),
        Err(_) if client.is_closed() => {
            Err(OpenError::Unreachable(format!("{address}: lost while migrating")))
        }
        Err(error) => Err(OpenError::Corrupt(format!("its schema cannot be brought up to date: {error}"))),
    }
}

/// Looks, and changes nothing.
pub async fn check(address: &Address) -> Result<(), OpenError> {
    let client = connect_to_known(address).await?;
    match schema(&client, address).await? {
        Schema::Current => Ok(()),
        Schema::None => Err(OpenError::Corrupt("no Delta CI tables".into())),
        Schema::Older(version) => Err(OpenError::Corrupt(format!(
            "its schema has version {version}, not {}; starting a server on it will change that",
            known_version()
        ))),
    }
}

async fn connect_to_known(address: &Address) -> Result<Client, OpenError> {
    let unreachable = |error| OpenError::Unreachable(address.explain(&error));
    let client = connect(address).await.map_err(unreachable)?;
    let sql = "SELECT current_setting('server_version_num')::integer, current_setting('server_version')";
    let row = client.query_one(sql, &[]).await.map_err(unreachable)?;
    let (number, name): (i32, String) = (row.get(0), row.get(1));
    if number < SERVER_VERSION_MIN {
        return Err(OpenError::ServerTooOld(name));
    }
    Ok(client)
}

#[derive(Debug, PartialEq, Eq)]
enum Schema {
    /// Nothing of ours.
    None,
    Older(i32),
    Current,
}

/// What is in the database, by its history; an error if history and tables do not fit.
async fn schema(client: &Client, address: &Address) -> Result<Schema, OpenError> {
    let history = history(client, address).await?;
    let tables = tables(client, address).await?;
    let found = history.last().map_or(0, |entry| entry.version);
    let known = known_version();
    if found > known {
        return Err(OpenError::Newer { found: found.into(), known: known.into() });
    }
    if let Some(stranger) = history.iter().find(|entry| !entry.is_ours()) {
        return Err(OpenError::Corrupt(format!(
            "version {} of its schema is not the one we know",
            stranger.version
        )));
    }
    match TABLES.iter().find(|table| !tables.iter().any(|found| found == *table)) {
        _ if found == 0 && tables.is_empty() => Ok(Schema::None),
        _ if found == 0 => Err(OpenError::Corrupt(format!("it has a table {}, but no history", tables[0]))),
        Some(missing) if found == known => Err(OpenError::Corrupt(format!("the table {missing} is missing"))),
        None if found == known => Ok(Schema::Current),
        Some(_) | None => Ok(Schema::Older(found)),
    }
}

fn known_version() -> i32 {
    embedded::migrations::runner().get_migrations().iter().map(Migration::version).max().unwrap_or(0)
}

/// A line of refinery's table.
struct Entry {
    version: i32,
    name: Option<String>,
    applied_on: Option<String>,
    checksum: Option<String>,
}

impl Entry {
    /// One of our migrations, unchanged. The time is looked at because refinery would panic over a bad one.
    fn is_ours(&self) -> bool {
        let is_time = self.applied_on.as_ref().is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok());
        let runner = embedded::migrations::runner();
        let same = |migration: &Migration| {
            migration.version() == self.version
                && Some(migration.name()) == self.name.as_deref()
                && Some(migration.checksum().to_string()) == self.checksum
        };
        is_time && runner.get_migrations().iter().any(same)
    }
}

/// Oldest first; empty if there is none.
async fn history(client: &Client, address: &Address) -> Result<Vec<Entry>, OpenError> {
    let sql = "SELECT version, name::text, applied_on::text, checksum::text FROM refinery_schema_history ORDER BY version";
    let rows = match client.query(sql, &[]).await {
        Ok(rows) => rows,
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => return Ok(Vec::new()),
        Err(error) if error.code().is_some() => {
            return Err(OpenError::Corrupt(format!(
                "its history cannot be read: {}",
                address.explain(&error)
            )));
        }
        Err(error) => return Err(OpenError::Unreachable(address.explain(&error))),
    };
    let entry = |row: &tokio_postgres::Row| -> Result<Entry, tokio_postgres::Error> {
        Ok(Entry {
            version: row.try_get(0)?,
            name: row.try_get(1)?,
            applied_on: row.try_get(2)?,
            checksum: row.try_get(3)?,
        })
    };
    let entries: Result<Vec<Entry>, _> = rows.iter().map(entry).collect();
    entries.map_err(|error| OpenError::Corrupt(format!("its history cannot be read: {error}")))
}

/// Which of [`TABLES`] there are.
async fn tables(client: &Client, address: &Address) -> Result<Vec<String>, OpenError> {
    let sql =
        "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() AND tablename = ANY ($1)
               ORDER BY tablename";
    let rows = client.query(sql, &[&TABLES]).await;
    let rows = rows.map_err(|error| OpenError::Unreachable(address.explain(&error)))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
