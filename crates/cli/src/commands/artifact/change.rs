//! `deltaci artifact publish`, `tombstone` and `restore`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use wire::api::{Tombstone, VersionView};
use wire::runner::Decimal;

use super::named::VersionName;
use crate::api::Connection;
use crate::database::block_on;
use crate::output::{self, Exit};
use crate::view::screen::Screen;
use crate::view::state::Look;

#[derive(clap::Args)]
pub struct Args {
    #[arg(value_name = "PACKAGE@VERSION")]
    named: VersionName,
    #[command(flatten)]
    connection: Connection,
}

#[derive(clap::Args)]
pub struct TombstoneArgs {
    #[arg(value_name = "PACKAGE@VERSION")]
    named: VersionName,
    /// How long it can be restored, such as 12h or 30d
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = retention)]
    retention: Duration,
    // The last: what follows would be under its heading.
    #[command(flatten)]
    connection: Connection,
}

pub fn publish(args: &Args, json: bool) -> Result<ExitCode> {
    let server = args.connection.open()?;
    let VersionName { package, version } = &args.named;
    said(&block_on(async { Ok(server.publish(package, version).await?) })?, json)
}

pub fn tombstone(args: &TombstoneArgs, json: bool) -> Result<ExitCode> {
    let server = args.connection.open()?;
    let VersionName { package, version } = &args.named;
    let tombstone = Tombstone { retention_seconds: Decimal::from_duration(args.retention) };
    said(&block_on(async { Ok(server.tombstone(package, version, &tombstone).await?) })?, json)
}

pub fn restore(args: &Args, json: bool) -> Result<ExitCode> {
    let server = args.connection.open()?;
    let VersionName { package, version } = &args.named;
    said(&block_on(async { Ok(server.restore(package, version).await?) })?, json)
}

fn said(version: &VersionView, json: bool) -> Result<ExitCode> {
    if json {
        output::json(version)?;
    } else {
        say(version);
    }
    Ok(Exit::Success.into())
}

/// Where a version is, for a person.
pub fn say(version: &VersionView) {
    let screen = Screen::stderr();
    let look = Look::of(&version.state).painted(screen);
    let until = version.retention_until.map(|until| format!(", can be restored until {until}"));
    let name = format!("{}@{}", version.package, version.version);
    eprintln!("{look}  {}{}", crate::view::screen::one_line(&name), until.unwrap_or_default());
}

/// Days too, which no other setting needs.
fn retention(text: &str) -> Result<Duration, String> {
    let expected = || format!("`{text}` is no duration; expected one such as 90m, 12h or 30d");
    if let Some(days) = text.strip_suffix('d') {
        let days: u64 = days.parse().map_err(|_| expected())?;
        return days.checked_mul(86_400).map(Duration::from_secs).ok_or_else(expected);
    }
    let parsed: jiff::SignedDuration = text.parse().map_err(|_| expected())?;
    Duration::try_from(parsed).map_err(|_| expected())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retention_may_be_in_days() {
        for (text, seconds) in [("30d", 2_592_000), ("12h", 43_200), ("90s", 90), ("0s", 0)] {
            assert_eq!(retention(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "d", "-1d", "1.5d", "soon", "99999999999999999999d"] {
            assert!(retention(text).is_err(), "{text}");
        }
    }
}
