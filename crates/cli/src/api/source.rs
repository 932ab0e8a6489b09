//! Where commands that only read look: at a server, or at the records of local runs.

use std::path::PathBuf;

use anyhow::Result;

use super::{Connection, Server};

#[derive(clap::Args)]
pub struct Source {
    /// Read the records of local runs in this data directory [default: ./.deltaci or DELTACI_DATA, where no server is
    /// named]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    connection: Connection,
}

impl Source {
    /// What the command line names outweighs a server that the environment names.
    pub async fn open(&self) -> Result<Server> {
        match &self.data {
            Some(data) => self.connection.open_records(data).await,
            None => self.connection.open_to_read().await,
        }
    }
}
