//! The planner answered: jobs are made, and those that need nothing are queued, in the same commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machines::{Machine, run};
use wire::{JobId, RunId};

use crate::jobs::{NewJob, make_job};
use crate::records::{PlanJob, Run, plan};
use crate::runs::finalise;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct PlanAccepted {
    pub run: RunId,
    pub jobs: Vec<PlanJob>,
}

impl Decide for PlanAccepted {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Run(self.run));
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
        plan::check(&self.jobs, draft.policy.jobs_per_run_max)?;
        adopt_plan(draft, run, &self.jobs)?;
        Ok(Answer::PlanTaken)
    }
}

/// Makes the jobs of a checked plan. The run is in `PLANNING`; it leaves queued, or over if there is nothing to run.
pub fn adopt_plan(draft: &mut Draft<'_>, mut run: Run, jobs: &[PlanJob]) -> Result<(), Refusal> {
    let text = serde_json::to_string(jobs).expect("a plan is plain data");
    draft.changes.appended.plans.push((run.id, Arc::from(text)));
    draft.advance(&mut run, run::Event::AcceptPlan, "the plan is here");
    run.jobs_total = jobs.len() as u32;
    run.jobs_open = run.jobs_total;
    run.due_at = Some(draft.now.plus(draft.policy.run_timeout));
    run.updated_at = draft.now;

    let cause = run.id.to_string();
    let ids: BTreeMap<&str, JobId> =
        jobs.iter().map(|job| (job.name.as_str(), JobId::derived(draft.now, &cause, &job.name))).collect();
    let needed: BTreeSet<&str> = jobs.iter().flat_map(|job| job.needs.iter().map(String::as_str)).collect();
    for job in jobs {
        for need in &job.needs {
            draft.changes.appended.needs.push((ids[need.as_str()], ids[job.name.as_str()]));
        }
        make_job(
            draft,
            NewJob {
                id: ids[job.name.as_str()],
                tenant: run.tenant,
                run: Some(run.id),
                key: None,
                has_dependents: needed.contains(job.name.as_str()),
                plan: job,
            },
        )?;
    }
    draft.put(run.clone());
    finalise(draft, run);
    Ok(())
}
