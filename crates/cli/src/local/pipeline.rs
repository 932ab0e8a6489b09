//! Where a folder becomes a plan: the pipeline that it describes, its files, and what earlier runs had success with.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use decisions::records::{Plan, PlanJob};
use pipeline::facts::Wishes;
use runner::agent::Ground;
use store::Store;
use wire::TenantId;

use super::ground;
use crate::output::usage;

/// What is to be planned.
pub struct Question {
    pub folder: PathBuf,
    pub base: Option<String>,
    pub wishes: Wishes,
    /// A plan as it is stored with a run, instead of the folder's own.
    pub plan: Option<PathBuf>,
}

/// A plan, and the files it was made for.
pub struct Planned {
    pub plan: Plan,
    folder: PathBuf,
}

/// Earlier successes are looked up in the store, if there is one.
pub async fn plan<S: Store>(question: &Question, _past: Option<(&S, TenantId)>) -> Result<Planned> {
    let asked = question.base.is_some() || question.wishes != Wishes::default();
    let plan = match &question.plan {
        Some(_) if asked => {
            return Err(usage(
                "a given plan runs as it is: no --job, --base, --all or --no-reuse with --plan",
            ));
        }
        Some(file) => given(file)?,
        None => return Err(usage("this build reads no pipelines yet; give a plan with --plan FILE")),
    };
    Ok(Planned { plan, folder: question.folder.clone() })
}

impl Planned {
    /// Copies the files, for the jobs to begin with.
    pub async fn keep<S: Store>(
        self,
        snapshot: &Path,
        _past: Option<(&S, TenantId)>,
    ) -> Result<(Plan, Ground)> {
        let (folder, snapshot) = (self.folder, snapshot.to_owned());
        let ground = tokio::task::spawn_blocking(move || ground::take(&folder, &snapshot)).await??;
        Ok((self.plan, ground))
    }
}

fn given(file: &Path) -> Result<Plan> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the plan {}", file.display()))
        .map_err(|error| usage(format!("{error:#}")))?;
    serde_json::from_str(&text).map_err(|error| usage(format!("the plan {}: {error}", file.display())))
}

/// A run's plan as the store has it.
pub fn stored(text: &str) -> Result<Plan> {
    let jobs: Vec<PlanJob> = serde_json::from_str(text).context("the plan of the run cannot be read")?;
    Ok(Plan { jobs, ..Plan::default() })
}
