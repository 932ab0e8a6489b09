//! Create a run. The same trigger key again names the same run.

use machines::run;
use wire::{RunId, TenantId};

use crate::draft::{Hint, Stated};
use crate::records::{GroupId, Plan, Run, Trust, plan};
use crate::runs::plan_accepted::adopt_plan;
use crate::tenants::require_ready;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct CreateRun {
    pub id: RunId,
    pub tenant: TenantId,
    pub trigger_key: Option<String>,
    pub origin: RunOrigin,
    pub trust: Trust,
    pub fail_fast: bool,
    /// With a plan the planner is skipped.
    pub plan: Option<Plan>,
}

/// What the run evaluates.
#[derive(Debug, Clone, Default)]
pub struct RunOrigin {
    pub repository: Option<String>,
    pub git_ref: Option<String>,
    pub commit: Option<String>,
    pub base: Option<String>,
}

impl Decide for CreateRun {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Tenant(self.tenant));
        asks.push(Ask::Run(self.id));
        asks.extend(self.trigger_key.clone().map(|key| Ask::Trigger(self.tenant, key)));
        let group = self.plan.as_ref().and_then(|plan| plan.concurrency.as_ref());
        let repository = self.origin.repository.as_deref();
        asks.extend(group.map(|it| Ask::Group(GroupId::of(self.tenant, repository, self.trust, &it.group))));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        require_ready(draft, self.tenant)?;
        if let Some(known) = self.known(draft) {
            return Ok(Answer::RunCreated { run: known, existing: true });
        }
        if let Some(plan) = &self.plan {
            plan::check(plan, draft.policy.jobs_per_run_max)?;
        }
        let run = self.record(draft);
        draft.born(&run, "triggered");
        start_planning(draft, run, self.plan.as_ref(), "triggered")?;
        Ok(Answer::RunCreated { run: self.id, existing: false })
    }
}

/// With a plan the planner is skipped; without one it is told.
pub fn start_planning(
    draft: &mut Draft<'_>,
    mut run: Run,
    plan: Option<&Plan>,
    cause: &'static str,
) -> Result<(), Refusal> {
    draft.advance(&mut run, run::Event::StartPlanning, cause);
    match plan {
        Some(plan) => adopt_plan(draft, run, plan),
        None => {
            draft.hint(Hint::Plan(run.id));
            draft.put(run);
            Ok(())
        }
    }
}

impl CreateRun {
    /// A repeat of this very command, or another trigger under the same key.
    fn known(&self, draft: &Draft<'_>) -> Option<RunId> {
        let by_key =
            self.trigger_key.clone().and_then(|key| draft.book().triggers.get(&(self.tenant, key)).copied());
        by_key.or_else(|| draft.get::<Run>(&self.id).map(|run| run.id))
    }

    fn record(&self, draft: &Draft<'_>) -> Run {
        Run {
            id: self.id,
            tenant: self.tenant,
            state: Stated::initial(),
            outcome: None,
            status_message: String::new(),
            attempt: 1,
            rerun_of: None,
            trigger_key: self.trigger_key.clone(),
            repository: self.origin.repository.clone(),
            git_ref: self.origin.git_ref.clone(),
            commit: self.origin.commit.clone(),
            base: self.origin.base.clone(),
            fail_fast: self.fail_fast,
            trust: self.trust,
            group: None,
            supersede: false,
            jobs_total: 0,
            jobs_open: 0,
            required_failed: 0,
            reports_open: 0,
            sweep: None,
            swept_to: None,
            due_at: Some(draft.now.plus(draft.policy.plan_timeout)),
            created_at: draft.now,
            updated_at: draft.now,
            finished_at: None,
        }
    }
}
