//! `deltaci plan`: what would run in a folder, what would not, and why. Runs and writes nothing.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use decisions::records::Plan;
use serde_json::json;
use server::serve::TENANT;
use store::{Sqlite, Store};

use crate::commands::run::{Selection, data_of};
use crate::database::{FILE, block_on};
use crate::local::pipeline;
use crate::output::{self, Exit};
use crate::view::screen::{Screen, Style};
use crate::view::table::{Cell, Table};

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
    let plan = block_on(async {
        let store = file.exists().then(|| Sqlite::open_existing(&file)).transpose()?;
        let past = match &store {
            Some(store) => store.tenant_named(TENANT).await?.map(|tenant| (store, tenant.id)),
            None => None,
        };
        Ok(pipeline::plan(&question, past).await?.plan)
    })?;
    if json {
        output::json(&shown(&plan))?;
    } else {
        output::write(table(&plan).text(Screen::stdout()).as_bytes())?;
    }
    Ok(Exit::Success.into())
}

fn shown(plan: &Plan) -> serde_json::Value {
    let jobs = plan.jobs.iter().map(|job| {
        json!({ "name": job.name, "decision": job.decision, "reasons": job.reasons, "needs": job.needs })
    });
    json!({ "base": plan.base, "source": plan.source, "jobs": jobs.collect::<Vec<_>>() })
}

fn table(plan: &Plan) -> Table {
    let mut table = Table::headed(&["JOB", "DECISION", "WHY"]).wrapping();
    for job in &plan.jobs {
        let reasons: Vec<&str> = job.reasons.iter().map(|reason| reason.detail.as_str()).collect();
        let decision = Cell::styled(Style::Plain, job.decision.as_str());
        table.row(vec![Cell::new(&job.name), decision, Cell::new(reasons.join("; "))]);
    }
    table
}
