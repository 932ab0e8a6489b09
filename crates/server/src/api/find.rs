//! Finding what a path names, within one tenant. What is not this tenant's is not there.

use decisions::Refusal;
use decisions::doctor::JobFile;
use decisions::records::Run;
use store::Store;
use wire::{JobId, RunId, TenantId};

use crate::api::problem::Problem;

/// A run, by its id.
pub async fn run<S: Store>(store: &S, tenant: TenantId, named: &str) -> Result<Run, Problem> {
    let run = store.run(run_id(named)?).await?;
    run.filter(|run| run.tenant == tenant).ok_or_else(|| Refusal::RunNotFound.into())
}

pub fn run_id(named: &str) -> Result<RunId, Problem> {
    named.parse().map_err(|_| Refusal::RunNotFound.into())
}

/// A job's id, from the id itself or from the one its submitter chose. Whose it is, the caller still has to check for
/// an id of ours.
pub async fn job<S: Store>(store: &S, tenant: TenantId, named: &str) -> Result<JobId, Problem> {
    if let Ok(id) = named.parse() {
        return Ok(id);
    }
    let may_be_key = named.bytes().all(|byte| byte.is_ascii_graphic());
    let found = if may_be_key { store.job_keyed(tenant, named).await? } else { None };
    found.ok_or_else(|| Refusal::JobNotFound.into())
}

/// A job with everything filed under it.
pub async fn job_file<S: Store>(store: &S, tenant: TenantId, named: &str) -> Result<JobFile, Problem> {
    let file = store.job_file(job(store, tenant, named).await?).await?;
    file.filter(|file| file.job.tenant == tenant).ok_or_else(|| Refusal::JobNotFound.into())
}
