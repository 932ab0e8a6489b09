//! A run against its plan and its concurrency group, and a job against what may be reused of it.

use std::collections::BTreeSet;

use machines::job;

use super::{Findings, JobFile, RunFile};
use crate::records::Plan;

/// What the plan lets run has a job, and nothing else has.
pub fn check_plan(file: &RunFile, findings: &mut Findings) {
    let Some(text) = &file.plan else {
        return findings.equal("I24", "jobs without a plan", file.jobs.len(), 0);
    };
    let plan: Plan = match serde_json::from_str(text) {
        Ok(plan) => plan,
        Err(error) => return findings.add("I24", format!("its plan cannot be read: {error}")),
    };
    let running: BTreeSet<&str> = plan.running().map(|job| job.name.as_str()).collect();
    let made: BTreeSet<&str> = file.jobs.iter().map(|job| job.name.as_str()).collect();
    if let Some(missing) = running.difference(&made).next() {
        findings.add("I24", format!("job `{missing}` of its plan was not made"));
    }
    if let Some(surplus) = made.difference(&running).next() {
        findings.add("I24", format!("job `{surplus}` was made, but its plan does not run it"));
    }
    let concurrency = plan.concurrency.as_ref();
    let group = concurrency.map(|concurrency| concurrency.group.as_str());
    findings.equal("I25", "group", file.run.group.as_deref(), group);
    findings.equal("I25", "supersede", file.run.supersede, concurrency.is_some_and(|it| it.cancel));
}

/// A run that is in a group is found there, and one that supersedes is known to those that are planned after it.
pub fn check_group(file: &RunFile, findings: &mut Findings) {
    let found = file.group.as_ref().map(|group| group.id);
    findings.equal("I25", "is found in its group", found == file.run.group_id(), true);
    let newest = file.group.as_ref().and_then(|group| group.newest);
    if file.run.supersede && newest < Some(file.run.id) {
        findings.add("I25", format!("it supersedes, but its group knows of {newest:?} as the newest"));
    }
}

/// Only a success of a run may be reused, and only by the key it had.
pub fn check_reuse(file: &JobFile, findings: &mut Findings) {
    let job = &file.job;
    let may = job.state == job::State::Succeeded && job.run.is_some() && job.input_key.is_some();
    if job.reusable && !may {
        findings.add("I26", "it may be reused, but is no success of a run with a key".into());
    }
}
