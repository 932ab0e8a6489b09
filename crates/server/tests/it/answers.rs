//! What an answer says, in a script's words.

use decisions::records::Execution;
use decisions::{Answer, Refusal};
use machines::Machine;
use server::perform::Failure;
use store::Store;
use wire::RunId;
use wire::runner::StaleReason;

use crate::words::Words;
use crate::world::{Named, World};

type Said<T> = Result<T, String>;

impl<S: Store> World<S> {
    pub async fn answered(&mut self, words: &Words<'_>, answer: Result<Answer, Failure>) -> Said<String> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(Failure::Refused(refusal)) => {
                return Ok(format!("refused {} {}", refusal.code(), detail(&refusal)).trim().to_owned());
            }
            Err(failure) => return Ok(format!("failed {} ({failure})", failure.code())),
        };
        let first = words.at(0)?;
        Ok(match answer {
            Answer::TenantReady(_) => "ready".into(),
            Answer::TenantCreated { existing, .. } => if existing { "existing" } else { "created" }.into(),
            // Of artifacts the tests of the API tell.
            Answer::UploadIs(upload) => format!("upload {}", upload.length),
            Answer::UploadMismatched { .. }
            | Answer::VersionIs { .. }
            | Answer::Quarantined { .. }
            | Answer::CollectionIs { .. }
            | Answer::BlobsClaimed(_) => return Err("no word of a script asks for this".into()),
            Answer::TokenCreated => "created".into(),
            Answer::TokenRevoked => "revoked".into(),
            Answer::LogAppended { offset, truncated } => {
                format!("{offset}{}", if truncated { " truncated" } else { "" })
            }
            Answer::RunCreated { run, existing } => {
                self.names.insert(first.into(), Named::Run(run));
                self.learn_jobs(first, run).await;
                format!("{}{}", if existing { "existing " } else { "" }, self.run_state(run).await)
            }
            Answer::PlanTaken => {
                let run = self.run_named(first)?;
                self.learn_jobs(first, run).await;
                self.run_state(run).await
            }
            Answer::JobSubmitted { job, existing } => {
                self.names.insert(first.into(), Named::Job(job));
                let state = self.job_file(job).await.job.state.as_str();
                format!("{}{state}", if existing { "existing " } else { "" })
            }
            Answer::Granted(granted) => format!("GRANTED {} {}", self.name_of(granted.job), granted.attempt),
            Answer::NoWork { barred_until: None } => "nothing".into(),
            Answer::NoWork { barred_until: Some(until) } => format!("barred {:?}", until.since(self.now)),
            Answer::Acked { .. } | Answer::CancelAcked => self.lease_state(first).await?.into(),
            Answer::Beaten { cancel: None, .. } => self.attempt_state(first).await?.into(),
            Answer::Beaten { cancel: Some(left), .. } => {
                format!("{} in {left:?}", self.attempt_state(first).await?)
            }
            Answer::Committed { duplicate: false } => self.execution_state(first).await?.into(),
            Answer::Committed { duplicate: true } => "duplicate".into(),
            Answer::Completed { accepted: true } => self.lease_state(first).await?.into(),
            Answer::Completed { accepted: false } => {
                format!("not_accepted {}", self.lease_state(first).await?)
            }
            Answer::CancelTaken { over: true } => "over".into(),
            Answer::CancelTaken { over: false } => "asked".into(),
            Answer::Retried { attempt } => format!("attempt {attempt}"),
            Answer::Claimed(None) => "nothing".into(),
            Answer::Claimed(Some(delivery)) => {
                self.names.insert(first.into(), Named::Message(delivery.id, delivery.claims));
                format!("{} try {}", delivery.state.get().as_str(), delivery.tries)
            }
            Answer::WebhookPut => "put".into(),
            Answer::WebhookRemoved => "removed".into(),
            Answer::Settled { moved: true } => "moved".into(),
            Answer::Settled { moved: false } => "nothing".into(),
        })
    }

    /// The state, and after `REPORTED` what it came to.
    pub async fn run_state(&self, id: RunId) -> String {
        let run = self.run_record(id).await;
        match run.outcome.filter(|outcome| *outcome != run.state.get()) {
            Some(outcome) => format!("{} {}", run.state.get().as_str(), outcome.as_str()),
            None => run.state.get().as_str().into(),
        }
    }

    pub async fn lease_state(&self, name: &str) -> Said<&'static str> {
        Ok(self.execution_named(name).await?.lease.get().as_str())
    }

    pub async fn execution_state(&self, name: &str) -> Said<&'static str> {
        Ok(self.execution_named(name).await?.status.get().as_str())
    }

    /// Of the attempt that the lease was granted for.
    async fn attempt_state(&self, name: &str) -> Said<&'static str> {
        let key = self.execution_named(name).await?.attempt;
        let file = self.job_file(key.job).await;
        Ok(file.attempts[key.index as usize - 1].state.get().as_str())
    }

    async fn execution_named(&self, name: &str) -> Said<Execution> {
        let id = self.lease_named(name)?.execution;
        self.execution(id).await.ok_or(format!("`{name}` was never granted"))
    }
}

/// What a refusal names besides its code.
fn detail(refusal: &Refusal) -> String {
    match refusal {
        Refusal::StaleLease { reason } => stale_name(*reason).into(),
        Refusal::TenantNotReady { state }
        | Refusal::RunNotPlanning { state }
        | Refusal::RunOver { state }
        | Refusal::RunNotOver { state }
        | Refusal::JobOver { state }
        | Refusal::UploadEnded { state }
        | Refusal::UploadNotReady { state }
        | Refusal::DeliveryNotDead { state } => state.to_string(),
        Refusal::LogOffset { expected } => expected.to_string(),
        Refusal::InvalidInput { field, .. } => field.to_string(),
        Refusal::JobNotRetryable { problem } => problem.to_string(),
        Refusal::PlanInvalid { problem } => problem.clone(),
        Refusal::LeaseNotAcknowledged
        | Refusal::CancelRequested
        | Refusal::CancelNotRequested
        | Refusal::TenantNotFound
        | Refusal::TenantExists
        | Refusal::TokenNotFound
        | Refusal::LogGrows
        | Refusal::RunNotFound
        | Refusal::JobNotFound
        | Refusal::DeliveryNotFound
        | Refusal::WebhookNotFound
        | Refusal::RunHasNoPlan
        | Refusal::JobLeased
        | Refusal::JobNotReady
        | Refusal::JobConflict
        | Refusal::AlreadyCommitted
        | Refusal::UploadNotFound
        | Refusal::UploadInParts
        | Refusal::PartsMissing { .. }
        | Refusal::QuotaExceeded { .. }
        | Refusal::BlobMissing { .. }
        | Refusal::VersionNotFound
        | Refusal::Immutable
        | Refusal::VersionChanged
        | Refusal::VersionNotPublished
        | Refusal::VersionTombstoned
        | Refusal::RetentionOver
        | Refusal::CacheNotFound
        | Refusal::CollectionNotFound
        | Refusal::CollectionLost
        | Refusal::MarkNotComplete
        | Refusal::ClaimLost => String::new(),
    }
}

fn stale_name(reason: StaleReason) -> &'static str {
    match reason {
        StaleReason::LeaseExpired => "LEASE_EXPIRED",
        StaleReason::LeaseRevoked => "LEASE_REVOKED",
        StaleReason::LeaseCompleted => "LEASE_COMPLETED",
        StaleReason::LeaseCanceled => "LEASE_CANCELED",
        StaleReason::LeaseUnknown => "LEASE_UNKNOWN",
    }
}
