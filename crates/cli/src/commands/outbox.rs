//! `deltaci outbox`: lists deliveries, and sends dead letters again.

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use serde_json::json;
use server::Clock;
use wire::api::DeliveryView;

use crate::api::Connection;
use crate::database::block_on;
use crate::output::{self, Exit, usage};
use crate::view::screen::Screen;
use crate::view::state::Look;
use crate::view::table::{Cell, Table};
use crate::view::time::ago;

#[derive(Subcommand)]
pub enum Outbox {
    /// List deliveries, the oldest first
    List(List),
    /// Send dead letters again, their tries counted from zero
    Redrive(Redrive),
}

const DEAD: &str = "dead_letter";

#[derive(clap::Args)]
pub struct List {
    /// Only those in this state
    #[arg(long, value_parser = ["pending", "delivering", "delivered", "retry_wait", DEAD])]
    state: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(clap::Args)]
pub struct Redrive {
    /// msg_…
    #[arg(value_name = "ID", required_unless_present = "all_dead")]
    ids: Vec<String>,
    /// All dead letters there are
    #[arg(long, conflicts_with = "ids")]
    all_dead: bool,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(outbox: &Outbox, json: bool) -> Result<ExitCode> {
    match outbox {
        Outbox::List(args) => list(args, json)?,
        Outbox::Redrive(args) => redrive(args, json)?,
    }
    Ok(Exit::Success.into())
}

fn list(args: &List, json: bool) -> Result<()> {
    let server = args.connection.open()?;
    let deliveries = block_on(async { Ok(server.deliveries(args.state.as_deref()).await?) })?;
    if json {
        return output::json(&json!({ "items": deliveries, "next": null }));
    }
    if deliveries.is_empty() {
        eprintln!("no deliveries");
        return Ok(());
    }
    let now = Clock::start().now();
    let mut table = Table::headed(&["MESSAGE", "STATE", "EVENT", "TRIES", "AGE", "URL", "LAST ERROR"]);
    for delivery in &deliveries {
        let look = Look::of(&delivery.state);
        table.row(vec![
            Cell::new(delivery.id.to_string()),
            Cell::styled(look.style, look.text()),
            Cell::new(&delivery.event),
            Cell::new(delivery.tries.to_string()).right(),
            Cell::new(ago(delivery.created_at, now)).right(),
            Cell::new(&delivery.url),
            Cell::dim(&delivery.last_error),
        ]);
    }
    output::write(table.text(Screen::stdout()).as_bytes())
}

fn redrive(args: &Redrive, json: bool) -> Result<()> {
    let server = args.connection.open()?;
    let redriven: Vec<DeliveryView> = block_on(async {
        let ids = match args.all_dead {
            false => args.ids.clone(),
            true => server.deliveries(Some(DEAD)).await?.iter().map(|it| it.id.to_string()).collect(),
        };
        let mut redriven = Vec::with_capacity(ids.len());
        for id in &ids {
            match server.redrive(id).await {
                Ok(delivery) => redriven.push(delivery),
                // Somebody else did it while we went through the list.
                Err(error) if args.all_dead && error.is("delivery_not_dead") => {}
                Err(error) if error.is("delivery_not_found") => {
                    return Err(usage(format!("no delivery is called `{id}`; see `deltaci outbox list`")));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(redriven)
    })?;
    if json {
        return output::json(&json!({ "items": redriven }));
    }
    eprintln!("{} sent again", redriven.len());
    redriven.iter().try_for_each(|delivery| output::line(delivery.id))
}
