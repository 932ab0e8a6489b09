//! Make a job and its first attempt; queue it if it waits for nothing.

use std::sync::Arc;
use std::time::Duration;

use machines::job;
use sha2::{Digest, Sha256};
use wire::{JobId, RunId, TenantId};

use crate::draft::{Hint, Stated};
use crate::failures::ClassSet;
use crate::records::{Attempt, AttemptKey, Job, PlanJob, Queue};
use crate::{Draft, Refusal};

pub struct NewJob<'a> {
    pub id: JobId,
    pub tenant: TenantId,
    pub run: Option<RunId>,
    pub key: Option<String>,
    /// Needed jobs that have to succeed first.
    pub needs_open: u32,
    pub has_dependents: bool,
    pub plan: &'a PlanJob,
}

const ATTEMPTS_MAX: u32 = 100;

pub fn make_job(draft: &mut Draft<'_>, new: NewJob<'_>) -> Result<(), Refusal> {
    let NewJob { id, tenant, run, key, needs_open, has_dependents, plan } = new;
    let (timeout, attempts_max) = check_bounds(draft, plan)?;
    let queue = Queue::for_requirements(tenant, &plan.runs_on);
    let spec: Arc<str> = plan.spec.get().into();
    let mut attempt = first_attempt(draft, AttemptKey { job: id, index: 1 }, &queue, plan.priority);
    draft.born(&attempt, "the job was made");
    if needs_open == 0 {
        enqueue(draft, &mut attempt, "it waits for nothing");
    }
    draft.put(Job {
        id,
        tenant,
        run,
        name: plan.name.clone(),
        key,
        state: job::State::Pending,
        required: plan.required,
        effect_once: plan.effect_once,
        priority: plan.priority,
        queue: queue.id,
        attempts: 1,
        attempts_max,
        retry_on: plan.retry_on.unwrap_or_else(ClassSet::usual),
        timeout,
        tokens: 0,
        needs_open,
        has_dependents,
        counted_failed: false,
        releasing: false,
        released_to: None,
        spec_digest: Sha256::digest(spec.as_bytes()).into(),
        input_key: plan.input_key,
        reusable: false,
        free_at: None,
        created_at: draft.now,
        updated_at: draft.now,
    });
    draft.put(attempt);
    draft.put(queue);
    draft.changes.appended.specs.push((id, spec));
    Ok(())
}

fn check_bounds(draft: &Draft<'_>, plan: &PlanJob) -> Result<(Duration, u32), Refusal> {
    let policy = draft.policy;
    let invalid = |field, problem| Err(Refusal::InvalidInput { field, problem });
    if plan.spec.get().len() > policy.spec_bytes_max {
        return invalid(
            "spec",
            format!("larger than {} bytes; store the data elsewhere", policy.spec_bytes_max),
        );
    }
    let attempts_max = plan.attempts_max.unwrap_or(policy.attempts_max);
    if !(1..=ATTEMPTS_MAX).contains(&attempts_max) {
        return invalid("max_attempts", format!("expected 1 to {ATTEMPTS_MAX}"));
    }
    match plan.timeout_seconds {
        None => Ok((policy.job_timeout, attempts_max)),
        Some(seconds) if seconds > 0.0 && seconds <= 1e8 => {
            // In the stores' resolution, so that what was decided is what is read.
            let micros = (seconds * 1e6).round().max(1.0) as u64;
            Ok((Duration::from_micros(micros), attempts_max))
        }
        Some(_) => invalid("timeout_seconds", "expected more than 0 and at most 100000000".into()),
    }
}

fn first_attempt(draft: &Draft<'_>, key: AttemptKey, queue: &Queue, priority: i32) -> Attempt {
    Attempt {
        key,
        state: Stated::initial(),
        queue: queue.id,
        priority,
        since: draft.now,
        lost_leases: 0,
        execution: None,
        failure_class: None,
        explanation: String::new(),
        created_at: draft.now,
        updated_at: draft.now,
        finished_at: None,
    }
}

/// `CREATED → QUEUED`; whoever waits for work is woken.
pub fn enqueue(draft: &mut Draft<'_>, attempt: &mut Attempt, cause: &'static str) {
    draft.advance(attempt, machines::attempt::Event::Enqueue, cause);
    attempt.updated_at = draft.now;
    draft.hint(Hint::Ready(attempt.queue));
}
