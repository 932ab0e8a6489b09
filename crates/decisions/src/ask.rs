//! What a command needs to see before it can be decided. A store answers all asks of a batch together.

use wire::{
    BlobId, CollectionId, Digest, ExecId, JobId, MessageId, RunId, TenantId, TokenId, UploadId, VersionId,
};

use crate::records::{CacheName, GroupId, QueueId, RunnerKey, VersionName};

/// One question. The answer goes into the book; what does not exist is simply not there.
///
/// A *family* is a job with its latest attempt, that attempt's latest execution, its run, and its tenant's webhooks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    Tenant(TenantId),
    TenantName(String),
    Run(RunId),
    /// The run's plan as stored.
    Plan(RunId),
    /// The run's jobs that succeeded, by name.
    Succeeded(RunId),
    /// A concurrency group with the newest [`CHUNK`](crate::policy::CHUNK) of its runs that are not over.
    Group(GroupId),
    /// The run, and as above the group that it is in, or the one of this name that it would be in.
    GroupOf(RunId, Option<String>),
    Family(JobId),
    /// As [`Ask::Family`], of a job that the command will make unless it is there.
    NewJob(JobId),
    /// The execution with its runner, its own attempt and the rest of its family.
    Execution(ExecId),
    /// As [`Ask::Execution`], of one that the command will make unless it is there.
    NewExecution(ExecId),
    Runner(RunnerKey),
    Trigger(TenantId, String),
    JobKey(TenantId, String),
    /// The first `count` ready attempts over all these queues, with family and specification. On a store shared by
    /// several servers, those that another one is about to lease are left out.
    Ready {
        queues: Vec<QueueId>,
        count: usize,
    },
    /// The job's specification.
    Spec(JobId),
    /// The run and the families of its next open jobs.
    Sweep(RunId),
    /// The family and the families of its next dependents.
    Release(JobId),
    Delivery(MessageId),
    /// The delivery, and which of an ordered lane's open ones is the first.
    Claim(MessageId),
    Token(TokenId),
    /// How far the log of an execution has come, without its bytes.
    Log(ExecId),
    /// The upload, and [`Ask::Content`] for its tenant and digest.
    Upload(UploadId),
    /// The tenant's possession of these bytes with its blob, and the blob of this digest that is here, whoever brought it.
    Content(TenantId, Digest),
    Usage(TenantId),
    /// The version with its entries and their blobs.
    VersionName(VersionName),
    Version(VersionId),
    /// The blob, who possesses it, and their usage.
    Blob(BlobId),
    /// The artifacts of an execution with their blobs.
    Bundle(ExecId),
    /// The cache with its blob.
    Cache(CacheName),
    /// With the collection that runs.
    Collector,
    Collection(CollectionId),
}

impl Ask {
    /// A store may take what it does not remember for new: if it is not, its key is taken, and the save fails. Whoever was
    /// told so once asks without that freedom.
    pub fn taking_nothing_for_new(self) -> Ask {
        match self {
            Ask::NewJob(id) => Ask::Family(id),
            Ask::NewExecution(id) => Ask::Execution(id),
            other => other,
        }
    }
}

/// The asks of a batch, each once; those for ready attempts of the same queues are added up.
pub fn merged(mut asks: Vec<Ask>) -> Vec<Ask> {
    asks.sort();
    let mut merged: Vec<Ask> = Vec::with_capacity(asks.len());
    for ask in asks {
        match (merged.last_mut(), &ask) {
            (Some(Ask::Ready { queues, count }), Ask::Ready { queues: same, count: more })
                if queues == same =>
            {
                *count += more;
            }
            (Some(last), _) if *last == ask => {}
            (Some(_) | None, _) => merged.push(ask),
        }
    }
    merged
}
