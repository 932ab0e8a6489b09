//! A look at a data directory through the same calls that ask a server: for commands that only read. A `deltaci run` may
//! be at work on it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use runner::client::Client;
use server::serve::Duty;
use store::Sqlite;

use super::data::{BLOBS, FOLDER};
use super::embedded::Embedded;
use crate::database::FILE;
use crate::view::ways::{self, Ways};

/// The data directory of the current folder, or the one that the environment names, if it holds records.
pub fn here() -> Option<PathBuf> {
    Some(usual()).filter(|folder| has_records(folder))
}

pub fn has_records(data: &Path) -> bool {
    data.join(FILE).exists()
}

fn usual() -> PathBuf {
    variable("DELTACI_DATA").map_or_else(|| PathBuf::from(FOLDER), PathBuf::from)
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// What has to be added to a command that looks, so that it looks at this data directory.
fn found(data: &Path) -> String {
    let is_usual = variable("DELTACI_SERVER").is_none() && is_same(data, &usual());
    if is_usual { String::new() } else { format!(" --data {}", ways::path(data)) }
}

/// Of records whose folder is known by their place alone.
pub fn ways(data: &Path) -> Ways {
    let whole = data.canonicalize().ok().filter(|whole| whole.file_name().is_some_and(|name| name == FOLDER));
    let folder =
        whole.as_deref().and_then(Path::parent).map(|folder| match is_same(folder, Path::new(".")) {
            true => String::new(),
            false => format!(" {}", ways::path(folder)),
        });
    Ways::Records { found: found(data), folder }
}

/// Of a run whose folder and data directory were given like this.
pub fn ways_of_run(folder: &Path, given: Option<&Path>, data: &Path) -> Ways {
    let place =
        if is_same(folder, Path::new(".")) { String::new() } else { format!(" {}", ways::path(folder)) };
    let by_flag =
        given.filter(|given| variable("DELTACI_DATA").is_none_or(|named| Path::new(&named) != *given));
    let flag = by_flag.map(|data| format!(" --data {}", ways::path(data))).unwrap_or_default();
    Ways::Records { found: found(data), folder: Some(place + &flag) }
}

/// Before the first run it is not there yet.
fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    whole(one).is_ok_and(|one| whole(other).is_ok_and(|other| one == other))
}

/// A client that is answered from the records of a data directory. The server lives as long as the client.
pub async fn client(data: &Path) -> Result<Client> {
    let store = Sqlite::open_existing(&data.join(FILE))?;
    Ok(Embedded::on(store, &data.join(BLOBS), Duty::AnswerOnly).await?.into_client())
}
