//! `deltaci gc`: deletes the bytes that nothing refers to any more, or says what it would delete.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use wire::api::{CollectionView, StartCollection};

use crate::api::Connection;
use crate::database::block_on;
use crate::output::{self, Exit, progress};
use crate::view::screen::{Screen, one_line};
use crate::view::state::Look;
use crate::view::time::{grouped, size};
use crate::wait::Patience;

const LOOK_EVERY: Duration = Duration::from_millis(400);

#[derive(clap::Args)]
pub struct Args {
    /// Delete nothing: only say what would go
    #[arg(long)]
    dry_run: bool,
    /// Wait until it is over; exit 1 if it failed
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let server = args.connection.open()?;
    block_on(async {
        let mut found = server.collect(&StartCollection { dry_run: args.dry_run }).await?;
        let id = found.id.to_string();
        let mut patience = Patience::default();
        while args.wait && found.state == "running" {
            if !json {
                progress(&line(&found));
            }
            tokio::time::sleep(LOOK_EVERY).await;
            match server.collection(&id).await {
                Ok(newer) => (found, patience) = (newer, Patience::default()),
                Err(error) => patience.lose(error).await?,
            }
        }
        progress("");
        if json {
            output::json(&found)?;
        } else {
            eprintln!("{}", line(&found));
            output::line(&id)?;
        }
        Ok(if found.state == "failed" { Exit::Failed } else { Exit::Success }.into())
    })
}

fn line(found: &CollectionView) -> String {
    let look = Look::of(&found.state).painted(Screen::stderr());
    let verb = if found.dry_run { "to delete" } else { "deleted" };
    let mut line = format!(
        "{look}  {} looked at, {} kept, {} {verb} ({})",
        grouped(found.marked),
        grouped(found.kept),
        grouped(found.deleted),
        size(found.bytes),
    );
    if !found.message.is_empty() {
        line.push_str(&format!(": {}", one_line(&found.message)));
    }
    line
}
