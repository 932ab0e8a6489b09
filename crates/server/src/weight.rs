//! What commands weigh that make whole runs. All others are small, and are only counted.

use decisions::Command;
use decisions::records::Plan;

/// What the plans that one batch adopts may weigh together, in bytes. A single one may weigh more, and is then the only
/// one: of whole runs, each with thousands of jobs, a full batch would decide gigabytes.
pub const PLANS_WEIGHT_MAX: usize = 16 * 1024 * 1024;

/// What a job weighs beside its specification: its records, their places in indexes, their rows in the log.
const JOB_WEIGHT: usize = 1_024;

/// What the jobs of the run weigh that a command makes; `None` if it makes none.
pub fn plan_weight(command: &Command) -> Option<usize> {
    let of = |plan: &Plan| -> usize { plan.jobs.iter().map(|job| JOB_WEIGHT + job.spec.get().len()).sum() };
    match command {
        Command::CreateRun(create) => create.plan.as_ref().map(of),
        Command::PlanAccepted(accepted) => Some(of(&accepted.plan)),
        Command::RerunRun(_) => Some(PLANS_WEIGHT_MAX), // the plan is still in the store
        Command::EnsureTenant(_)
        | Command::CreateTenant(_)
        | Command::PutWebhook(_)
        | Command::RemoveWebhook(_)
        | Command::CreateToken(_)
        | Command::RevokeToken(_)
        | Command::PlanFailed(_)
        | Command::CancelRun(_)
        | Command::RunDue(_)
        | Command::SweepRun(_)
        | Command::SubmitJob(_)
        | Command::CancelJob(_)
        | Command::RetryJob(_)
        | Command::ReleaseDependents(_)
        | Command::Lease(_)
        | Command::Ack(_)
        | Command::Heartbeat(_)
        | Command::Commit(_)
        | Command::Complete(_)
        | Command::CancelAck(_)
        | Command::AppendLog(_)
        | Command::ArchiveLog(_)
        | Command::ExecutionDue(_)
        | Command::RunnerGone(_)
        | Command::ClaimDelivery(_)
        | Command::DeliveryDelivered(_)
        | Command::DeliveryFailed(_)
        | Command::DeliveryDue(_)
        | Command::RedriveDelivery(_)
        | Command::StartUpload(_)
        | Command::PutBlob(_)
        | Command::StartParts(_)
        | Command::CompleteParts(_)
        | Command::ContentReceived(_)
        | Command::CommitUpload(_)
        | Command::AbortUpload(_)
        | Command::UploadDue(_)
        | Command::UploadReaped(_)
        | Command::CreateVersion(_)
        | Command::PublishVersion(_)
        | Command::TombstoneVersion(_)
        | Command::RestoreVersion(_)
        | Command::VersionDue(_)
        | Command::BundleDue(_)
        | Command::TouchCache(_)
        | Command::DropCache(_)
        | Command::CacheDue(_)
        | Command::StartCollection(_)
        | Command::TakeOverCollection(_)
        | Command::MarkBlobs(_)
        | Command::ClaimBlobs(_)
        | Command::BlobsSwept(_)
        | Command::FinishCollection(_) => None,
    }
}
