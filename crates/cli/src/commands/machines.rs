//! `deltaci machines`: the tables as text, Mermaid or JSON.

use std::process::ExitCode;

use anyhow::Result;
use machines::{Description, ROSTER};
use serde_json::{Value, json};

use crate::output::{Exit, Problem};

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
        let machines: Vec<Value> = chosen.iter().map(|machine| as_json(machine)).collect();
        println!("{}", serde_json::to_string_pretty(&json!({ "machines": machines }))?);
    } else if args.mermaid {
        let diagrams: Vec<String> =
            chosen.iter().map(|machine| format!("%% {}\n{}", machine.name, machine.mermaid())).collect();
        print!("{}", diagrams.join("\n"));
    } else {
        let texts: Vec<String> = chosen.iter().map(|machine| machine.text()).collect();
        print!("{}", texts.join("\n"));
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

fn as_json(machine: &Description) -> Value {
    let states: Vec<Value> = machine
        .states
        .iter()
        .map(|state| {
            json!({
                "name": state.name,
                "final": machine.is_final(state.name),
                "rest": machine.rests.contains(&state.name),
                "about": state.about.trim(),
            })
        })
        .collect();
    let transitions: Vec<Value> = machine
        .steps()
        .map(|(from, row)| {
            json!({
                "from": from, "event": row.event, "to": row.to, "owner": row.owner.as_str(),
                "source": row.source.as_str(), "why": row.source.why(),
            })
        })
        .collect();
    let mut value = json!({
        "name": machine.name, "about": machine.about.trim(), "states": states,
        "initial": machine.initial, "transitions": transitions,
    });
    if machine.derived {
        value["derived"] = json!(true);
    }
    value
}
