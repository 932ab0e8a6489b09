//! `deltaci token`: makes, lists and revokes tokens. The secret is on stdout, once, and nowhere else.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use server::Clock;
use wire::api::{CreateToken, TokenKind};

use crate::api::{Connection, Shelf};
use crate::database::block_on;
use crate::output::{self, Exit, usage};
use crate::view::screen::Screen;
use crate::view::state::Look;
use crate::view::table::{Cell, Table};
use crate::view::time::ago;

#[derive(Subcommand)]
pub enum Token {
    /// Make a token and print it, this once
    Create(Create),
    /// List tokens, without their secrets
    List(List),
    /// Revoke a token: it opens nothing any more
    Revoke(Revoke),
}

#[derive(clap::Args)]
pub struct Create {
    /// What it opens
    #[arg(long, value_enum)]
    kind: Kind,
    /// Whose it is, what it is for
    #[arg(long, default_value = "")]
    name: String,
    /// For runners that serve all tenants
    #[arg(long)]
    shared: bool,
    #[command(flatten)]
    connection: Connection,
}

#[derive(clap::Args)]
pub struct List {
    /// Those of no tenant: administrators' and shared runners'
    #[arg(long)]
    shared: bool,
    #[command(flatten)]
    connection: Connection,
}

#[derive(clap::Args)]
pub struct Revoke {
    /// tok_…
    id: String,
    /// One of no tenant: an administrator's or a shared runner's
    #[arg(long)]
    shared: bool,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Leases jobs
    Runner,
    /// Works with the tenant's runs, jobs and tokens
    Tenant,
    /// Everything
    Admin,
}

pub fn run(token: &Token, json: bool) -> Result<ExitCode> {
    match token {
        Token::Create(args) => create(args, json)?,
        Token::List(args) => list(args, json)?,
        Token::Revoke(args) => revoke(args, json)?,
    }
    Ok(Exit::Success.into())
}

fn create(args: &Create, json: bool) -> Result<()> {
    let (kind, shelf) = match (args.kind, args.shared) {
        (Kind::Runner, false) => (TokenKind::Runner, Shelf::Tenant),
        (Kind::Runner, true) => (TokenKind::Runner, Shelf::Shared),
        (Kind::Tenant, false) => (TokenKind::Tenant, Shelf::Tenant),
        (Kind::Tenant, true) => return Err(usage("a tenant's token is not shared: leave --shared out")),
        (Kind::Admin, _) => (TokenKind::Admin, Shelf::Shared),
    };
    let server = args.connection.open()?;
    let wanted = CreateToken { kind, name: args.name.clone() };
    let minted = block_on(async { Ok(server.create_token(shelf, &wanted).await?) })?;
    if json {
        return output::json(&minted);
    }
    eprintln!("{}: keep it, it is not shown again", minted.id);
    output::line(minted.token.expose())
}

fn list(args: &List, json: bool) -> Result<()> {
    let server = args.connection.open()?;
    let tokens = block_on(async { Ok(server.tokens(shelf(args.shared)).await?) })?;
    if json {
        return output::json(&serde_json::json!({ "items": tokens, "next": null }));
    }
    let now = Clock::start().now();
    let mut table = Table::headed(&["TOKEN", "STATE", "KIND", "AGE", "NAME"]);
    for token in &tokens {
        let look = Look::of(&token.state);
        let kind = match token.kind {
            TokenKind::Admin => "admin",
            TokenKind::Tenant => "tenant",
            TokenKind::Runner => "runner",
        };
        table.row(vec![
            Cell::new(token.id.to_string()),
            Cell::styled(look.style, look.text()),
            Cell::new(kind),
            Cell::new(ago(token.created_at, now)).right(),
            Cell::new(&token.name),
        ]);
    }
    if tokens.is_empty() {
        eprintln!("no tokens; make one with `deltaci token create --kind runner`");
        return Ok(());
    }
    output::write(table.text(Screen::stdout()).as_bytes())
}

fn revoke(args: &Revoke, json: bool) -> Result<()> {
    let server = args.connection.open()?;
    block_on(async {
        let revoked = server.revoke_token(shelf(args.shared), &args.id).await;
        Ok(revoked.map_err(|error| match error.is("token_not_found") && !args.shared {
            true => error.hint("; for an administrator's or a shared runner's add --shared"),
            false => error,
        })?)
    })?;
    if json {
        return output::json(&serde_json::json!({ "id": args.id, "state": "revoked" }));
    }
    eprintln!("{} is revoked", args.id);
    Ok(())
}

fn shelf(shared: bool) -> Shelf {
    if shared { Shelf::Shared } else { Shelf::Tenant }
}
