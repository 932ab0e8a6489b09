//! The doctor: every invariant that can be read off stored records, checked by the same functions that made them.
//!
//! Pure: a store hands over files, page by page; findings come back in words.

mod logs;
mod plans;
mod runs;
mod steps;

use std::sync::Arc;

use machines::{Machine, attempt, execution, lease};
use wire::JobId;

use crate::records::job::derived_state;
use crate::records::{
    Attempt, Blob, Delivery, EffectRow, Event, Execution, Group, Job, ReadyKey, Run, Usage,
};
pub use logs::{LogFile, check_log_file};
use plans::check_reuse;
pub use runs::check_run;
pub use steps::{Logged, StepsFile, check_steps, replay};
use steps::{States, check_log};

/// A job with everything filed under it.
#[derive(Debug, Clone, PartialEq)]
pub struct JobFile {
    pub job: Job,
    /// In order of their index.
    pub attempts: Vec<Attempt>,
    /// In order of their token.
    pub executions: Vec<Execution>,
    /// Entries of the queue, of any attempt.
    pub ready: Vec<ReadyKey>,
    pub effects: Vec<EffectRow>,
    /// In order of their number.
    pub events: Vec<Event>,
}

/// A run with its jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFile {
    pub run: Run,
    pub jobs: Vec<Job>,
    /// Which of them needs which: (needed, dependent).
    pub needs: Vec<(JobId, JobId)>,
    /// As it is stored.
    pub plan: Option<Arc<str>>,
    /// The concurrency group that it is found in.
    pub group: Option<Group>,
    pub events: Vec<Event>,
    /// Messages about the run's end that are still on their way.
    pub reports_open: u32,
}

/// A blob with what holds it, counted anew.
#[derive(Debug, Clone, PartialEq)]
pub struct BlobFile {
    pub blob: Blob,
    /// Entries of versions that are not purged, and artifacts of bundles and caches that are not dropped, and logs.
    pub refs: u64,
    /// How many bytes of it lie among the records; `None` if none was put there.
    pub inline_bytes: Option<u64>,
    pub events: Vec<Event>,
}

/// What a tenant is said to have, with what it has, counted anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageFile {
    pub usage: Usage,
    pub bytes: u64,
    pub blobs: u64,
}

/// What the doctor goes through, each kind in the order of its ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Examined {
    Jobs,
    Runs,
    Deliveries,
    Blobs,
    Logs,
    /// By tenant.
    Usages,
    Steps(Logged),
}

impl Examined {
    pub fn table(self) -> &'static str {
        match self {
            Examined::Jobs => "jobs",
            Examined::Runs => "runs",
            Examined::Deliveries => "deliveries",
            Examined::Blobs => "blobs",
            Examined::Logs => "logs",
            Examined::Usages => "tenants",
            Examined::Steps(of) => of.table(),
        }
    }

    /// The column of its ids.
    pub fn key(self) -> &'static str {
        match self {
            Examined::Logs => "exec_id",
            Examined::Jobs | Examined::Runs | Examined::Deliveries => "id",
            Examined::Blobs | Examined::Usages | Examined::Steps(_) => "id",
        }
    }
}

/// One invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The invariant, as numbered in `docs/invariants.md`.
    pub invariant: &'static str,
    pub entity: String,
    pub problem: String,
}

pub fn check_job(file: &JobFile) -> Vec<Finding> {
    let mut findings = Findings { entity: file.job.id.to_string(), found: Vec::new() };
    check_projection(file, &mut findings);
    check_attempts(file, &mut findings);
    check_executions(file, &mut findings);
    check_queue(file, &mut findings);
    check_reuse(file, &mut findings);
    check_log(&job_states(file), &file.events, &mut findings);
    findings.found
}

/// A delivery agrees with itself: what waits is due, what ended is not.
pub fn check_delivery(delivery: &Delivery) -> Vec<Finding> {
    use machines::delivery::State;
    let mut findings = Findings { entity: delivery.id.to_string(), found: Vec::new() };
    let waits = match delivery.state.get() {
        State::Pending | State::Delivering | State::RetryWait => true,
        State::Delivered | State::DeadLetter => false,
    };
    findings.equal("I15", "is due", delivery.due_at.is_some(), waits);
    let delivered = delivery.state.get() == State::Delivered;
    findings.equal("I15", "has delivered_at", delivery.delivered_at.is_some(), delivered);
    findings.found
}

pub fn check_usage(file: &UsageFile) -> Vec<Finding> {
    let mut findings = Findings { entity: file.usage.tenant.to_string(), found: Vec::new() };
    findings.equal("I17", "bytes it has", file.usage.bytes, file.bytes);
    findings.equal("I17", "blobs it has", file.usage.blobs, file.blobs);
    findings.found
}

struct Findings {
    entity: String,
    found: Vec<Finding>,
}

impl Findings {
    fn add(&mut self, invariant: &'static str, problem: String) {
        self.found.push(Finding { invariant, entity: self.entity.clone(), problem });
    }

    fn equal<T: PartialEq + std::fmt::Debug>(
        &mut self,
        invariant: &'static str,
        what: &str,
        stored: T,
        computed: T,
    ) {
        if stored != computed {
            self.add(invariant, format!("{what}: stored {stored:?}, computed {computed:?}"));
        }
    }
}

fn check_projection(file: &JobFile, findings: &mut Findings) {
    let Some(latest) = file.attempts.last() else {
        return findings.add("I8", "the job has no attempt".into());
    };
    let statuses = file.executions.iter().map(|execution| execution.status.get());
    findings.equal("I8", "state", file.job.state, derived_state(latest.state.get(), statuses));
    findings.equal("I7", "attempts", file.job.attempts, file.attempts.len() as u32);
    findings.equal("I7", "tokens", file.job.tokens, file.executions.len() as u32);
}

fn check_attempts(file: &JobFile, findings: &mut Findings) {
    for (position, attempt) in file.attempts.iter().enumerate() {
        findings.equal("I7", "attempt index", attempt.key.index, position as u32 + 1);
        let is_latest = position + 1 == file.attempts.len();
        if !is_latest && !attempt.state.get().is_final() {
            findings.add("I11", format!("attempt {} is open, but a later one exists", attempt.key.index));
        }
        if !is_latest && attempt.state.get() == attempt::State::Succeeded {
            findings.add("I11", format!("attempt {} succeeded, but a later one exists", attempt.key.index));
        }
    }
    if file.job.attempts > file.job.attempts_max {
        findings.add("I11", format!("{} attempts of {}", file.job.attempts, file.job.attempts_max));
    }
}

fn check_executions(file: &JobFile, findings: &mut Findings) {
    let committed = file.executions.iter().filter(|execution| execution.status.get().has_committed());
    if committed.clone().count() > 1 {
        findings.add("I4", "more than one execution has committed".into());
    }
    let live = file.executions.iter().filter(|execution| execution.lease.get().is_live());
    if live.clone().count() > 1 {
        findings.add("I2", "more than one lease is live".into());
    }
    for (position, execution) in file.executions.iter().enumerate() {
        findings.equal("I2", "token", execution.token, position as u32 + 1);
        let live = execution.lease.get().is_live();
        let unheard = execution.lease.get() == lease::State::Revoked
            && execution.due_at.is_some_and(|due_at| due_at == execution.expires_at);
        findings.equal("I9", "a live lease has a deadline", execution.due_at.is_some(), live || unheard);
        findings.equal("I2", "a live lease has not finished", execution.finished_at.is_none(), live);
        if live && execution.due_at.is_some_and(|due_at| due_at > execution.deadline()) {
            findings.add("I9", format!("{} is looked at after its deadline", execution.id));
        }
        let ended = execution.status.get().is_final();
        if ended == execution.lease.get().is_live() && execution.status.get() != execution::State::Committed {
            findings
                .add("I1", format!("{}: the lease and the execution disagree about its end", execution.id));
        }
    }
    for effect in &file.effects {
        let by_committed = committed.clone().any(|execution| execution.id == effect.execution);
        if !by_committed {
            findings.add("I4", format!("an effect of {}, which has not committed", effect.execution));
        }
    }
    check_lease_against_attempt(file, findings);
    check_wait(file, findings);
}

/// An attempt that waits for no other job waits for the end of a lease that was taken away, and a tick looks at that.
fn check_wait(file: &JobFile, findings: &mut Findings) {
    let waits = file.attempts.last().is_some_and(|latest| latest.state.get() == attempt::State::Created);
    let unheard = file
        .executions
        .iter()
        .filter(|execution| !execution.lease.get().is_live())
        .filter_map(|execution| execution.due_at)
        .max();
    if waits && file.job.needs_open == 0 && unheard.is_none() {
        findings.add("I9", "it waits for nothing and is in no queue".into());
    }
    findings.equal("I9", "free_at", file.job.free_at, unheard);
}

fn check_lease_against_attempt(file: &JobFile, findings: &mut Findings) {
    let Some(latest) = file.attempts.last() else { return };
    let leased = match latest.state.get() {
        attempt::State::Leased
        | attempt::State::Starting
        | attempt::State::Running
        | attempt::State::Uploading
        | attempt::State::CancelRequested => true,
        attempt::State::Created
        | attempt::State::Queued
        | attempt::State::Succeeded
        | attempt::State::Failed
        | attempt::State::Canceled
        | attempt::State::TimedOut
        | attempt::State::Stale => false,
    };
    let live = file.executions.iter().find(|execution| execution.lease.get().is_live());
    findings.equal("I2", "the latest attempt is leased", leased, live.is_some());
    if let Some(live) = live {
        findings.equal("I2", "the lease is the latest attempt's", latest.execution, Some(live.id));
        let granted = live.lease.get() == lease::State::Granted;
        findings.equal("I1", "unacknowledged", granted, latest.state.get() == attempt::State::Leased);
    }
    let succeeded = latest.state.get() == attempt::State::Succeeded;
    let done = file.executions.iter().any(|execution| execution.status.get() == execution::State::Done);
    findings.equal("I4", "succeeded by a commit", succeeded, done);
}

fn check_queue(file: &JobFile, findings: &mut Findings) {
    let should: Vec<ReadyKey> = file.attempts.iter().filter_map(Attempt::ready_key).collect();
    findings.equal("I27", "queue entries", &file.ready, &should);
}

fn job_states(file: &JobFile) -> States<'static> {
    let mut states = States::new();
    for attempt in &file.attempts {
        states.insert(("attempt", attempt.key.to_string()), attempt.state.get().as_str());
    }
    for execution in &file.executions {
        states.insert(("lease", execution.id.to_string()), execution.lease.get().as_str());
        states.insert(("execution", execution.id.to_string()), execution.status.get().as_str());
    }
    states
}

/// A blob's counter is its references, its state is what the log says, and nothing was claimed that something holds.
pub fn check_blob(file: &BlobFile) -> Vec<Finding> {
    let blob = &file.blob;
    let mut findings = Findings { entity: blob.id.to_string(), found: Vec::new() };
    if blob.refs != file.refs {
        findings.add("A1", format!("it counts {} references, {} are there", blob.refs, file.refs));
    }
    let kept = blob.inline && blob.state.get() != machines::blob::State::Deleted;
    findings.equal("A1", "bytes among the records", file.inline_bytes, kept.then_some(blob.length));
    if !blob.is_here() && file.refs > 0 {
        findings.add("A3", format!("it was claimed, and {} references hold it", file.refs));
    }
    if blob.claimed_by.is_some() && blob.unmarked_by.is_none() {
        findings.add("A2", "it was claimed by a collection that had not looked at it".into());
    }
    let states = States::from([(("blob", blob.id.to_string()), blob.state.get().as_str())]);
    check_log(&states, &file.events, &mut findings);
    findings.found
}
