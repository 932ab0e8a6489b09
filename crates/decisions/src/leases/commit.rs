//! Commit: the only door for a job's effects. At most one execution of a job passes it, ever.

use machines::execution;
use wire::runner::Effect;
use wire::{LeaseKey, RunnerId};

use crate::leases::fence::{execution_of, family_of, require_active};
use crate::records::{EffectRow, Execution, Job};
use crate::tenants::{News, send};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct Commit {
    pub lease: LeaseKey,
    pub runner: RunnerId,
    pub effects: Vec<Effect>,
}

const EFFECTS_MAX: usize = 100;

impl Decide for Commit {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Execution(self.lease.execution));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut execution = execution_of(draft, self.lease, &self.runner)?;
        if execution.commit_said {
            return Ok(Answer::Committed { duplicate: false }); // said twice: the first time counts
        }
        require_active(&execution, draft.now)?;
        let family = family_of(draft, &execution);
        family.require_open_run()?;
        if family.is_canceled() {
            return Err(Refusal::CancelRequested);
        }
        if self.effects.len() > EFFECTS_MAX {
            let problem = format!("{} effects; at most {EFFECTS_MAX}", self.effects.len());
            return Err(Refusal::InvalidInput { field: "effects", problem });
        }
        draft.advance(&mut execution, execution::Event::Commit, "Commit");
        execution.commit_said = true;
        self.apply_effects(draft, &execution);
        draft.put(execution);
        Ok(Answer::Committed { duplicate: false })
    }
}

impl Commit {
    fn apply_effects(&self, draft: &mut Draft<'_>, execution: &Execution) {
        let job: Job = draft.copy(&execution.job());
        for (position, effect) in self.effects.iter().enumerate() {
            let kind = match effect {
                Effect::Result { .. } => "result",
                Effect::Webhook { url, body } => {
                    let news = News {
                        tenant: job.tenant,
                        event: "job.effect",
                        subject: job.id.to_string(),
                        body,
                        reports: None,
                    };
                    send(draft, &news, &position.to_string(), url.clone());
                    "webhook"
                }
            };
            draft.changes.appended.effects.push(EffectRow {
                job: job.id,
                execution: execution.id,
                position: position as u32,
                kind,
                body: serde_json::to_string(effect).expect("an effect is plain data"),
            });
        }
    }
}
