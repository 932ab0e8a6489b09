//! `deltaci machines`: the tables as text, Mermaid or JSON.

use std::process::ExitCode;

use anyhow::Result;
use machines::{Description, ROSTER};

use crate::output::{self, Exit, Problem};

#[derive(clap::Args)]
pub struct Args {
    /// One machine; all without it
    name: Option<String>,
    /// As Mermaid state diagrams
    #[arg(long, conflicts_with = "json")]
    mermaid: bool,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let chosen = chosen(args.name.as_deref())?;
    if json {
        output::json(&server::machines_json::of(&chosen))?;
    } else if args.mermaid {
        let diagrams: Vec<String> =
            chosen.iter().map(|machine| format!("%% {}\n{}", machine.name, machine.mermaid())).collect();
        output::write(diagrams.join("\n").as_bytes())?;
    } else {
        let texts: Vec<String> = chosen.iter().map(|machine| machine.text()).collect();
        output::write(texts.join("\n").as_bytes())?;
    }
    Ok(Exit::Success.into())
}

fn chosen(name: Option<&str>) -> Result<Vec<&'static Description>> {
    let Some(name) = name else { return Ok(ROSTER.to_vec()) };
    Description::named(name).map(|machine| vec![machine]).ok_or_else(|| {
        let known: Vec<_> = ROSTER.iter().map(|machine| machine.name).collect();
        let message = format!("no machine is called `{name}`; there are: {}", known.join(", "));
        Problem { exit: Exit::Usage, message }.into()
    })
}
