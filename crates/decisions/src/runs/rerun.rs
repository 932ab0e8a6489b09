//! Run a finished run again: a new run of the same plan, `attempt + 1`. What ran runs again, or what of it did not
//! succeed; what did not run is left out again, for the same reasons. One that never had a plan is planned anew.

use std::collections::BTreeMap;

use machines::Machine;
use wire::api::{Decision, Reason};
use wire::{JobId, RunId, TenantId};

use crate::draft::Stated;
use crate::records::{Plan, Run};
use crate::runs::create::start_planning;
use crate::tenants::require_ready;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct RerunRun {
    /// The new run.
    pub id: RunId,
    pub tenant: TenantId,
    pub of: RunId,
    pub failed_only: bool,
}

impl Decide for RerunRun {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([
            Ask::Tenant(self.tenant),
            Ask::Run(self.id),
            Ask::GroupOf(self.of, None),
            Ask::Plan(self.of),
            Ask::Succeeded(self.of),
        ]);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        require_ready(draft, self.tenant)?;
        if draft.get::<Run>(&self.id).is_some() {
            return Ok(Answer::RunCreated { run: self.id, existing: true }); // asked twice
        }
        let of = draft.get(&self.of).filter(|run: &&Run| run.tenant == self.tenant);
        let of = of.ok_or(Refusal::RunNotFound)?;
        if !of.is_over() {
            return Err(Refusal::RunNotOver { state: of.state.get().as_str() });
        }
        let plan = self.plan(draft);
        if plan.is_none() && of.repository.is_none() {
            return Err(Refusal::RunHasNoPlan);
        }
        let run = Run {
            id: self.id,
            state: Stated::initial(),
            outcome: None,
            status_message: String::new(),
            attempt: of.attempt + 1,
            rerun_of: Some(of.id),
            trigger_key: None,
            required_failed: 0,
            reports_open: 0,
            sweep: None,
            swept_to: None,
            due_at: Some(draft.now.plus(draft.policy.plan_timeout)),
            created_at: draft.now,
            updated_at: draft.now,
            finished_at: None,
            ..of.clone()
        };
        draft.born(&run, format!("rerun of {}", self.of));
        let cause = if plan.is_some() { "the plan is known" } else { "there is no plan to repeat" };
        start_planning(draft, run, plan.as_ref(), cause)?;
        Ok(Answer::RunCreated { run: self.id, existing: false })
    }
}

impl RerunRun {
    fn plan(&self, draft: &Draft<'_>) -> Option<Plan> {
        let plan = draft.book().plans.get(&self.of)?;
        let mut plan: Plan = serde_json::from_str(plan).expect("plans are written by us");
        if self.failed_only
            && let Some(succeeded) = draft.book().succeeded.get(&self.of)
        {
            reuse_succeeded(&mut plan, self.of, succeeded);
        }
        Some(plan)
    }
}

/// What succeeded is not run again, and nothing waits for it.
fn reuse_succeeded(plan: &mut Plan, of: RunId, succeeded: &BTreeMap<String, JobId>) {
    for job in plan.jobs.iter_mut().filter(|job| job.runs()) {
        let Some(id) = succeeded.get(&job.name) else { continue };
        job.decision = Decision::Reuse;
        job.reasons = vec![Reason {
            rule: "reuse".into(),
            detail: "it succeeded in the run that is run again".into(),
            run: Some(of),
            job: Some(*id),
            ..Reason::default()
        }];
    }
}
