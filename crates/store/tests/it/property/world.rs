//! From what was generated to commands: who exists is looked up, ids and secrets are minted from a counter.

use std::cmp::Reverse;
use std::time::Duration;

use decisions::deliveries::{ClaimDelivery, DeliveryDelivered, DeliveryDue, DeliveryFailed, RedriveDelivery};
use decisions::doctor::JobFile;
use decisions::failures::{ClassSet, FailureClass};
use decisions::jobs::{CancelJob, ReleaseDependents, RetryJob, SubmitJob};
use decisions::leases::{
    Ack, CancelAck, Commit, Complete, ExecutionDue, Heartbeat, Lease, RunnerGone, Wanted,
};
use decisions::logs::{AppendLog, ArchiveLog, Whole};
use decisions::records::{
    Concurrency, Delivery, Execution, Plan, PlanJob, Queue, QueueId, Run, Source, Token, TokenKind, Trust,
};
use decisions::runs::{
    CancelRun, CreateRun, PlanAccepted, PlanFailed, RerunRun, RunDue, RunOrigin, SweepRun,
};
use decisions::tenants::{CreateTenant, EnsureTenant, PutWebhook};
use decisions::tokens::{CreateToken, RevokeToken, TokenScope};
use decisions::{Command, Policy};
use machines::{attempt, delivery, job, lease, run};
use wire::api::{Decision, Reason};
use wire::runner::{CompleteStatus, Effect, Phase};
use wire::{BlobId, Digest, ExecId, JobId, LeaseKey, MessageId, RunId, RunnerId, TenantId, UploadId};

use crate::commands::{exec_id, job_id, lease_id, raw, run_id, runner, tenant, token, token_id};
use crate::desk::Contents;
use crate::property::generate::{
    DeliveryOp, JobOp, LeaseOp, LeaseWanted, Nth, Op, Pace, PlanOp, RunOp, TenantOp,
};

/// Short enough for a few ticks to pass them, in the proportions of the real ones.
pub fn policy(pace: Pace) -> Policy {
    let patient = Policy {
        lost_leases_max: 1,
        acks_missed_max: 2,
        attempts_max: 2,
        delivery_tries_max: 2,
        jobs_per_run_max: 4,
        log_head_bytes_max: 10,
        log_tail_bytes_max: 15,
        log_chunk_bytes_max: 12,
        ..Policy::default()
    };
    match pace {
        Pace::Patient => patient,
        Pace::Hasty => Policy {
            lease_ttl: Duration::ZERO,
            ack_timeout: Duration::ZERO,
            cancel_deadline: Duration::ZERO,
            plan_timeout: Duration::ZERO,
            run_timeout: Duration::ZERO,
            timeout_buffer: Duration::ZERO,
            runner_bar: Duration::ZERO,
            delivery_claim_ttl: Duration::ZERO,
            delivery_backoff_first: Duration::ZERO,
            delivery_tries_max: 1,
            ..patient
        },
    }
}

/// What exists, and the next number for what does not yet.
#[derive(Default)]
pub struct World {
    contents: Option<Contents>,
    /// Asked for within the batch that is being made up; each may or may not be granted.
    asked: Vec<(ExecId, RunnerId)>,
    number: u128,
}

/// A target that nothing has.
const NOWHERE: u128 = 1 << 100;

const TENANT_NAMES: [&str; 4] = ["default", "second", "Not A Label", ""];

fn whose(by_stranger: bool) -> TenantId {
    if by_stranger { TenantId::from_u128(NOWHERE) } else { tenant() }
}

fn capabilities(choice: u8) -> Vec<String> {
    [vec![], vec!["os:linux".to_owned()], vec!["os:linux".into(), "gpu".into()]][usize::from(choice) % 3]
        .clone()
}

fn queues(set: u8) -> Vec<QueueId> {
    let chosen = (0..3).filter(|kind| set & (1 << kind) != 0);
    chosen.map(|kind| Queue::for_requirements(tenant(), &capabilities(kind)).id).collect()
}

fn summary(choice: u8) -> &'static str {
    ["all well", "connection reset", "tests failed", "flaky größe 日本"][usize::from(choice) % 4]
}

/// The `n`th, those that fit first and among them the newest.
fn pick<'r, R>(records: impl Iterator<Item = &'r R>, nth: Nth, fits: impl Fn(&R) -> bool) -> Option<&'r R> {
    let mut records: Vec<&R> = records.collect();
    records.reverse();
    records.sort_by_key(|record| Reverse(fits(record)));
    records.get(usize::from(nth)).copied()
}

impl World {
    /// Looks at what the commands so far have made; a new batch begins.
    pub fn look(&mut self, contents: Contents) {
        self.contents = Some(contents);
        self.asked.clear();
    }

    fn contents(&self) -> &Contents {
        self.contents.as_ref().expect("the world was looked at")
    }

    fn next(&mut self) -> u128 {
        self.number += 1;
        self.number
    }

    fn run(&self, nth: Nth, fits: impl Fn(&Run) -> bool) -> RunId {
        let runs = self.contents().runs.iter().map(|file| &file.run);
        pick(runs, nth, fits).map_or(run_id(NOWHERE), |run| run.id)
    }

    fn job(&self, nth: Nth, fits: impl Fn(&JobFile) -> bool) -> JobId {
        pick(self.contents().jobs.iter(), nth, fits).map_or(job_id(NOWHERE), |file| file.job.id)
    }

    fn delivery(&self, nth: Nth, state: delivery::State) -> (MessageId, u32) {
        let found = pick(self.contents().deliveries.iter(), nth, |it: &Delivery| it.state.get() == state);
        found.map_or((MessageId::from_u128(NOWHERE), 1), |it| (it.id, it.claims))
    }

    /// Leases in this state first, then those that were asked for just now, then the others.
    fn lease(&self, nth: Nth, by_stranger: bool, state: lease::State) -> (LeaseKey, RunnerId) {
        let executions = self.contents().jobs.iter().flat_map(|file| &file.executions);
        let (known, others): (Vec<&Execution>, Vec<&Execution>) =
            executions.rev().partition(|it| it.lease.get() == state);
        let named = |it: &Execution| (it.id, it.runner.clone());
        let all = known.into_iter().map(named).chain(self.asked.iter().rev().cloned());
        let found = all.chain(others.into_iter().map(named)).nth(usize::from(nth));
        let (execution, owner) = found.unwrap_or((exec_id(NOWHERE), runner("r0")));
        let runner = if by_stranger { runner("stranger") } else { owner };
        (lease_id(execution.as_u128()).key(), runner)
    }

    pub fn command(&mut self, op: &Op) -> Command {
        match op {
            Op::Tenants(op) => self.tenant_command(op),
            Op::Runs(op) => self.run_command(op),
            Op::Jobs(op) => self.job_command(op),
            Op::Leases(op) => self.lease_command(op),
            Op::Deliveries(op) => self.delivery_command(op),
        }
    }

    fn tenant_command(&mut self, op: &TenantOp) -> Command {
        match op {
            TenantOp::Ensure { name } => {
                let id = TenantId::from_u128(1_000 + self.next());
                EnsureTenant { id, name: TENANT_NAMES[usize::from(*name) % 4].into() }.into()
            }
            TenantOp::Create { name, config } => {
                let id = TenantId::from_u128(1_000 + self.next());
                let desired_config = ["{}", " { } ", "{\"quota\":{}}"][usize::from(*config) % 3].into();
                CreateTenant { id, name: TENANT_NAMES[usize::from(*name) % 4].into(), desired_config }.into()
            }
            TenantOp::CreateToken { kind, by_stranger, shared } => {
                let number = self.next();
                let kind = TokenKind::ALL[usize::from(*kind) % 3];
                let tenant = (!shared).then_some(whose(*by_stranger));
                CreateToken { kind, tenant, ..token(number) }.into()
            }
            TenantOp::RevokeToken { token, scope } => {
                let is_good = |token: &Token| token.revoked_at.is_none();
                let found = pick(self.contents().tokens.iter(), *token, is_good);
                let id = found.map_or(token_id(NOWHERE), |token| token.id);
                let scopes = [
                    TokenScope::Any,
                    TokenScope::Shared,
                    TokenScope::Tenant(tenant()),
                    TokenScope::Tenant(whose(true)),
                ];
                RevokeToken { id, scope: scopes[usize::from(*scope) % 4] }.into()
            }
            TenantOp::PutWebhook { by_stranger, name, events } => {
                let known = ["run.finished", "job.finished"];
                let events = known.iter().enumerate().filter(|(index, _)| events & (1 << index) != 0);
                let events = events.map(|(_, event)| (*event).to_owned()).collect();
                let (name, url) = (format!("hook-{name}"), format!("https://example.org/{name}"));
                // Every second one is in order, whether it was or not.
                let ordered = name.ends_with('1');
                let secret = "a secret of some length".to_owned().into();
                PutWebhook { tenant: whose(*by_stranger), name, url, events, secret, ordered }.into()
            }
        }
    }

    fn run_command(&mut self, op: &RunOp) -> Command {
        let is_open = |run: &Run| !run.is_over();
        let is_planning = |run: &Run| run.state.get() == run::State::Planning;
        match op {
            RunOp::Create { by_stranger, key, fail_fast, plan } => {
                self.create_run(*by_stranger, *key, *fail_fast, plan.as_ref()).into()
            }
            RunOp::PlanAccepted { run, plan } => {
                PlanAccepted { run: self.run(*run, is_planning), plan: plan_of(plan) }.into()
            }
            RunOp::PlanFailed { run, message } => {
                PlanFailed { run: self.run(*run, is_planning), message: summary(*message).into() }.into()
            }
            RunOp::Cancel { run, by_stranger } => {
                let reason = "enough".into();
                CancelRun { tenant: whose(*by_stranger), run: self.run(*run, is_open), reason }.into()
            }
            RunOp::Rerun { of, failed_only } => {
                let (id, of) = (run_id(self.next()), self.run(*of, Run::is_over));
                RerunRun { id, tenant: tenant(), of, failed_only: *failed_only }.into()
            }
            RunOp::Due { run } => RunDue { run: self.run(*run, is_open) }.into(),
            RunOp::Sweep { run } => SweepRun { run: self.run(*run, |run| run.sweep.is_some()) }.into(),
        }
    }

    fn create_run(
        &mut self,
        by_stranger: bool,
        key: Option<u8>,
        fail_fast: bool,
        plan: Option<&PlanOp>,
    ) -> CreateRun {
        let origin = RunOrigin {
            repository: key.map(|key| format!("repository-{key}")),
            git_ref: fail_fast.then(|| "refs/heads/größe".into()),
            commit: None,
            base: Some(String::new()),
        };
        CreateRun {
            id: run_id(self.next()),
            tenant: whose(by_stranger),
            trigger_key: key.map(|key| format!("push-{key}")),
            origin,
            trust: if fail_fast { Trust::Untrusted } else { Trust::Trusted },
            fail_fast,
            plan: plan.map(plan_of),
        }
    }

    fn job_command(&mut self, op: &JobOp) -> Command {
        let is_open =
            |id: RunId| self.contents().runs.iter().any(|it| it.run.id == id && !it.run.is_stopping());
        let may_retry = |file: &JobFile| {
            matches!(file.job.state, job::State::Failed | job::State::Canceled)
                && file.job.run.is_none_or(is_open)
        };
        match op {
            JobOp::Submit { by_stranger, key, payload, like } => SubmitJob {
                id: job_id(self.next()),
                tenant: whose(*by_stranger),
                key: key.map(|key| if key == 3 { "a/b".into() } else { format!("key-{key}") }),
                payload: raw(&format!("{{\"version\": {payload}}}")),
                runs_on: capabilities(like.runs_on),
                priority: like.priority,
                attempts_max: like.attempts_max,
                timeout_seconds: like.timeout_seconds,
                effect_once: like.effect_once,
            }
            .into(),
            JobOp::Cancel { job, by_stranger } => {
                let job = self.job(*job, |file| !file.job.state.is_over());
                CancelJob { tenant: whose(*by_stranger), job }.into()
            }
            JobOp::Retry { job, by_stranger } => {
                RetryJob { tenant: whose(*by_stranger), job: self.job(*job, may_retry) }.into()
            }
            JobOp::Release { job } => {
                ReleaseDependents { job: self.job(*job, |file| file.job.releasing) }.into()
            }
        }
    }

    fn lease_command(&mut self, op: &LeaseOp) -> Command {
        match op {
            LeaseOp::Lease { runner, wanted } => self.ask_for_lease(*runner, wanted).into(),
            LeaseOp::Ack { lease, by_stranger } => {
                let (lease, runner) = self.lease(*lease, *by_stranger, lease::State::Granted);
                Ack { lease, runner }.into()
            }
            LeaseOp::Heartbeat { lease, by_stranger, phase } => {
                let (lease, runner) = self.lease(*lease, *by_stranger, lease::State::Active);
                let phase = phase.map(|uploads| if uploads { Phase::Uploading } else { Phase::Running });
                Heartbeat { lease, runner, phase }.into()
            }
            LeaseOp::Commit { lease, by_stranger, effects } => {
                let (lease, runner) = self.lease(*lease, *by_stranger, lease::State::Active);
                Commit { lease, runner, effects: effects_of(*effects) }.into()
            }
            LeaseOp::Complete { lease, by_stranger, succeeded, summary: choice } => {
                let (lease, runner) = self.lease(*lease, *by_stranger, lease::State::Active);
                let status = if *succeeded { CompleteStatus::Succeeded } else { CompleteStatus::Failed };
                let (exit_code, summary) = (i32::from(!*succeeded), summary(*choice).into());
                Complete {
                    lease,
                    runner,
                    status,
                    exit_code,
                    summary,
                    artifacts: "[]".into(),
                    stored: None,
                    saves: None,
                }
                .into()
            }
            LeaseOp::CancelAck { lease, by_stranger } => {
                let (lease, runner) = self.lease(*lease, *by_stranger, lease::State::Active);
                CancelAck { lease, runner, summary: "stopped".into(), artifacts: String::new() }.into()
            }
            LeaseOp::Append { lease, off_by, bytes } => {
                let (lease, _) = self.lease(*lease, false, lease::State::Active);
                let log = self.contents().logs.iter().find(|(log, _)| log.execution == lease.execution);
                let received = log.map_or(0, |(log, _)| log.received);
                let bytes = (0..*bytes).map(|place| received as u8 + place).collect();
                AppendLog { lease, offset: received.saturating_add_signed((*off_by).into()), bytes }.into()
            }
            LeaseOp::Archive { lease, placed } => {
                let (lease, _) = self.lease(*lease, false, lease::State::Completed);
                self.archive(lease.execution, *placed).into()
            }
            LeaseOp::Gone { lease } => {
                let (lease, _) = self.lease(*lease, false, lease::State::Active);
                RunnerGone { execution: lease.execution }.into()
            }
            LeaseOp::Due { lease } => {
                let (lease, _) = self.lease(*lease, false, lease::State::Active);
                ExecutionDue { execution: lease.execution }.into()
            }
        }
    }

    /// Logs of the same length have the same bytes.
    fn archive(&self, execution: ExecId, placed: bool) -> ArchiveLog {
        let known = self.contents().logs.iter().find(|(log, _)| log.execution == execution);
        let (head, received, chunks) =
            known.map_or((0, 0, &[][..]), |(log, chunks)| (log.head, log.received, chunks));
        let tail_from = chunks.iter().map(|chunk| chunk.offset).find(|offset| *offset >= head);
        let tail_from = tail_from.unwrap_or(head);
        let length = head + received.saturating_sub(tail_from);
        let whole = Whole { digest: Digest::from_bytes([length as u8; 32]), length, tail_from };
        let (upload, blob) =
            (UploadId::from_u128(execution.as_u128()), BlobId::from_u128(execution.as_u128()));
        ArchiveLog { execution, tenant: tenant(), whole, upload, blob, placed }
    }

    fn ask_for_lease(&mut self, name: u8, wanted: &LeaseWanted) -> Lease {
        let is_queued =
            |file: &JobFile| file.attempts.last().is_some_and(|it| it.state.get() == attempt::State::Queued);
        let number = self.next();
        let lease = Lease {
            runner: runner(&format!("r{name}")),
            tenant: (name == 0).then(tenant), // one of the tenant's own, and others that all share
            capabilities: vec![],
            wanted: match wanted {
                LeaseWanted::Any(set) => Wanted::Any(queues(*set)),
                LeaseWanted::Job(nth) => Wanted::Job(self.job(*nth, is_queued)),
            },
            execution: exec_id(number),
            lease: lease_id(number),
        };
        self.asked.push((lease.execution, lease.runner.clone()));
        lease
    }

    fn delivery_command(&mut self, op: &DeliveryOp) -> Command {
        let claim = |newest: u32, late: bool| if late { newest.saturating_sub(1) } else { newest };
        match op {
            DeliveryOp::Claim { delivery } => {
                ClaimDelivery { delivery: self.delivery(*delivery, delivery::State::Pending).0 }.into()
            }
            DeliveryOp::Delivered { delivery, late } => {
                let (delivery, known) = self.delivery(*delivery, delivery::State::Delivering);
                DeliveryDelivered { delivery, claim: claim(known, *late) }.into()
            }
            DeliveryOp::Failed { delivery, late } => {
                let (delivery, known) = self.delivery(*delivery, delivery::State::Delivering);
                let error = "connection refused: größe".into();
                DeliveryFailed { delivery, claim: claim(known, *late), error, jitter: 0.5 }.into()
            }
            DeliveryOp::Due { delivery } => {
                let (delivery, _) = self.delivery(*delivery, delivery::State::Delivering);
                DeliveryDue { delivery, jitter: 1.0 }.into()
            }
            DeliveryOp::Redrive { delivery } => {
                RedriveDelivery { delivery: self.delivery(*delivery, delivery::State::DeadLetter).0 }.into()
            }
        }
    }
}

fn effects_of(choice: u8) -> Vec<Effect> {
    let result = Effect::Result { value: serde_json::json!({ "größe": choice }) };
    let webhook =
        Effect::Webhook { url: "https://example.org/effect".into(), body: serde_json::json!([1.5, null]) };
    [vec![], vec![result.clone()], vec![webhook.clone(), result], vec![webhook]][usize::from(choice) % 4]
        .clone()
}

/// Usually sound: a job needs only jobs before it. Sometimes it needs itself or nobody.
fn plan_of(PlanOp { jobs, group, supersede }: &PlanOp) -> Plan {
    let jobs = jobs.iter().enumerate().map(|(index, planned)| {
        let before = (0..index).filter(|before| planned.needs & (1 << before) != 0);
        let mut needs: Vec<String> = before.map(|before| format!("job-{before}")).collect();
        if planned.needs > 252 {
            needs.push(format!("job-{}", if planned.needs % 2 == 0 { index } else { 99 }));
        }
        let (decision, reasons) = decision_of(planned.decision);
        PlanJob {
            decision,
            reasons,
            input_key: planned.input_key.map(input_key),
            needs,
            required: planned.required,
            effect_once: planned.effect_once,
            priority: planned.priority,
            runs_on: capabilities(planned.runs_on),
            attempts_max: planned.attempts_max,
            retry_on: planned
                .retry_timeouts
                .then(|| ClassSet::of(&[FailureClass::Timeout, FailureClass::Infra])),
            timeout_seconds: planned.timeout_seconds,
            ..PlanJob::plain(format!("job-{index}"), raw(&format!("{{\"name\": \"job-{index}\"}}")))
        }
    });
    let group = group.map(|group| format!("group-{group}"));
    let concurrency = group.map(|group| Concurrency { group, cancel: *supersede });
    Plan {
        base: Some("c0ffee".into()),
        source: Source::File,
        concurrency,
        fail_fast: true,
        jobs: jobs.collect(),
    }
}

fn decision_of(choice: u8) -> (Decision, Vec<Reason>) {
    let because = |rule: &str| Reason { rule: rule.into(), detail: "größe".into(), ..Reason::default() };
    match choice {
        1 => (Decision::Skip, vec![because("unchanged")]),
        2 => {
            let (run, job) = (Some(run_id(1)), Some(job_id(1)));
            (Decision::Reuse, vec![Reason { run, job, ..because("reuse") }])
        }
        3 => (Decision::Reuse, vec![because("reuse")]),
        _ => (Decision::Run, vec![because("changed")]),
    }
}

pub fn input_key(choice: u8) -> Digest {
    Digest::from_bytes([choice; 32])
}
