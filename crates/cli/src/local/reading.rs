//! A look at a data directory through the same calls that ask a server: for commands that only read. A `deltaci run` may
//! be at work on it.

use std::path::Path;

use anyhow::Result;
use runner::client::Client;
use server::serve::Duty;
use store::Sqlite;

use super::data::{BLOBS, FOLDER};
use super::embedded::Embedded;
use crate::database::FILE;

/// What errors call the place that was asked.
pub const URL: &str = "./.deltaci";

/// Whether the current folder has records of local runs.
pub fn is_here() -> bool {
    Path::new(FOLDER).join(FILE).exists()
}

/// A client that is answered from the records of the current folder. The server lives as long as the client.
pub async fn client() -> Result<Client> {
    let data = Path::new(FOLDER);
    let store = Sqlite::open_existing(&data.join(FILE))?;
    Ok(Embedded::on(store, &data.join(BLOBS), Duty::AnswerOnly).await?.into_client())
}
