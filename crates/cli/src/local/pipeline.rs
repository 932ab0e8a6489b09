//! Where a folder becomes a plan: the pipeline that it describes, its files, and what earlier runs had success with.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use decisions::records::{Plan, Trust};
use pipeline::definition::Pipeline;
use pipeline::discover::{Discovered, discover};
use pipeline::facts::{Difference, Facts, Success, Successes, Wishes};
use pipeline::file::{self, FILE_NAME};
use pipeline::plan::Draft;
use pipeline::problem::{Look, Style, draw_all};
use pipeline::tree::Tree;
use repo::{Folder, Head, Listing};
use runner::agent::Ground;
use store::Store;
use wire::{Digest, TenantId};

use super::ground;
use crate::output::{Exit, Problem, usage};
use crate::view::screen::Screen;
use crate::view::ways;

/// Of the pipeline file; the reader itself allows less.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Of a manifest that discovery looks at.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;
/// Columns for problems where nobody says how many there are.
const COLUMNS_USUAL: usize = 100;

/// What is to be planned.
#[derive(Debug, Clone)]
pub struct Question {
    pub folder: PathBuf,
    pub base: Option<String>,
    pub wishes: Wishes,
}

/// A plan, and what it was made from.
pub struct Planned {
    pub plan: Plan,
    pub head: Head,
    seen: Seen,
}

/// What was found in the folder.
struct Seen {
    question: Question,
    folder: Folder,
    listing: Listing,
    head: Head,
    difference: Difference,
    pipeline: Pipeline,
}

/// Earlier successes are looked up in the store, if there is one.
pub async fn plan<S: Store>(question: &Question, past: Option<(&S, TenantId)>) -> Result<Planned> {
    let question = question.clone();
    let seen = tokio::task::spawn_blocking(move || look(question)).await??;
    let plan = decided(&seen, &seen.listing.tree, past).await?;
    Ok(Planned { plan, head: seen.head.clone(), seen })
}

impl Planned {
    /// Copies the files, for the jobs to begin with. Where one changed since it was listed, the plan is made anew: what
    /// succeeds is remembered by what was in the copy.
    pub async fn keep<S: Store>(
        self,
        snapshot: &Path,
        past: Option<(&S, TenantId)>,
    ) -> Result<(Plan, Ground)> {
        let (seen, snapshot) = (self.seen, snapshot.to_owned());
        let taking = move || {
            let taken = ground::take(&seen.folder, &seen.listing, &snapshot)?;
            Ok::<_, anyhow::Error>((seen, taken))
        };
        let (seen, (tree, ground)) = tokio::task::spawn_blocking(taking).await??;
        if tree == seen.listing.tree {
            return Ok((self.plan, ground));
        }
        Ok((decided(&seen, &tree, past).await?, ground))
    }
}

fn look(question: Question) -> Result<Seen> {
    let folder = Folder::open(&question.folder)?;
    let (head, listing) = (folder.head()?, folder.listing()?);
    let pipeline = match folder.read(FILE_NAME.as_bytes(), FILE_BYTES_MAX)? {
        Some(bytes) => file::read(&bytes).map_err(|problems| wrong(&problems, &bytes))?,
        None => something(found(&folder, &listing.tree).pipeline, &question.folder)?,
    };
    let difference = match &question.base {
        Some(base) => folder.difference(&listing, base),
        None => Difference::NotAsked,
    };
    Ok(Seen { question, folder, listing, head, difference, pipeline })
}

/// A folder that is not the one that was meant must not look like a success. Who wants no job at all writes a file.
fn something(pipeline: Pipeline, folder: &Path) -> Result<Pipeline> {
    if !pipeline.jobs.is_empty() {
        return Ok(pipeline);
    }
    let place = ways::path(folder);
    Err(usage(format!(
        "there is nothing to run in {place}: it has no {FILE_NAME}, and no project was found in it (Cargo, npm, Go, Python, \
         .NET, Make); `deltaci init {place}` writes a first file"
    )))
}

fn found(folder: &Folder, tree: &Tree) -> Discovered {
    // What cannot be read is as good as not there: its jobs then depend on all files.
    discover(tree, &|path| folder.read(path, MANIFEST_BYTES_MAX).ok().flatten())
}

async fn decided<S: Store>(seen: &Seen, tree: &Tree, past: Option<(&S, TenantId)>) -> Result<Plan> {
    let draft = {
        let facts = Facts {
            tree,
            difference: seen.difference.clone(),
            commit: seen.head.commit.clone(),
            branch: seen.head.branch.clone(),
            trust: Trust::Trusted,
            checkout: None,
            wishes: seen.question.wishes.clone(),
        };
        Draft::new(&seen.pipeline, &facts).map_err(|problem| usage(problem.in_full()))?
    };
    let wanted: Vec<Digest> = draft.wanted();
    let mut successes = Successes::new();
    if let Some((store, tenant)) = past {
        let known = store.successes(tenant, &wanted).await?;
        successes.extend(known.into_iter().map(|(key, run, job)| (key, Success { run, job })));
    }
    Ok(draft.plan(&successes))
}

/// Every problem of the file, drawn where it is.
fn wrong(problems: &[pipeline::problem::Problem], bytes: &[u8]) -> anyhow::Error {
    let terminal = std::io::stderr().is_terminal();
    let plain = !terminal || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let style = if plain { Style::PLAIN } else { Style::COLOURS };
    let width = Screen::stderr().columns.unwrap_or(COLUMNS_USUAL);
    let message = draw_all(problems, bytes, Look { file: FILE_NAME, width, style });
    Problem { exit: Exit::Usage, message: format!("the pipeline cannot be used\n\n{}", message.trim_end()) }
        .into()
}

/// A run's plan as the store has it.
pub fn stored(text: &str) -> Result<Plan> {
    serde_json::from_str(text).context("the plan of the run cannot be read")
}

/// A first `delta-ci.yaml` for a folder.
pub fn first(folder: &Path) -> Result<String> {
    let folder = Folder::open(folder)?;
    let listing = folder.listing()?;
    Ok(pipeline::first::first_file(&found(&folder, &listing.tree)))
}
