//! `deltaci webhook`: subscribes to a tenant's events. The secret is read from the environment or from stdin, never from a
//! flag, where others on the machine could see it.

use std::io::Read;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use serde_json::json;
use wire::api::PutWebhook;

use crate::api::Connection;
use crate::database::block_on;
use crate::output::{self, Exit, usage};
use crate::view::screen::Screen;
use crate::view::table::{Cell, Table};

#[derive(Subcommand)]
pub enum Webhook {
    /// Subscribe, or change a subscription
    Put(Box<Put>),
    /// List subscriptions, without their secrets
    List(List),
    /// Unsubscribe
    Delete(Delete),
}

#[derive(clap::Args)]
pub struct Put {
    name: String,
    /// https://…, http://…, nats://HOST:PORT/SUBJECT, nats:SUBJECT (the server's own NATS) or log: (its log)
    #[arg(long)]
    url: String,
    /// Such as run.finished; may be given several times
    #[arg(long = "event", required = true)]
    events: Vec<String>,
    /// One delivery after the other, in the order of what happened
    #[arg(long)]
    ordered: bool,
    /// Signs the deliveries: `whsec_` and base64, or 16 to 256 characters; read from stdin without it
    #[arg(env = "DELTACI_WEBHOOK_SECRET", long = "secret", hide = true, hide_env_values = true)]
    secret: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(clap::Args)]
pub struct List {
    #[command(flatten)]
    connection: Connection,
}

#[derive(clap::Args)]
pub struct Delete {
    name: String,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(webhook: &Webhook, json: bool) -> Result<ExitCode> {
    match webhook {
        Webhook::Put(args) => put(args, json)?,
        Webhook::List(args) => list(args, json)?,
        Webhook::Delete(args) => delete(args, json)?,
    }
    Ok(Exit::Success.into())
}

fn put(args: &Put, json: bool) -> Result<()> {
    let server = args.connection.open()?;
    let wanted = PutWebhook {
        url: args.url.clone(),
        events: args.events.clone(),
        secret: secret(args)?,
        ordered: args.ordered,
    };
    let webhook = block_on(async { Ok(server.put_webhook(&args.name, &wanted).await?) })?;
    if json {
        return output::json(&webhook);
    }
    output::line(webhook.name)
}

fn secret(args: &Put) -> Result<String> {
    if let Some(secret) = &args.secret {
        return Ok(secret.clone());
    }
    eprintln!("the secret, from stdin (or set DELTACI_WEBHOOK_SECRET):");
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| usage(format!("the secret cannot be read from stdin: {error}")))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn list(args: &List, json: bool) -> Result<()> {
    let server = args.connection.open()?;
    let webhooks = block_on(async { Ok(server.webhooks().await?) })?;
    if json {
        return output::json(&json!({ "items": webhooks, "next": null }));
    }
    if webhooks.is_empty() {
        eprintln!("no webhooks; make one with `deltaci webhook put`");
        return Ok(());
    }
    let mut table = Table::headed(&["WEBHOOK", "URL", "EVENTS", "ORDER"]);
    for webhook in &webhooks {
        table.row(vec![
            Cell::new(&webhook.name),
            Cell::new(&webhook.url),
            Cell::new(webhook.events.join(" ")),
            Cell::new(if webhook.ordered { "in order" } else { "any" }),
        ]);
    }
    output::write(table.text(Screen::stdout()).as_bytes())
}

fn delete(args: &Delete, json: bool) -> Result<()> {
    let server = args.connection.open()?;
    block_on(async { Ok(server.delete_webhook(&args.name).await?) })?;
    if json {
        return output::json(&json!({ "name": args.name, "state": "removed" }));
    }
    eprintln!("{} is told nothing any more", args.name);
    Ok(())
}
