//! What a load need not ask for, because this process wrote it last.

use decisions::records::AttemptKey;

use crate::postgres::cache::Cache;
use crate::postgres::filling::{Filling, Member};

/// Takes from the cache what is needed and what follows from that. Good only if the cache is as new as the snapshot.
pub fn recall(filling: &mut Filling, cache: &Cache) {
    for id in std::mem::take(&mut filling.needs.wanted.tenants) {
        match cache.tenants.get(&id) {
            Some(known) => filling.bring_tenant(known.clone()),
            None => drop(filling.needs.wanted.tenants.insert(id)),
        }
    }
    if cache.is_alone() {
        believe_in_what_is_new(filling, cache);
    }
    for id in std::mem::take(&mut filling.needs.executions) {
        match cache.executions.get(&id) {
            Some(known) => filling.bring_execution(known.clone()),
            None => drop(filling.needs.executions.insert(id)),
        }
    }
    for member in std::mem::take(&mut filling.needs.members) {
        if recall_family(filling, cache, &member).is_none() {
            filling.needs.members.insert(member);
        }
    }
    for id in std::mem::take(&mut filling.needs.runs) {
        match cache.runs.get(&id) {
            Some(known) => filling.bring_run(known.clone()),
            None => drop(filling.needs.runs.insert(id)),
        }
    }
    for id in std::mem::take(&mut filling.needs.runners) {
        match cache.runners.get(&id) {
            Some(known) => filling.versions.bring(&mut filling.book, known.clone()),
            None => drop(filling.needs.runners.insert(id)),
        }
    }
    for id in std::mem::take(&mut filling.needs.logs) {
        match cache.logs.get(&id) {
            Some(known) => filling.versions.bring(&mut filling.book, known.clone()),
            None => drop(filling.needs.logs.insert(id)),
        }
    }
    for id in std::mem::take(&mut filling.needs.uploads) {
        match cache.uploads.get(&id) {
            Some(known) => filling.bring_upload(known.clone()),
            None => drop(filling.needs.uploads.insert(id)),
        }
    }
    for id in std::mem::take(&mut filling.needs.specs) {
        match cache.specs.get(&id) {
            Some(known) => drop(filling.book.specs.insert(id, known.clone())),
            None => drop(filling.needs.specs.insert(id)),
        }
    }
    // Last: whatever was brought above may name a tenant.
    for tenant in std::mem::take(&mut filling.needs.webhooks) {
        match cache.webhooks.get(&tenant) {
            Some(all) => {
                all.iter().for_each(|known| filling.versions.bring(&mut filling.book, known.clone()))
            }
            None => drop(filling.needs.webhooks.insert(tenant)),
        }
    }
}

/// What is to be made and is not remembered is not asked for. If it is there all the same, its key is taken, the save fails,
/// and nothing is remembered after that.
fn believe_in_what_is_new(filling: &mut Filling, cache: &Cache) {
    let wanted = &mut filling.needs.wanted;
    let executions = std::mem::take(&mut wanted.new_executions).into_iter();
    let jobs = std::mem::take(&mut wanted.new_jobs).into_iter();
    filling.needs.executions.extend(executions.filter(|id| cache.executions.get(id).is_some()));
    let jobs = jobs.filter(|id| cache.jobs.get(id).is_some());
    filling.needs.members.extend(jobs.map(Member::of));
}

/// All of the family, or nothing.
fn recall_family(filling: &mut Filling, cache: &Cache, member: &Member) -> Option<()> {
    let job = cache.jobs.get(&member.job)?;
    let latest = cache.attempts.get(&AttemptKey { job: member.job, index: job.1.attempts })?;
    let own = match member.own_attempt {
        Some(index) if index != job.1.attempts => {
            Some(cache.attempts.get(&AttemptKey { job: member.job, index })?)
        }
        Some(_) | None => None,
    };
    let execution = match latest.1.execution {
        Some(id) => Some(cache.executions.get(&id)?),
        None => None,
    };
    filling.bring_job(job.clone());
    filling.versions.bring(&mut filling.book, latest.clone());
    if let Some(own) = own {
        filling.versions.bring(&mut filling.book, own.clone());
    }
    if let Some(execution) = execution {
        filling.versions.bring(&mut filling.book, execution.clone());
    }
    Some(())
}
