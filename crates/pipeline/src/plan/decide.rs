//! From a draft and what succeeded before to the plan.

use decisions::records::{Plan, Source};
use wire::api::{Decision, Reason};

use super::draft::{Cause, Draft, Sketch};
use super::order::Selected;
use super::reasons;
use crate::facts::{Success, Successes};

/// Why a job that would run is not reused.
enum Fresh {
    NotAllowed,
    EffectOnce,
    /// A need that runs, or that can never be reused.
    Need(usize),
    NewInputs,
}

impl Draft {
    pub fn plan(mut self, successes: &Successes) -> Plan {
        let mut decisions = vec![Decision::Skip; self.jobs.len()];
        let mut all_reasons = vec![Vec::new(); self.jobs.len()];
        for place in self.sequence.clone() {
            (decisions[place], all_reasons[place]) = self.decided(&self.jobs[place], &decisions, successes);
        }
        for ((sketch, decision), reasons) in self.jobs.iter_mut().zip(decisions).zip(all_reasons) {
            sketch.job.decision = decision;
            sketch.job.reasons = reasons;
        }
        let jobs = self.jobs.into_iter().map(|sketch| sketch.job).collect();
        Plan {
            base: self.base,
            source: self.source,
            concurrency: self.concurrency,
            fail_fast: self.fail_fast,
            jobs,
        }
    }

    /// The first reason is the one that decided.
    fn decided(
        &self,
        sketch: &Sketch,
        decisions: &[Decision],
        successes: &Successes,
    ) -> (Decision, Vec<Reason>) {
        let cause = self.cause(sketch);
        let (decision, mut reasons) = if !sketch.cause.runs() {
            (Decision::Skip, vec![cause])
        } else {
            match self.reusable(sketch, decisions, successes) {
                // That nobody named a base explains no reuse.
                Ok(success) if sketch.cause == Cause::NoBase => {
                    (Decision::Reuse, vec![reasons::reuse(success)])
                }
                Ok(success) => (Decision::Reuse, vec![reasons::reuse(success), cause]),
                Err(fresh) => {
                    let fresh = self.fresh(&fresh, decisions);
                    let both = if sketch.cause == Cause::NoBase {
                        vec![fresh, cause] // it says less than that the inputs are new
                    } else if fresh.rule == cause.rule {
                        vec![cause]
                    } else {
                        vec![cause, fresh]
                    };
                    (Decision::Run, both)
                }
            }
        };
        match sketch.selected {
            Selected::Named if sketch.cause != Cause::Named => reasons.push(reasons::named()),
            Selected::NeededBy(other) => reasons.push(reasons::needed_by(&self.jobs[other].job.name)),
            Selected::Named | Selected::Everything | Selected::No => {}
        }
        if let (Decision::Run, Some(rival)) = (decision, sketch.rival) {
            reasons.push(reasons::same_version(&self.jobs[rival].job.name));
        }
        match self.source {
            Source::Discovered => reasons.push(reasons::discovered()),
            Source::File | Source::Given => {}
        }
        (decision, reasons)
    }

    /// An earlier success counts only when nothing that the job needs runs anew: what that makes may differ.
    fn reusable<'a>(
        &self,
        sketch: &Sketch,
        decisions: &[Decision],
        successes: &'a Successes,
    ) -> Result<&'a Success, Fresh> {
        if self.no_reuse {
            return Err(Fresh::NotAllowed);
        }
        if sketch.job.effect_once {
            return Err(Fresh::EffectOnce);
        }
        let runs = |need: &&usize| decisions[**need] == Decision::Run || self.jobs[**need].keys.is_empty();
        if let Some(need) = sketch.needs.iter().find(runs) {
            return Err(Fresh::Need(*need));
        }
        sketch.keys.iter().find_map(|key| successes.get(key)).ok_or(Fresh::NewInputs)
    }

    fn cause(&self, sketch: &Sketch) -> Reason {
        let base = self.base.as_deref().unwrap_or_default();
        match &sketch.cause {
            Cause::NotSelected => reasons::not_selected(),
            Cause::Unchanged => reasons::unchanged(base),
            Cause::Changed(changes) => reasons::changed(base, changes),
            Cause::Need(need) => reasons::need_changed(base, &self.jobs[*need].job.name),
            Cause::Named => reasons::named(),
            Cause::All => reasons::all(),
            Cause::NoBase => reasons::no_base(),
            Cause::NoDifference { why } => reasons::no_difference(why),
        }
    }

    fn fresh(&self, fresh: &Fresh, decisions: &[Decision]) -> Reason {
        match fresh {
            Fresh::NotAllowed => reasons::no_reuse(),
            Fresh::EffectOnce => reasons::effect_once(),
            Fresh::Need(need) => {
                reasons::need_runs(&self.jobs[*need].job.name, decisions[*need] == Decision::Run)
            }
            Fresh::NewInputs => reasons::new_inputs(),
        }
    }
}
