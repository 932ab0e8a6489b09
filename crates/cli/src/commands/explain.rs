//! `deltaci explain ID`: what happened to one thing, and why; asked of a server, or read from a data directory.

use std::process::ExitCode;

use anyhow::Result;
use decisions::records::Event;
use server::explain::explain;
use wire::api::AuditEvent;

use crate::api::Connection;
use crate::database::{Database, Opened, Pointed, block_on};
use crate::output::{self, Exit, usage};
use crate::view;
use crate::view::screen::Screen;

/// Without --server or DELTACI_SERVER, or with --data or --database, the database itself is read.
#[derive(clap::Args)]
pub struct Args {
    /// run_…, job_…, job_…/2 (an attempt), exec_…, msg_… or ten_…
    id: String,
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    pointed: Pointed,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let from_server = args.connection.is_named() && !args.pointed.at_database;
    let events = if from_server { from_server_of(args)? } else { from_database_of(args)? };
    let place = if from_server { "the tenant" } else { "the database" };
    let events = events
        .ok_or_else(|| usage(format!("nothing is known of `{}`; check the id and {place}", args.id)))?;
    if json {
        output::json(&events)?;
    } else {
        output::write(view::timeline::text(Screen::stdout(), &events).as_bytes())?;
    }
    Ok(Exit::Success.into())
}

fn from_server_of(args: &Args) -> Result<Option<Vec<AuditEvent>>> {
    let server = args.connection.open()?;
    block_on(async {
        match server.events(&args.id).await {
            Err(error) if error.is("entity_not_found") => Ok(None),
            events => Ok(Some(events?)),
        }
    })
}

fn from_database_of(args: &Args) -> Result<Option<Vec<AuditEvent>>> {
    let events = block_on(async {
        Ok(match args.database.open_existing().await? {
            Opened::Sqlite(store) => explain(&store, &args.id).await?,
            Opened::Postgres(store) => explain(&*store, &args.id).await?,
        })
    })?;
    Ok(events.map(|events| events.into_iter().map(shown).collect()))
}

fn shown(event: Event) -> AuditEvent {
    AuditEvent {
        seq: event.seq,
        at: event.at,
        machine: event.machine,
        entity: event.entity,
        from: event.from,
        event: event.event,
        to: event.to,
        owner: event.owner,
        cause: event.cause,
    }
}
