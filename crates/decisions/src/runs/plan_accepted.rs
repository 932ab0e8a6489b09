//! The planner answered: the jobs that run are made, and those that need nothing are queued, in the same commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machines::{Machine, run};
use wire::{JobId, RunId};

use crate::jobs::{NewJob, make_job};
use crate::records::{Plan, Run, plan};
use crate::runs::finalise;
use crate::runs::group::join_group;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct PlanAccepted {
    pub run: RunId,
    pub plan: Plan,
}

impl Decide for PlanAccepted {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(match &self.plan.concurrency {
            None => Ask::Run(self.run),
            Some(concurrency) => Ask::GroupOf(self.run, Some(concurrency.group.clone())),
        });
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let run: Run = draft.get(&self.run).cloned().ok_or(Refusal::RunNotFound)?;
        match run.state.get() {
            run::State::Created | run::State::Planning => {}
            run::State::Queued | run::State::Running => return Ok(Answer::PlanTaken), // two planners, one plan
            state @ (run::State::PlanFailed
            | run::State::CancelRequested
            | run::State::Success
            | run::State::Failed
            | run::State::Canceled
            | run::State::Timeout
            | run::State::Reported) => return Err(Refusal::RunNotPlanning { state: state.as_str() }),
        }
        plan::check(&self.plan, draft.policy.jobs_per_run_max)?;
        adopt_plan(draft, run, &self.plan)?;
        Ok(Answer::PlanTaken)
    }
}

/// Makes the jobs of a checked plan that run; what they need of the others is there already. The run is in `PLANNING`; it
/// leaves queued, or over if there is nothing to run.
pub fn adopt_plan(draft: &mut Draft<'_>, mut run: Run, plan: &Plan) -> Result<(), Refusal> {
    let text = serde_json::to_string(plan).expect("a plan is plain data");
    draft.changes.appended.plans.push((run.id, Arc::from(text)));
    draft.advance(&mut run, run::Event::AcceptPlan, "the plan is here");
    run.group = plan.concurrency.as_ref().map(|concurrency| concurrency.group.clone());
    run.supersede = plan.concurrency.as_ref().is_some_and(|concurrency| concurrency.cancel);
    run.fail_fast |= plan.fail_fast;
    run.jobs_total = plan.running().count() as u32;
    run.jobs_open = run.jobs_total;
    run.due_at = Some(draft.now.plus(draft.policy.run_timeout));
    run.updated_at = draft.now;
    make_jobs(draft, &run, plan)?;
    let id = run.id;
    draft.put(run.clone());
    finalise(draft, run);
    join_group(draft, id)
}

fn make_jobs(draft: &mut Draft<'_>, run: &Run, plan: &Plan) -> Result<(), Refusal> {
    let cause = run.id.to_string();
    let ids: BTreeMap<&str, JobId> =
        plan.running().map(|job| (job.name.as_str(), JobId::derived(draft.now, &cause, &job.name))).collect();
    let needed: BTreeSet<&str> =
        plan.running().flat_map(|job| job.needs.iter().map(String::as_str)).collect();
    for job in plan.running() {
        let id = ids[job.name.as_str()];
        let needs = job.needs.iter().filter_map(|need| ids.get(need.as_str()));
        let before = draft.changes.appended.needs.len();
        draft.changes.appended.needs.extend(needs.map(|need| (*need, id)));
        let new = NewJob {
            id,
            tenant: run.tenant,
            run: Some(run.id),
            key: None,
            needs_open: (draft.changes.appended.needs.len() - before) as u32,
            has_dependents: needed.contains(job.name.as_str()),
            plan: job,
        };
        make_job(draft, new)?;
    }
    Ok(())
}
