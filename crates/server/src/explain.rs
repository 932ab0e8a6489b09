//! Explain: every transition of one thing, with who, when and why.

use decisions::records::Event;
use store::{Store, StoreError};
use wire::{ExecId, JobId};

/// The jobs that their submitters named so: of each tenant at most one.
pub async fn jobs_named<S: Store>(store: &S, name: &str) -> Result<Vec<JobId>, StoreError> {
    let mut jobs = Vec::new();
    for tenant in store.tenants().await? {
        jobs.extend(store.job_keyed(tenant.id, name).await?);
    }
    Ok(jobs)
}

/// The events that concern an id: of a run, a job with its attempts and executions, one attempt (`job_…/2`), an
/// execution with its lease, a delivery, an upload, a version, a blob or a tenant. `None` when nothing is known of it.
pub async fn explain<S: Store>(store: &S, id: &str) -> Result<Option<Vec<Event>>, StoreError> {
    let only_entity = |events: Vec<Event>| events.into_iter().filter(|event| event.entity == id).collect();
    let events: Vec<Event> = if let Ok(execution) = id.parse::<ExecId>() {
        match store.execution_job(execution).await? {
            Some(job) => only_entity(store.events_of(&job.to_string()).await?),
            None => Vec::new(),
        }
    } else if let Some((job, _)) = id.split_once('/').filter(|(job, _)| job.parse::<JobId>().is_ok()) {
        only_entity(store.events_of(job).await?)
    } else {
        store.events_of(id).await?
    };
    Ok((!events.is_empty()).then_some(events))
}
