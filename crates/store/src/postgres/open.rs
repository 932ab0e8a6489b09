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

/// The longest that one server waits for another one's migration; and what its transactions are, whatever the role's are.
const MIGRATION_SETTINGS: &str = "
    SET lock_timeout = '300s';
    SET default_transaction_isolation = 'read committed';
";

/// Brings the schema up to date. Each migration is a transaction of its own, with its line in the history, so a kill in
/// the middle leaves the version before.
pub async fn migrate(address: &Address) -> Result<(), OpenError> {
    let mut client = connect_to_known(address).await?;
    let unreachable = |error| OpenError::Unreachable(address.explain(&error));
    client.batch_execute(MIGRATION_SETTINGS).await.map_err(unreachable)?;
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
        Err(error) => Err(not_migrated(&error, address)),
    }
}

fn not_migrated(error: &refinery::Error, address: &Address) -> OpenError {
    let cause = match error.kind() {
        refinery::error::Kind::Connection(_, cause) => cause.downcast_ref::<tokio_postgres::Error>(),
        _ => None,
    };
    match cause {
        Some(cause) => not_done("its schema cannot be brought up to date", cause, address),
        None => OpenError::Corrupt(format!("its schema cannot be brought up to date: {error}")),
    }
}

/// Only what the server says about a statement or a value shows something of what is stored. All else is the world: a role
/// without a right, a server that may not write, a disk that is full, a server that goes away.
fn not_done(what: &str, error: &tokio_postgres::Error, address: &Address) -> OpenError {
    let text = format!("{what}: {}", address.explain(error));
    match error.code() {
        Some(code) if shows_damage(code) => OpenError::Corrupt(text),
        Some(_) | None => OpenError::Unreachable(text),
    }
}

/// 22: a value. 23: a constraint. 42: a name or a type, unless it is only forbidden. XX: the server does not understand its own
/// files.
fn shows_damage(code: &SqlState) -> bool {
    let is_of = |class: &&str| code.code().starts_with(class);
    *code != SqlState::INSUFFICIENT_PRIVILEGE && ["22", "23", "42", "XX"].iter().any(is_of)
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
    let client = connect(address).await.map_err(OpenError::Unreachable)?;
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
    let ours = names();
    let taken = taken(client, address, &ours).await?;
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
    if found == 0 {
        return match taken.first() {
            None => Ok(Schema::None),
            Some(name) => Err(OpenError::Corrupt(format!("it has its own {name}, but no history of ours"))),
        };
    }
    let missing = ours.iter().find(|name| name.is_relation && !taken.contains(&name.text));
    match missing {
        Some(missing) if found == known => Err(OpenError::Corrupt(format!("{} is missing", missing.text))),
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
        Err(error) => return Err(not_done("its history cannot be read", &error, address)),
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

/// Something that a migration makes, by its name.
#[derive(Debug)]
struct Name {
    text: String,
    /// A table or a view: what nobody can do without. An index may be missing for a while, and a function is found by its
    /// arguments too.
    is_relation: bool,
}

/// All that our migrations make: what shows that a database is, or is not, ours. Each is made at the beginning of a line.
fn names() -> Vec<Name> {
    let runner = embedded::migrations::runner();
    let sql: Vec<&str> = runner.get_migrations().iter().filter_map(Migration::sql).collect();
    sql.iter().flat_map(|sql| sql.lines()).filter_map(made_by).collect()
}

fn made_by(line: &str) -> Option<Name> {
    let mut words = line.strip_prefix("CREATE ")?.split([' ', '(']).filter(|word| *word != "UNIQUE");
    let is_relation = match words.next()? {
        "TABLE" | "VIEW" => true,
        "INDEX" | "FUNCTION" => false,
        _ => return None, // a trigger, whose name is its table's
    };
    words.next().map(|name| Name { text: name.to_owned(), is_relation })
}

/// Which of these names are taken in our schema, by whatever: also a type or a sequence is in the way of a table.
async fn taken(client: &Client, address: &Address, ours: &[Name]) -> Result<Vec<String>, OpenError> {
    let sql = "
        WITH here AS (SELECT oid FROM pg_namespace WHERE nspname = current_schema()),
            taken (name) AS (
                SELECT relname FROM pg_class JOIN here ON relnamespace = here.oid
                UNION SELECT typname FROM pg_type JOIN here ON typnamespace = here.oid
                UNION SELECT proname FROM pg_proc JOIN here ON pronamespace = here.oid)
        SELECT name::text FROM taken WHERE name::text = ANY ($1) ORDER BY name";
    let names: Vec<&str> = ours.iter().map(|name| name.text.as_str()).collect();
    let rows = client.query(sql, &[&names]).await;
    let rows = rows.map_err(|error| OpenError::Unreachable(address.explain(&error)))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::scratch::with_tables;

    #[test]
    fn only_what_is_stored_is_called_damaged() {
        for damage in ["42P01", "42703", "42P07", "22P02", "23505", "XX001"] {
            assert!(shows_damage(&SqlState::from_code(damage)), "{damage}");
        }
        for world in
            ["42501", "25006", "53100", "53300", "57P01", "57014", "55P03", "3F000", "0A000", "08006"]
        {
            assert!(!shows_damage(&SqlState::from_code(world)), "{world}");
        }
    }

    /// What PostgreSQL makes for a key or for refinery has no name in a migration.
    #[test]
    fn the_names_are_those_of_everything_that_is_made() {
        with_tables("names", async |client, _| {
            let made = "
                SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace
                    AND relkind IN ('r', 'v', 'i', 'S', 'm') AND relname <> 'refinery_schema_history'
                    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = pg_class.oid)
                UNION SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
                ORDER BY 1";
            let rows = client.query(made, &[]).await.unwrap();
            let made: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
            let names = names();
            let mut names: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
            names.sort_unstable();
            assert_eq!(names, made);
        });
    }
}
