//! Submit a standalone job. The same id and payload again is the same job.

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use wire::{JobId, TenantId};

use crate::jobs::{NewJob, make_job};
use crate::records::{Job, PlanJob};
use crate::tenants::require_ready;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct SubmitJob {
    pub id: JobId,
    pub tenant: TenantId,
    /// The submitter's own id for the job.
    pub key: Option<String>,
    pub payload: Box<RawValue>,
    pub runs_on: Vec<String>,
    pub priority: i32,
    pub attempts_max: Option<u32>,
    pub timeout_seconds: Option<f64>,
    pub effect_once: bool,
}

const KEY_LENGTH_MAX: usize = 128;

impl Decide for SubmitJob {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Tenant(self.tenant));
        match &self.key {
            Some(key) => asks.push(Ask::JobKey(self.tenant, key.clone())),
            None => asks.push(Ask::NewJob(self.id)),
        }
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        require_ready(draft, self.tenant)?;
        let spec = self.spec()?;
        if let Some(known) = self.known(draft) {
            let same = known.spec_digest == <[u8; 32]>::from(Sha256::digest(spec.get().as_bytes()));
            let existing = Answer::JobSubmitted { job: known.id, existing: true };
            return if same { Ok(existing) } else { Err(Refusal::JobConflict) };
        }
        let plan = PlanJob {
            effect_once: self.effect_once,
            priority: self.priority,
            runs_on: self.runs_on.clone(),
            attempts_max: self.attempts_max,
            timeout_seconds: self.timeout_seconds,
            ..PlanJob::plain(self.name(), spec)
        };
        let new = NewJob {
            id: self.id,
            tenant: self.tenant,
            run: None,
            key: self.key.clone(),
            needs_open: 0,
            has_dependents: false,
            plan: &plan,
        };
        make_job(draft, new)?;
        Ok(Answer::JobSubmitted { job: self.id, existing: false })
    }
}

impl SubmitJob {
    fn name(&self) -> String {
        self.key.clone().unwrap_or_else(|| self.id.to_string())
    }

    /// What the runner gets: the job's public id as its name, and the payload as it came.
    fn spec(&self) -> Result<Box<RawValue>, Refusal> {
        if let Some(key) = &self.key {
            let fits =
                (1..=KEY_LENGTH_MAX).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
            if !fits || key.contains('/') {
                let problem =
                    format!("expected 1 to {KEY_LENGTH_MAX} printable ASCII characters, no space, no `/`");
                return Err(Refusal::InvalidInput { field: "job_id", problem });
            }
        }
        let name = serde_json::to_string(&self.name()).expect("a string is JSON");
        let spec = format!("{{\"name\":{name},\"payload\":{}}}", self.payload.get());
        Ok(RawValue::from_string(spec).expect("two pieces of JSON in an object are JSON"))
    }

    fn known<'d>(&self, draft: &'d Draft<'_>) -> Option<&'d Job> {
        match &self.key {
            Some(key) => {
                let id = draft.book().job_keys.get(&(self.tenant, key.clone()))?;
                draft.get(id)
            }
            None => draft.get(&self.id),
        }
    }
}
