//! The edge of a server: what a request becomes. Ids are minted here, bytes move here, as in `server::api` and
//! `server::artifacts`.

use decisions::caches::Saves;
use decisions::jobs::{CancelJob, RetryJob, SubmitJob};
use decisions::leases::{self, Lease, Stored, StoredArtifact};
use decisions::logs::AppendLog;
use decisions::records::{Measured, Trust, Upload, VersionName};
use decisions::runs::{CancelRun, CreateRun, RerunRun, RunOrigin};
use decisions::uploads::{AbortUpload, CommitUpload, ContentReceived, StartUpload};
use decisions::versions::{
    CreateVersion, PublishVersion, RestoreVersion, TombstoneVersion, Verdict, content_hash,
};
use decisions::{Answer, Command, Refusal, deliveries::RedriveDelivery};
use machines::{Machine, upload};
use runner::session::Outcome;
use serde_json::value::RawValue;
use server::perform::Failure;
use store::Store;
use wire::runner::CompleteStatus;
use wire::{BlobId, ExecId, JobId, LeaseId, RunId, TenantId, UploadId, VersionId};

use super::faults::Class;
use super::parts::now;
use super::people::plan_of;
use super::server::Ticket;
use super::words::{Client, Reply, Request, Said, Word};
use super::world::{Event, LENGTH, World, digest, tenant};

impl World {
    pub fn arrives(&mut self, server: usize, client: Client, call: u64, request: Request) {
        if !self.servers[server].up {
            return self.answer(server, client, call, Reply::Unknown); // nobody listens
        }
        let command: Command = match request {
            Request::Lease => return self.lease_asked(server, client, call),
            Request::Word(word) => self.word(client, *word),
            Request::Submit { key, effect_once, priority } => SubmitJob {
                id: JobId::minted(self.now, self.dice.mint.bytes()),
                tenant: tenant(1),
                key: Some(key),
                payload: RawValue::NULL.to_owned(),
                runs_on: Vec::new(),
                priority,
                attempts_max: None,
                timeout_seconds: None,
                effect_once,
            }
            .into(),
            Request::CreateRun { trigger } => self.create_run(trigger).into(),
            Request::CancelJob { job } => CancelJob { tenant: tenant(1), job }.into(),
            Request::CancelRun { run } => {
                CancelRun { tenant: tenant(1), run, reason: "a person wants it".into() }.into()
            }
            Request::RetryJob { job } => RetryJob { tenant: tenant(1), job }.into(),
            Request::Rerun { run, failed_only } => {
                let id = RunId::minted(self.now, self.dice.mint.bytes());
                RerunRun { id, tenant: tenant(1), of: run, failed_only }.into()
            }
            Request::Redrive { delivery } => RedriveDelivery { delivery }.into(),
            Request::StartUpload { tenant, content, execution } => StartUpload {
                id: UploadId::minted(self.now, self.dice.mint.bytes()),
                blob: BlobId::minted(self.now, self.dice.mint.bytes()),
                tenant,
                digest: digest(content),
                length: LENGTH,
                execution,
                measured: None,
            }
            .into(),
            Request::SendContent { upload, content } => {
                // It takes a while, and the server may not live to see its end.
                let (takes, life) = (self.dice.disk.millis(1, 400), self.servers[server].life);
                let event = Event::Staged { server, life, client, call, upload, content };
                return self.agenda.add(self.now.plus(takes), event);
            }
            Request::CommitUpload { upload } => {
                let (takes, life) = (self.dice.disk.millis(1, 50), self.servers[server].life);
                let event = Event::Placed { server, life, client, call, upload };
                return self.agenda.add(self.now.plus(takes), event);
            }
            Request::AbortUpload { tenant, upload } => AbortUpload { tenant, upload }.into(),
            Request::CreateVersion { name, content } => {
                let id = VersionId::minted(self.now, self.dice.mint.bytes());
                CreateVersion { id, name, entries: vec![("file".into(), digest(content))] }.into()
            }
            Request::Publish { name } => match self.publish(name) {
                Some(command) => command.into(),
                None => {
                    let refused = Reply::Refused(Refusal::VersionNotFound);
                    return self.answer(server, client, call, refused);
                }
            },
            Request::Tombstone { name } => TombstoneVersion { name, retention: self.setup.retention }.into(),
            Request::Restore { name } => RestoreVersion { name, verdict: Verdict::Allow }.into(),
        };
        self.perform(server, command, Ticket::Client { client, call });
    }

    /// Which queues have work is looked up apart from the decision, so it may have changed by then.
    fn lease_asked(&mut self, server: usize, client: Client, call: u64) {
        let Client::Runner(runner) = client else { return };
        let queues = now(self.store.queues_ready()).expect("memory can be read");
        if queues.is_empty() {
            let nothing = Reply::Done(Answer::NoWork { barred_until: None });
            return self.answer(server, client, call, nothing);
        }
        let execution = ExecId::minted(self.now, self.dice.mint.bytes());
        let command = Lease {
            runner: self.runners[runner].name.clone(),
            tenant: None,
            capabilities: Vec::new(),
            wanted: leases::Wanted::Any(queues),
            execution,
            lease: LeaseId::minted(execution, self.dice.mint.bytes()),
        };
        self.perform(server, command, Ticket::Client { client, call });
    }

    fn word(&self, client: Client, word: Word) -> Command {
        let Client::Runner(index) = client else { panic!("only runners speak under leases") };
        let (lease, runner) = (word.lease.key(), self.runners[index].name.clone());
        match word.said {
            Said::Ack => leases::Ack { lease, runner }.into(),
            Said::Heartbeat(beat) => leases::Heartbeat { lease, runner, phase: Some(beat.phase) }.into(),
            Said::Log { offset, bytes } => AppendLog { lease, offset, bytes }.into(),
            Said::Commit { effects } => leases::Commit { lease, runner, effects }.into(),
            Said::CancelAck { summary } => {
                leases::CancelAck { lease, runner, summary, artifacts: "[]".into() }.into()
            }
            Said::Complete { verdict, stored } => {
                let status = match verdict.outcome {
                    Outcome::Succeeded => CompleteStatus::Succeeded,
                    Outcome::Failed | Outcome::TimedOut | Outcome::Infra => CompleteStatus::Failed,
                };
                leases::Complete {
                    lease,
                    runner,
                    status,
                    exit_code: verdict.exit_code,
                    summary: verdict.summary,
                    artifacts: "[]".into(),
                    stored: stored_of(word.tenant, &stored),
                    saves: None::<Box<Saves>>,
                }
                .into()
            }
        }
    }

    fn create_run(&mut self, trigger: String) -> CreateRun {
        let shape = self.people.shapes.get(&trigger).copied().expect("a trigger has its shape");
        CreateRun {
            id: RunId::minted(self.now, self.dice.mint.bytes()),
            tenant: tenant(1),
            trigger_key: Some(trigger.clone()),
            origin: RunOrigin::default(),
            trust: Trust::Trusted,
            fail_fast: shape.fail_fast,
            plan: shape.planned.then(|| plan_of(&trigger, shape)),
        }
    }

    fn publish(&mut self, name: VersionName) -> Option<PublishVersion> {
        let version = now(self.store.version(&name)).expect("memory can be read")?;
        let judged = content_hash(&version.entries);
        let verdict = if self.dice.mint.chance(0.1) {
            Verdict::Quarantine { reason: "not today".into() }
        } else {
            Verdict::Allow
        };
        Some(PublishVersion { name, verdict, judged, release: self.dice.mint.chance(0.3) })
    }

    fn open_upload(&self, id: UploadId) -> Result<Upload, Refusal> {
        let upload =
            now(self.store.upload(id)).expect("memory can be read").ok_or(Refusal::UploadNotFound)?;
        if !upload.is_open() || upload.expires_at <= self.now {
            return Err(Refusal::UploadEnded { state: upload.state.get().as_str() });
        }
        Ok(upload)
    }

    /// The stream has come to its end.
    pub fn staged(&mut self, server: usize, (client, call): (Client, u64), id: UploadId, content: u8) {
        let upload = match self.open_upload(id) {
            Ok(upload) => upload,
            Err(refusal) => return self.answer(server, client, call, Reply::Refused(refusal)),
        };
        if self.faults.strikes(Class::BlobWriteFailed) {
            self.tell(|| format!("the bytes of {id} cannot be written"));
            return self.answer(server, client, call, Reply::Unknown);
        }
        // Now and then something else is sent than was announced.
        let content = if self.dice.disk.chance(0.04) { content + 100 } else { content };
        self.disk.stage(id, digest(content));
        let measured = Measured { digest: digest(content), length: LENGTH };
        let command = ContentReceived { tenant: upload.tenant, upload: id, measured };
        self.perform(server, command, Ticket::Content { client, call, upload: id });
    }

    /// The bytes go where their blob will be, then the record says so.
    pub fn placed(&mut self, server: usize, (client, call): (Client, u64), id: UploadId) {
        let upload = match now(self.store.upload(id)).expect("memory can be read") {
            Some(upload) => upload,
            None => return self.answer(server, client, call, Reply::Refused(Refusal::UploadNotFound)),
        };
        let ready = upload.state.get() == upload::State::PendingCommit && upload.expires_at > self.now;
        if ready && upload.measured.is_some_and(|measured| measured.digest == upload.digest) {
            if self.faults.strikes(Class::BlobWriteFailed) {
                return self.answer(server, client, call, Reply::Unknown);
            }
            if !self.disk.place(id, (upload.blob, upload.digest)) {
                let state = upload.state.get().as_str();
                return self.answer(server, client, call, Reply::Refused(Refusal::UploadNotReady { state }));
            }
        }
        let (tenant, digest) = (upload.tenant, upload.digest);
        let command = CommitUpload { tenant, upload: id, measured: upload.measured, digest };
        self.perform(server, command, Ticket::Commit { client, call, upload: id });
    }

    /// An upload that was ended while its bytes came, and swept up before.
    pub fn content_settled(&mut self, server: usize, id: UploadId, result: &Result<Answer, Failure>) {
        if matches!(result, Err(Failure::Refused(Refusal::UploadEnded { .. }))) {
            self.disk.unstage(id);
            self.commit_settled(server, id, result);
        }
    }

    /// An upload that was ended while its bytes were placed, and swept up before: what was placed is swept up here.
    pub fn commit_settled(&mut self, server: usize, id: UploadId, result: &Result<Answer, Failure>) {
        if !matches!(result, Err(Failure::Refused(Refusal::UploadEnded { .. }))) {
            return;
        }
        let Some(upload) = now(self.store.upload(id)).expect("memory can be read") else { return };
        if upload.state.get() == upload::State::Aborted && !upload.litter {
            self.tell(|| format!("server {server} sweeps up after {id}"));
            self.discard(&upload);
        }
    }
}

fn stored_of(tenant: TenantId, digests: &[wire::Digest]) -> Option<Box<Stored>> {
    if digests.is_empty() {
        return None;
    }
    let artifacts = digests
        .iter()
        .map(|digest| StoredArtifact { kind: "file".into(), path: "out/file".into(), digest: *digest })
        .collect();
    Some(Box::new(Stored { tenant, artifacts, publish: None, tests: None }))
}
