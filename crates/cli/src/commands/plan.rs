//! `deltaci plan`: what would run in a folder, what would not, and why. Runs and writes nothing.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use server::Clock;
use server::serve::TENANT;
use store::{Sqlite, Store};

use crate::commands::run::{Selection, data_of};
use crate::database::{FILE, block_on};
use crate::local::{described, pipeline};
use crate::output::{self, Exit};
use crate::view::local::{json, plan};
use crate::view::screen::Screen;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Where earlier runs are on record [default: .deltaci in the folder]
    #[arg(long, env = "DELTACI_DATA")]
    data: Option<PathBuf>,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let question = args.selection.question()?;
    let file = data_of(args.data.as_deref(), &question.folder).join(FILE);
    let made = block_on(async {
        let store = file.exists().then(|| Sqlite::open_existing(&file)).transpose()?;
        let past = match &store {
            Some(store) => store.tenant_named(TENANT).await?.map(|tenant| (store, tenant.id)),
            None => None,
        };
        Ok(pipeline::plan(&question, past).await?.plan)
    })?;
    let (source, base, jobs) = (made.source, made.base.as_deref(), described(&made));
    if json {
        output::json(&json::plan(source, base, &jobs))?;
    } else {
        let text = plan::plan(Screen::stdout(), source, base, &jobs, Clock::start().now());
        output::write(text.as_bytes())?;
    }
    Ok(Exit::Success.into())
}
