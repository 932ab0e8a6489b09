//! `deltaci artifact list`: versions, or the files of one.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use server::Clock;
use wire::Time;
use wire::api::{VersionSummary, VersionView};

use super::named::VersionName;
use crate::api::Connection;
use crate::database::block_on;
use crate::output::{self, Exit};
use crate::view::screen::Screen;
use crate::view::state::Look;
use crate::view::table::{Cell, Table};
use crate::view::time::{ago, size};

#[derive(clap::Args)]
pub struct Args {
    /// A package, or PACKAGE@VERSION for its files
    #[arg(value_name = "PACKAGE")]
    named: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    if let Some(Ok(VersionName { package, version })) = args.named.as_deref().map(str::parse) {
        let version = block_on(async {
            let server = args.connection.open_to_read().await?;
            Ok(server.version(&package, &version).await?)
        })?;
        files(&version, json)?;
        return Ok(Exit::Success.into());
    }
    let found = block_on(async {
        let server = args.connection.open_to_read().await?;
        Ok(server.versions(args.named.as_deref()).await?)
    })?;
    if json {
        output::json(&json!({ "items": found, "next": null }))?;
        return Ok(Exit::Success.into());
    }
    if found.is_empty() {
        eprintln!("no versions; make one with `deltaci artifact push FILE --package NAME --version 1`");
        return Ok(Exit::Success.into());
    }
    let now = Clock::start().now();
    let mut table = Table::headed(&["STATE", "FILES", "SIZE", "AGE", "ID", "VERSION"]);
    found.iter().for_each(|version| table.row(row(version, now)));
    output::write(table.text(Screen::stdout()).as_bytes())?;
    Ok(Exit::Success.into())
}

fn row(version: &VersionSummary, now: Time) -> Vec<Cell> {
    let look = Look::of(&version.state);
    vec![
        Cell::styled(look.style, look.text()),
        Cell::new(version.entries.to_string()).right(),
        Cell::new(size(version.length)).right(),
        Cell::new(ago(version.published_at.unwrap_or(version.created_at), now)).right(),
        Cell::dim(version.id.to_string()),
        Cell::new(format!("{}@{}", version.package, version.version)),
    ]
}

fn files(version: &VersionView, json: bool) -> Result<()> {
    if json {
        return output::json(version);
    }
    super::change::say(version);
    if let Some(reason) = &version.quarantine {
        eprintln!("quarantined: {}", crate::view::screen::one_line(reason));
    }
    let mut table = Table::headed(&["DIGEST", "SIZE", "PATH"]);
    for entry in &version.entries {
        table.row(vec![
            Cell::dim(entry.digest.to_string()),
            Cell::new(size(entry.length)).right(),
            Cell::new(&entry.path),
        ]);
    }
    output::write(table.text(Screen::stdout()).as_bytes())
}
