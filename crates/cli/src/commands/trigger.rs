//! `deltaci trigger`: starts a run, and waits for it if asked to.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::builder::NonEmptyStringValueParser;
use server::Mint;
use wire::api::{Plan, PlannedJob, RunView, TriggerRun, Trust};

use crate::api::{ApiError, Connection, Server};
use crate::commands::started;
use crate::database::block_on;
use crate::output::usage;
use crate::wait::Patience;

#[derive(clap::Args)]
pub struct Args {
    /// A plan in JSON, {"jobs":[{"name","steps","needs",…}]}; `-` reads it from stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["steps", "name", "runs_on", "image", "env"])]
    plan: Option<PathBuf>,
    /// A step of a run of one job; may be repeated
    #[arg(long = "step", value_name = "COMMAND")]
    steps: Vec<String>,
    /// The name of that job
    #[arg(long, requires = "steps", default_value = "job")]
    name: String,
    /// What its runner must have, such as os:linux; may be repeated
    #[arg(long, value_name = "KEY:VALUE", requires = "steps")]
    runs_on: Vec<String>,
    /// The image it runs in
    #[arg(long, requires = "steps")]
    image: Option<String>,
    /// A variable of its environment; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "steps", value_parser = variable)]
    env: Vec<(String, String)>,
    /// What is built
    #[arg(long, value_name = "URL")]
    repository: Option<String>,
    /// The branch or tag
    #[arg(long)]
    r#ref: Option<String>,
    /// The commit, by its whole name
    #[arg(long)]
    commit: Option<String>,
    /// The commit to compare with
    #[arg(long, value_name = "COMMIT")]
    base: Option<String>,
    /// The same key again is the same run
    #[arg(long, value_name = "TRIGGER_KEY", value_parser = NonEmptyStringValueParser::new())]
    key: Option<String>,
    /// Stop the rest after the first required failure
    #[arg(long)]
    fail_fast: bool,
    /// It is a stranger's code: nothing it leaves behind is used by trusted runs
    #[arg(long)]
    untrusted: bool,
    /// Wait until the run is over, and exit by its outcome
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    connection: Connection,
}

pub fn run(args: Args, json: bool) -> Result<ExitCode> {
    let server = args.connection.open()?;
    let key = args.key.clone().unwrap_or_else(|| format!("cli-{:x}", Mint.holder()));
    let (wait, request) = (args.wait, request(args, &key)?);
    block_on(async {
        let run = trigger(&server, &request, &key).await?;
        started::follow(&server, run, wait, json).await
    })
}

/// A request whose answer was lost is sent again: under its key it is the same run.
async fn trigger(server: &Server, request: &TriggerRun, key: &str) -> Result<RunView, ApiError> {
    let mut patience = Patience::default();
    let mut is_begun = false;
    loop {
        let error = match server.trigger(request).await {
            Ok(run) => return Ok(run),
            Err(error) => error,
        };
        is_begun |= error.perhaps_done;
        if !is_begun {
            return Err(error);
        }
        let known_by = format!("; it may have been started: the same with --key {key} is the same run");
        patience.lose(error).await.map_err(|error| error.hint(&known_by))?;
    }
}

fn request(args: Args, key: &str) -> Result<TriggerRun> {
    let plan = match &args.plan {
        Some(path) => Some(read_plan(path)?),
        None if !args.steps.is_empty() => Some(Plan { jobs: vec![job(&args)] }),
        None if args.repository.is_some() => None, // the server plans
        None => return Err(usage("say what to run: --step COMMAND, --plan FILE, or --repository URL")),
    };
    Ok(TriggerRun {
        trigger_key: Some(key.into()),
        repository: args.repository,
        r#ref: args.r#ref,
        commit: args.commit,
        base: args.base,
        trust: if args.untrusted { Trust::Untrusted } else { Trust::Trusted },
        fail_fast: args.fail_fast,
        plan,
    })
}

fn job(args: &Args) -> PlannedJob {
    PlannedJob {
        name: args.name.clone(),
        steps: args.steps.clone(),
        required: true,
        runs_on: args.runs_on.clone(),
        image: args.image.clone(),
        env: args.env.iter().cloned().collect::<BTreeMap<_, _>>(),
        ..PlannedJob::default()
    }
}

fn read_plan(path: &Path) -> Result<Plan> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(path).map(|read| bytes = read)
    };
    read.with_context(|| format!("cannot read the plan {}", path.display()))
        .map_err(|error| usage(format!("{error:#}")))?;
    wire::decode(&bytes).map_err(|bad| usage(format!("the plan {}: {bad}", path.display())))
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("`{text}` is no variable; write NAME=VALUE")),
    }
}
