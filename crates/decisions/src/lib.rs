//! What happens: pure decisions over records. One file per command.
//!
//! A [`Command`] says what it must see ([`Command::asks`]); [`decide`] looks at a [`Book`] holding that and returns
//! what changes, what is logged and what is answered, or a [`Refusal`]. Three kinds of "no" are kept apart: a *replay*
//! is answered as the first time and changes nothing; a *refusal* is typed, with a stable code; a pair that no table
//! lists is a mistake of ours and panics.
//!
//! Never: async, a clock, randomness, a store, logging. Time, ids and lease secrets arrive inside the command.
//! Start at `leases/complete.rs`, then `draft.rs`.

pub mod answer;
pub mod ask;
pub mod blobs;
pub mod book;
pub mod caches;
pub mod changed;
pub mod collections;
pub mod deliveries;
pub mod doctor;
pub mod draft;
pub mod failures;
pub mod jobs;
pub mod leases;
pub mod logs;
pub mod policy;
pub mod records;
pub mod refusal;
pub mod runs;
pub mod tenants;
pub mod tokens;
pub mod uploads;
pub mod versions;

use wire::Time;

pub use answer::{Answer, Granted};
pub use ask::Ask;
pub use book::{Book, Changes};
pub use draft::{Draft, Hint};
pub use policy::Policy;
pub use refusal::Refusal;

/// A command as a value: what it must see, and what it decides.
trait Decide {
    fn asks(&self, asks: &mut Vec<Ask>);
    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal>;
}

macro_rules! commands {
    ($($(#[doc = $about:literal])* $name:ident($path:path),)+) => {
        /// Every way in. A change from HTTP, a queue, a timer or a worker is one of these.
        #[derive(Debug, Clone)]
        pub enum Command { $( $(#[doc = $about])* $name($path), )+ }

        impl Command {
            fn as_decide(&self) -> &dyn Decide {
                match self { $( Command::$name(command) => command, )+ }
            }

            /// For metrics and logs.
            pub fn name(&self) -> &'static str {
                match self { $( Command::$name(_) => stringify!($name), )+ }
            }
        }

        $( impl From<$path> for Command {
            fn from(command: $path) -> Command { Command::$name(command) }
        } )+
    };
}

commands! {
    /// A tenant that wants nothing provisioned.
    EnsureTenant(tenants::EnsureTenant),
    CreateTenant(tenants::CreateTenant),
    /// Subscribe to a tenant's events.
    PutWebhook(tenants::PutWebhook),
    RemoveWebhook(tenants::RemoveWebhook),
    CreateToken(tokens::CreateToken),
    RevokeToken(tokens::RevokeToken),
    CreateRun(runs::CreateRun),
    PlanAccepted(runs::PlanAccepted),
    PlanFailed(runs::PlanFailed),
    CancelRun(runs::CancelRun),
    RerunRun(runs::RerunRun),
    /// A run's deadline may have passed.
    RunDue(runs::RunDue),
    /// Stop the next jobs of a run that is cancelled, timed out or failing fast.
    SweepRun(runs::SweepRun),
    SubmitJob(jobs::SubmitJob),
    CancelJob(jobs::CancelJob),
    RetryJob(jobs::RetryJob),
    /// Tell the next dependents of a job that it is over.
    ReleaseDependents(jobs::ReleaseDependents),
    Lease(leases::Lease),
    Ack(leases::Ack),
    Heartbeat(leases::Heartbeat),
    Commit(leases::Commit),
    Complete(leases::Complete),
    CancelAck(leases::CancelAck),
    /// More of what a job printed.
    AppendLog(logs::AppendLog),
    /// A log that is whole goes where all bytes are.
    ArchiveLog(logs::ArchiveLog),
    /// One of a lease's deadlines may have passed.
    ExecutionDue(leases::ExecutionDue),
    /// A lease's runner is known to be dead.
    RunnerGone(leases::RunnerGone),
    ClaimDelivery(deliveries::ClaimDelivery),
    DeliveryDelivered(deliveries::DeliveryDelivered),
    DeliveryFailed(deliveries::DeliveryFailed),
    /// A claim may have run out.
    DeliveryDue(deliveries::DeliveryDue),
    RedriveDelivery(deliveries::RedriveDelivery),
    StartUpload(uploads::StartUpload),
    /// A small blob in one go.
    PutBlob(uploads::PutBlob),
    StartParts(uploads::StartParts),
    /// All parts are here.
    CompleteParts(uploads::CompleteParts),
    /// The one stream has ended.
    ContentReceived(uploads::ContentReceived),
    CommitUpload(uploads::CommitUpload),
    AbortUpload(uploads::AbortUpload),
    /// An upload's time may be over.
    UploadDue(uploads::UploadDue),
    /// What an upload left behind is gone.
    UploadReaped(uploads::UploadReaped),
    CreateVersion(versions::CreateVersion),
    PublishVersion(versions::PublishVersion),
    TombstoneVersion(versions::TombstoneVersion),
    RestoreVersion(versions::RestoreVersion),
    /// A withdrawn version's retention may be over.
    VersionDue(versions::VersionDue),
    /// A job's artifacts may be kept no longer.
    BundleDue(versions::BundleDue),
    /// A job has found a cache.
    TouchCache(caches::TouchCache),
    DropCache(caches::DropCache),
    /// A cache may be kept no longer.
    CacheDue(caches::CacheDue),
    StartCollection(collections::StartCollection),
    TakeOverCollection(collections::TakeOverCollection),
    MarkBlobs(collections::MarkBlobs),
    ClaimBlobs(collections::ClaimBlobs),
    BlobsSwept(collections::BlobsSwept),
    FinishCollection(collections::FinishCollection),
}

impl Command {
    /// What must be in the book.
    pub fn asks(&self, asks: &mut Vec<Ask>) {
        self.as_decide().asks(asks);
    }
}

/// What a command comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub answer: Answer,
    pub changes: Changes,
    pub hints: Vec<Hint>,
}

/// Decides one command. The book is only read; whoever keeps the decision applies it.
pub fn decide(book: &Book, command: &Command, now: Time, policy: &Policy) -> Result<Decision, Refusal> {
    let mut draft = Draft::new(book, now, policy);
    let answer = command.as_decide().decide(&mut draft)?;
    Ok(Decision { answer, changes: draft.changes, hints: draft.hints })
}
