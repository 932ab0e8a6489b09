//! A look at a data directory through the same calls that ask a server: for commands that only read. A `deltaci run` may
//! be at work on it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use runner::client::Client;
use server::serve::Duty;
use store::Sqlite;

use super::data::{BLOBS, FOLDER};
use super::embedded::Embedded;
use crate::database::FILE;

/// The data directory of the current folder, or the one that the environment names, if it holds records.
pub fn here() -> Option<PathBuf> {
    let folder = std::env::var_os("DELTACI_DATA").map_or_else(|| PathBuf::from(FOLDER), PathBuf::from);
    folder.join(FILE).exists().then_some(folder)
}

/// A client that is answered from the records of a data directory. The server lives as long as the client.
pub async fn client(data: &Path) -> Result<Client> {
    let store = Sqlite::open_existing(&data.join(FILE))?;
    Ok(Embedded::on(store, &data.join(BLOBS), Duty::AnswerOnly).await?.into_client())
}
