//! From what was gathered to a plan. There is no planner yet, so each run is told so.

use decisions::records::{Plan, Run};
use store::Store;

use super::gather::Gathered;

const NO_PLANNER: &str =
    "this server cannot plan yet: send the run with a `plan`, a list of jobs with their steps";

/// A plan, or why there is none.
pub async fn plan<S: Store>(_store: &S, _run: &Run, gathered: Gathered) -> Result<Plan, String> {
    let Gathered { found, tree, difference, mirror: _ } = gathered;
    tracing::debug!(commit = found.commit, files = tree.files().len(), ?difference, "gathered");
    Err(NO_PLANNER.into())
}
