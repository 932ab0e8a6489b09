//! The steps of a script: a line's words become a command.

use decisions::Command;
use decisions::deliveries::{ClaimDelivery, DeliveryDelivered, DeliveryDue, DeliveryFailed, RedriveDelivery};
use decisions::jobs::{CancelJob, ReleaseDependents, RetryJob, SubmitJob};
use decisions::leases::{
    Ack, CancelAck, Commit, Complete, ExecutionDue, Heartbeat, Lease, RunnerGone, Wanted,
};
use decisions::logs::{AppendLog, ArchiveLog, Whole};
use decisions::records::{Plan, TokenKind, Trust};
use decisions::runs::{
    CancelRun, CreateRun, PlanAccepted, PlanFailed, RerunRun, RunDue, RunOrigin, SweepRun,
};
use decisions::tenants::{CreateTenant, EnsureTenant, PutWebhook, RemoveWebhook};
use decisions::tokens::{CreateToken, RevokeToken, TokenScope};
use serde_json::json;
use serde_json::value::to_raw_value;
use sha2::{Digest as _, Sha256};
use store::Store;
use wire::runner::{CompleteStatus, Effect, Phase};
use wire::{
    BlobId, Digest, ExecId, JobId, LeaseId, MessageId, RunId, RunnerId, TenantId, TokenId, TokenSecret,
    UploadId,
};

use crate::plans::plan;
use crate::words::Words;
use crate::world::{BEGIN, LeaseName, Named, World};

type Said<T> = Result<T, String>;

impl<S: Store> World<S> {
    /// The command that a line stands for; names that it introduces are bound.
    pub async fn command(&mut self, verb: &str, words: &Words<'_>) -> Said<Command> {
        Ok(match verb {
            "tenant" => {
                EnsureTenant { id: TenantId::minted(self.now, self.random()), name: words.at(0)?.into() }
                    .into()
            }
            "create-tenant" => CreateTenant {
                id: TenantId::minted(self.now, self.random()),
                name: words.at(0)?.into(),
                desired_config: words.option("config").unwrap_or("{}").into(),
            }
            .into(),
            "token" => self.token(words)?.into(),
            "revoke" => {
                RevokeToken { id: self.token_named(words.at(0)?), scope: self.scope_of(words) }.into()
            }
            "submit" => self.submit(words)?.into(),
            "create" => self.create_run(words, None)?.into(),
            "run" => self.create_run(words, Some(plan(words)?))?.into(),
            "plan" => PlanAccepted { run: self.run_named(words.at(0)?)?, plan: plan(words)? }.into(),
            "plan-failed" => PlanFailed { run: self.run_named(words.at(0)?)?, message: words.rest(1) }.into(),
            "rerun" => self.rerun(words)?.into(),
            "cancel" => self.cancel(words)?,
            "retry" => RetryJob { tenant: self.tenant_of(words), job: self.job_named(words.at(0)?)? }.into(),
            "grant" => self.grant(words).await?.into(),
            "ack" | "heartbeat" | "commit" | "complete" | "cancel-ack" | "log" => {
                self.runner_says(verb, words)?
            }
            "archive" => self.archive(words).await?.into(),
            "webhook" => PutWebhook {
                tenant: self.tenant_of(words),
                name: words.at(0)?.into(),
                url: format!("https://example.com/{}", words.at(0)?),
                events: words.plain[1..].iter().map(|event| event.to_string()).collect(),
                secret: "a secret of some length".to_owned().into(),
                ordered: words.option("ordered") == Some("yes"),
            }
            .into(),
            "webhook-remove" => {
                RemoveWebhook { tenant: self.tenant_of(words), name: words.at(0)?.into() }.into()
            }
            "claim" | "delivered" | "failed" | "redrive" | "expire" => self.outbox_says(verb, words)?,
            "look" => self.look(words)?,
            "gone" => RunnerGone { execution: self.lease_named(words.at(0)?)?.execution }.into(),
            "sweep" => SweepRun { run: self.run_named(words.at(0)?)? }.into(),
            "release" => ReleaseDependents { job: self.job_named(words.at(0)?)? }.into(),
            unknown => return Err(format!("there is no step `{unknown}`")),
        })
    }

    /// `token NAME admin|tenant|runner [scope=own|other]`
    fn token(&mut self, words: &Words<'_>) -> Said<CreateToken> {
        let (id, kind) = (self.token_named(words.at(0)?), words.at(1)?);
        let tenant = match self.scope_of(words) {
            TokenScope::Any | TokenScope::Shared => None,
            TokenScope::Tenant(tenant) => Some(tenant),
        };
        Ok(CreateToken {
            id,
            hash: TokenSecret::minted(id, [words.number("secret")?.unwrap_or(7); 32]).hash(),
            kind: TokenKind::parse(kind).ok_or(format!("`{kind}` is no kind of token"))?,
            tenant,
            name: words.option("called").unwrap_or("ci").into(),
        })
    }

    pub fn token_named(&self, name: &str) -> TokenId {
        TokenId::derived(BEGIN, &self.tenant.to_string(), name)
    }

    fn scope_of(&self, words: &Words<'_>) -> TokenScope {
        match words.option("scope") {
            None => TokenScope::Any,
            Some("shared") => TokenScope::Shared,
            Some("own") => TokenScope::Tenant(self.tenant),
            Some(_) => TokenScope::Tenant(TenantId::FIRST),
        }
    }

    fn submit(&mut self, words: &Words<'_>) -> Said<SubmitJob> {
        let id = JobId::minted(self.now, self.random());
        self.names.entry(words.at(0)?.into()).or_insert(Named::Job(id));
        let payload = json!({ "text": words.option("payload").unwrap_or("hello") });
        Ok(SubmitJob {
            id: self.job_named(words.at(0)?)?,
            tenant: self.tenant_of(words),
            key: words.option("key").map(Into::into),
            payload: to_raw_value(&payload).expect("a payload is JSON"),
            runs_on: words.list("on"),
            priority: words.number("priority")?.unwrap_or(0),
            attempts_max: words.number("attempts")?,
            timeout_seconds: words.seconds("timeout")?,
            effect_once: words.has("once"),
        })
    }

    fn create_run(&mut self, words: &Words<'_>, plan: Option<Plan>) -> Said<CreateRun> {
        let id = RunId::minted(self.now, self.random());
        self.names.entry(words.at(0)?.into()).or_insert(Named::Run(id));
        Ok(CreateRun {
            id: if words.option("trigger").is_some() { id } else { self.run_named(words.at(0)?)? },
            tenant: self.tenant_of(words),
            trigger_key: words.option("trigger").map(Into::into),
            origin: RunOrigin {
                repository: words.option("repository").map(Into::into),
                ..RunOrigin::default()
            },
            trust: if words.option("trust") == Some("no") { Trust::Untrusted } else { Trust::Trusted },
            fail_fast: words.option("fail").is_some_and(|how| how == "fast"),
            plan,
        })
    }

    fn rerun(&mut self, words: &Words<'_>) -> Said<RerunRun> {
        let id = RunId::minted(self.now, self.random());
        self.names.entry(words.at(0)?.into()).or_insert(Named::Run(id));
        Ok(RerunRun {
            id: self.run_named(words.at(0)?)?,
            tenant: self.tenant_of(words),
            of: self.run_named(words.at(1)?)?,
            failed_only: words.has("failed"),
        })
    }

    fn cancel(&mut self, words: &Words<'_>) -> Said<Command> {
        let tenant = self.tenant_of(words);
        let unknown = words.at(0)? == "unknown-run";
        match self.names.get(words.at(0)?) {
            Some(Named::Job(job)) => Ok(CancelJob { tenant, job: *job }.into()),
            Some(Named::Run(run)) => Ok(CancelRun { tenant, run: *run, reason: words.rest(1) }.into()),
            None if unknown => Ok(CancelRun { tenant, run: RunId::FIRST, reason: words.rest(1) }.into()),
            None => Ok(CancelJob { tenant, job: self.job_named(words.at(0)?)? }.into()),
            Some(Named::Lease(_) | Named::Message(..)) => Err("only a job or a run can be cancelled".into()),
        }
    }

    /// What a tick does about one lease or one run.
    fn look(&mut self, words: &Words<'_>) -> Said<Command> {
        match self.names.get(words.at(0)?) {
            Some(Named::Lease(lease)) => Ok(ExecutionDue { execution: lease.execution }.into()),
            Some(Named::Run(run)) => Ok(RunDue { run: *run }.into()),
            Some(Named::Job(_) | Named::Message(..)) | None => {
                Err("only a lease or a run has deadlines".into())
            }
        }
    }

    /// `grant LEASE RUNNER [JOB] [can=os:linux] [scope=own|other]`; without a scope the runner is shared.
    async fn grant(&mut self, words: &Words<'_>) -> Said<Lease> {
        let name = self.new_lease(words.at(1)?)?;
        self.names.insert(words.at(0)?.into(), Named::Lease(name.clone()));
        let wanted = match words.plain.get(2) {
            Some(job) => Wanted::Job(self.job_named(job)?),
            None => {
                let can = words.list("can");
                let ready = self.store.queues_ready().await.expect("the store answers");
                let queues = self.store.queues_named(ready).await.expect("the store answers").into_iter();
                let ours =
                    queues.filter(|queue| queue.tenant == self.tenant && queue.fits(|it| can.contains(it)));
                Wanted::Any(ours.map(|queue| queue.id).collect())
            }
        };
        let tenant = match words.option("scope") {
            None => None,
            Some("own") => Some(self.tenant),
            Some(_) => Some(TenantId::FIRST),
        };
        let (runner, capabilities) = (name.runner, words.list("can"));
        Ok(Lease { runner, tenant, capabilities, wanted, execution: name.execution, lease: name.lease })
    }

    fn new_lease(&mut self, runner: &str) -> Said<LeaseName> {
        let execution = ExecId::minted(self.now, self.random());
        Ok(LeaseName {
            lease: LeaseId::minted(execution, self.random()),
            execution,
            runner: RunnerId::parse(runner).ok_or("not a runner's name")?,
        })
    }

    fn runner_says(&mut self, verb: &str, words: &Words<'_>) -> Said<Command> {
        let name = match words.at(0)? {
            "unknown" => self.new_lease("nobody")?,
            known => self.lease_named(known)?,
        };
        let lease = match words.option("secret") {
            Some(_) => LeaseId::minted(name.execution, self.random()).key(), // a guess
            None => name.lease.key(),
        };
        let runner = match words.option("as") {
            Some(other) => RunnerId::parse(other).ok_or("not a runner's name")?,
            None => name.runner,
        };
        let artifacts = "[]".to_owned();
        Ok(match verb {
            "ack" => Ack { lease, runner }.into(),
            "heartbeat" => {
                let phase = words.has("uploading").then_some(Phase::Uploading);
                Heartbeat { lease, runner, phase }.into()
            }
            "commit" => Commit { lease, runner, effects: effects(words)? }.into(),
            "cancel-ack" => CancelAck { lease, runner, summary: words.rest(1), artifacts }.into(),
            "complete" => {
                let (status, exit_code) = match words.at(1)? {
                    "ok" => (CompleteStatus::Succeeded, 0),
                    "fail" => (CompleteStatus::Failed, words.number("exit")?.unwrap_or(1)),
                    other => return Err(format!("a job completes `ok` or `fail`, not `{other}`")),
                };
                Complete {
                    lease,
                    runner,
                    status,
                    exit_code,
                    summary: words.rest(2),
                    artifacts,
                    stored: None,
                    saves: None,
                }
                .into()
            }
            "log" => {
                let offset = words.at(1)?.parse().map_err(|_| "expected an offset")?;
                let bytes = match words.number("size")? {
                    Some(size) => vec![b'.'; size],
                    None => words.rest(2).into_bytes(),
                };
                AppendLog { lease, offset, bytes: bytes.into() }.into()
            }
            other => return Err(format!("a runner does not say `{other}`")),
        })
    }

    /// `archive LEASE [placed] [by=SERVER]`: the upload for what is there of a log, or what follows when its bytes are placed.
    async fn archive(&mut self, words: &Words<'_>) -> Said<ArchiveLog> {
        let execution = self.lease_named(words.at(0)?)?.execution;
        let log = self.store.log(execution).await.expect("the store answers").ok_or("nothing was printed")?;
        let chunks = self.store.log_chunks(execution, 0, usize::MAX).await.expect("the store answers");
        let tail_from = chunks.iter().map(|chunk| chunk.offset).find(|offset| *offset >= log.head);
        let bytes: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.bytes.iter().copied()).collect();
        let digest = Digest::from_bytes(Sha256::digest(&bytes).into());
        let tail_from = tail_from.unwrap_or(log.head);
        let (cause, server) = (execution.to_string(), words.option("by").unwrap_or("one"));
        Ok(ArchiveLog {
            execution,
            tenant: self.tenant_of(words),
            whole: Whole { digest, length: bytes.len() as u64, tail_from },
            upload: UploadId::derived(BEGIN, &cause, server),
            blob: BlobId::derived(BEGIN, &cause, server),
            placed: words.has("placed"),
        })
    }

    fn outbox_says(&mut self, verb: &str, words: &Words<'_>) -> Said<Command> {
        let (delivery, claimed) = self.message_named(words.at(0)?)?;
        let claim = words.number("claim")?.unwrap_or(claimed);
        let jitter = words.number("jitter")?.unwrap_or(0.0);
        Ok(match verb {
            "claim" => ClaimDelivery { delivery }.into(),
            "delivered" => DeliveryDelivered { delivery, claim }.into(),
            "failed" => DeliveryFailed { delivery, claim, error: words.rest(1), jitter }.into(),
            "expire" => DeliveryDue { delivery, jitter }.into(),
            "redrive" => RedriveDelivery { delivery }.into(),
            other => return Err(format!("the outbox does not say `{other}`")),
        })
    }

    fn tenant_of(&self, words: &Words<'_>) -> TenantId {
        if words.option("tenant").is_some() { TenantId::FIRST } else { self.tenant }
    }
}

/// What names stand for.
impl<S: Store> World<S> {
    pub fn job_named(&self, name: &str) -> Said<JobId> {
        match self.names.get(name) {
            Some(Named::Job(id)) => Ok(*id),
            None if name == "unknown" => Ok(JobId::FIRST),
            Some(_) | None => Err(format!("`{name}` is no job")),
        }
    }

    pub fn run_named(&self, name: &str) -> Said<RunId> {
        match self.names.get(name) {
            Some(Named::Run(id)) => Ok(*id),
            None if name == "unknown" => Ok(RunId::FIRST),
            Some(_) | None => Err(format!("`{name}` is no run")),
        }
    }

    pub fn lease_named(&self, name: &str) -> Said<LeaseName> {
        match self.names.get(name) {
            Some(Named::Lease(lease)) => Ok(lease.clone()),
            Some(_) | None => Err(format!("`{name}` is no lease")),
        }
    }

    pub fn message_named(&self, name: &str) -> Said<(MessageId, u32)> {
        match self.names.get(name) {
            Some(Named::Message(id, tries)) => Ok((*id, *tries)),
            None if name == "unknown" => Ok((MessageId::FIRST, 1)),
            Some(_) | None => Err(format!("`{name}` is no message")),
        }
    }

    /// The jobs of a plan are known by their names, and by `RUN/NAME` when two runs have them.
    pub async fn learn_jobs(&mut self, name: &str, run: RunId) {
        for job in self.run_file(run).await.jobs {
            self.names.insert(format!("{name}/{}", job.name), Named::Job(job.id));
            self.names.insert(job.name, Named::Job(job.id));
        }
    }
}

/// As many results as a line asks for, or a message to an address.
fn effects(words: &Words<'_>) -> Said<Vec<Effect>> {
    if let Some(name) = words.option("to") {
        return Ok(vec![Effect::Webhook { url: format!("https://example.com/{name}"), body: json!({}) }]);
    }
    let count = words.number("effects")?.unwrap_or(1);
    Ok((0..count).map(|number| Effect::Result { value: json!(number) }).collect())
}
