//! From what was gathered to a plan: the pipeline's file is read, or projects are found without one; what changed and
//! what succeeded before decide the rest.

use std::cell::RefCell;

use decisions::records::{Plan, Run};
use pipeline::discover::discover;
use pipeline::facts::{Facts, Success, Successes, Wishes};
use pipeline::file;
use pipeline::plan::{Draft, PIPELINE_FILE};
use pipeline::problem::Problem;
use store::Store;
use wire::runner::Checkout;

use super::gather::Gathered;
use super::one::on_thread;

/// Of the pipeline's file, and of each manifest that discovery reads.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

const NOTHING: &str =
    "the repository has no delta-ci.yaml, and no project was found in it: `deltaci init` writes a first file";

/// A plan, or why there is none.
pub async fn plan<S: Store>(store: &S, run: &Run, gathered: Gathered) -> Result<Plan, String> {
    let (tenant, run) = (run.tenant, run.clone());
    let draft = on_thread(move || draft(&run, &gathered)).await??;
    let found = store.successes(tenant, &draft.wanted()).await.map_err(|error| {
        format!("earlier successes could not be looked up ({error}): run it again in a moment")
    })?;
    let successes: Successes = found.into_iter().map(|(key, run, job)| (key, Success { run, job })).collect();
    Ok(draft.plan(&successes))
}

fn draft(run: &Run, gathered: &Gathered) -> Result<Draft, String> {
    let Gathered { mirror, found, tree, difference } = gathered;
    let mut reader = mirror.reader().map_err(|error| error.in_full())?;
    let pipeline = match tree.get(PIPELINE_FILE.as_bytes()) {
        Some(written) => {
            let bytes = reader.read(written, FILE_BYTES_MAX).map_err(|error| error.in_full())?;
            file::read(&bytes).map_err(|problems| told(&problems))?
        }
        None => {
            let reader = RefCell::new(reader);
            let read = |path: &[u8]| reader.borrow_mut().read(tree.get(path)?, FILE_BYTES_MAX).ok();
            discover(tree, &read).pipeline
        }
    };
    if pipeline.jobs.is_empty() {
        return Err(NOTHING.into());
    }
    // All jobs see the same files, whatever happens to the branch meanwhile.
    let checkout = run.repository.clone().map(|repository| Checkout {
        repository,
        r#ref: run.git_ref.clone(),
        commit: Some(found.commit.clone()),
    });
    let facts = Facts {
        tree,
        difference: difference.clone(),
        commit: Some(found.commit.clone()),
        branch: found.branch.clone(),
        trust: run.trust,
        checkout,
        wishes: Wishes::default(),
    };
    Draft::new(&pipeline, &facts).map_err(|problem| problem.in_full())
}

/// The first problem with its place and hint, and how many more there are.
fn told(problems: &[Problem]) -> String {
    let Some(first) = problems.first() else { return format!("{PIPELINE_FILE} cannot be read") };
    let hint = first.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
    let more = match problems.len() - 1 {
        0 => String::new(),
        1 => "; and 1 more problem".into(),
        count => format!("; and {count} more problems"),
    };
    let Problem { place, message, code, .. } = first;
    format!("{PIPELINE_FILE}:{}:{}: {message}{hint} [{}]{more}", place.line, place.column, code.as_str())
}
