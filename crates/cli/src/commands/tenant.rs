//! `deltaci tenant`: makes, lists and shows tenants.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use serde_json::{Value, json};
use server::Clock;
use wire::Time;
use wire::api::{CreateTenant, TenantView};

use crate::api::Connection;
use crate::database::block_on;
use crate::output::{self, Exit, usage};
use crate::view::screen::Screen;
use crate::view::state::Look;
use crate::view::table::{Cell, Table};
use crate::view::time::ago;

#[derive(Subcommand)]
pub enum Tenant {
    /// Make a tenant and print its id
    Create(Create),
    /// List tenants
    List(List),
    /// Show a tenant
    Get(Get),
}

#[derive(clap::Args)]
pub struct Create {
    /// 1 to 63 of the characters a-z, 0-9 and -
    name: String,
    /// What shall be provisioned, in JSON
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(clap::Args)]
pub struct List {
    #[command(flatten)]
    connection: Connection,
}

#[derive(clap::Args)]
pub struct Get {
    /// A name or an id
    name: String,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(tenant: &Tenant, json: bool) -> Result<ExitCode> {
    match tenant {
        Tenant::Create(args) => create(args, json)?,
        Tenant::List(args) => list(args, json)?,
        Tenant::Get(args) => get(args, json)?,
    }
    Ok(Exit::Success.into())
}

fn create(args: &Create, json: bool) -> Result<()> {
    let server = args.connection.open()?;
    let wanted = CreateTenant { name: args.name.clone(), desired_config: config(args)? };
    let tenant = block_on(async { Ok(server.create_tenant(&wanted).await?) })?;
    if json {
        return output::json(&tenant);
    }
    eprintln!("{} {}", tenant.name, Look::of(&tenant.state).painted(Screen::stderr()));
    output::line(tenant.id)
}

fn config(args: &Create) -> Result<Value> {
    let Some(path) = &args.config else { return Ok(json!({})) };
    let text =
        std::fs::read(path).map_err(|error| usage(format!("cannot read {}: {error}", path.display())))?;
    serde_json::from_slice(&text).map_err(|error| usage(format!("{} is not JSON: {error}", path.display())))
}

fn list(args: &List, json: bool) -> Result<()> {
    let server = args.connection.open()?;
    let tenants = block_on(async { Ok(server.tenants().await?) })?;
    if json {
        return output::json(&json!({ "items": tenants, "next": null }));
    }
    let now = Clock::start().now();
    let mut table = Table::headed(&["TENANT", "STATE", "NAME", "AGE", "MESSAGE"]);
    tenants.iter().for_each(|tenant| table.row(row(tenant, now)));
    output::write(table.text(Screen::stdout()).as_bytes())
}

fn row(tenant: &TenantView, now: Time) -> Vec<Cell> {
    let look = Look::of(&tenant.state);
    vec![
        Cell::new(tenant.id.to_string()),
        Cell::styled(look.style, look.text()),
        Cell::new(&tenant.name),
        Cell::new(ago(tenant.created_at, now)).right(),
        Cell::dim(&tenant.status_message),
    ]
}

fn get(args: &Get, json: bool) -> Result<()> {
    let server = args.connection.open()?;
    let tenant = block_on(async { Ok(server.tenant(&args.name).await?) })?;
    if json {
        return output::json(&tenant);
    }
    let mut table = Table::default();
    let look = Look::of(&tenant.state);
    let now = Clock::start().now();
    table.row(vec![Cell::dim("id"), Cell::new(tenant.id.to_string())]);
    table.row(vec![Cell::dim("name"), Cell::new(&tenant.name)]);
    table.row(vec![Cell::dim("state"), Cell::styled(look.style, look.text())]);
    if !tenant.status_message.is_empty() {
        table.row(vec![Cell::dim("message"), Cell::new(&tenant.status_message)]);
    }
    table.row(vec![Cell::dim("config"), Cell::new(tenant.desired_config.to_string())]);
    table.row(vec![Cell::dim("made"), Cell::new(ago(tenant.created_at, now))]);
    output::write(table.text(Screen::stdout()).as_bytes())
}
