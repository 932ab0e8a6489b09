//! The asks of a batch by kind, each as the array that its statement takes.

use std::collections::{BTreeMap, BTreeSet};

use crate::candidates::{ReadyAsk, ready_asks};
use decisions::Ask;
use decisions::records::{CacheName, GroupId, RunnerKey, VersionName};
use wire::{
    BlobId, CollectionId, Digest, ExecId, JobId, MessageId, RunId, TenantId, TokenId, UploadId, VersionId,
};

#[derive(Default, Clone)]
pub struct Wanted {
    pub tenants: BTreeSet<TenantId>,
    pub tenant_names: BTreeSet<String>,
    pub runs: BTreeSet<RunId>,
    pub plans: BTreeSet<RunId>,
    pub succeeded: BTreeSet<RunId>,
    pub groups: BTreeSet<GroupId>,
    /// The groups that runs are in (none), or would be in by this name.
    pub groups_of: BTreeMap<RunId, BTreeSet<Option<String>>>,
    pub sweeps: BTreeSet<RunId>,
    pub triggers: BTreeSet<(TenantId, String)>,
    pub jobs: BTreeSet<JobId>,
    pub new_jobs: BTreeSet<JobId>,
    pub job_keys: BTreeSet<(TenantId, String)>,
    pub releases: BTreeSet<JobId>,
    pub specs: BTreeSet<JobId>,
    pub executions: BTreeSet<ExecId>,
    pub new_executions: BTreeSet<ExecId>,
    pub runners: BTreeSet<RunnerKey>,
    pub deliveries: BTreeSet<MessageId>,
    pub claims: BTreeSet<MessageId>,
    pub tokens: BTreeSet<TokenId>,
    pub logs: BTreeSet<ExecId>,
    pub uploads: BTreeSet<UploadId>,
    pub contents: BTreeSet<(TenantId, Digest)>,
    pub usages: BTreeSet<TenantId>,
    pub version_names: BTreeSet<VersionName>,
    pub versions: BTreeSet<VersionId>,
    /// With whoever possesses them.
    pub blobs: BTreeSet<BlobId>,
    pub bundles: BTreeSet<ExecId>,
    pub caches: BTreeSet<CacheName>,
    pub collector: bool,
    pub collections: BTreeSet<CollectionId>,
    pub ready: Vec<ReadyAsk>,
}

impl Wanted {
    pub fn by(asks: &[Ask]) -> Wanted {
        let mut wanted = Wanted { ready: ready_asks(asks), ..Wanted::default() };
        for ask in asks {
            wanted.add(ask);
        }
        wanted
    }

    fn add(&mut self, ask: &Ask) {
        match ask {
            Ask::Tenant(id) => drop(self.tenants.insert(*id)),
            Ask::TenantName(name) => drop(self.tenant_names.insert(name.clone())),
            Ask::Run(id) => drop(self.runs.insert(*id)),
            Ask::Plan(id) => drop(self.plans.insert(*id)),
            Ask::Succeeded(id) => drop(self.succeeded.insert(*id)),
            Ask::Group(id) => drop(self.groups.insert(*id)),
            Ask::GroupOf(id, name) => {
                self.runs.insert(*id);
                self.groups_of.entry(*id).or_default().insert(name.clone());
            }
            Ask::Family(id) => drop(self.jobs.insert(*id)),
            Ask::NewJob(id) => drop(self.new_jobs.insert(*id)),
            Ask::Execution(id) => drop(self.executions.insert(*id)),
            Ask::NewExecution(id) => drop(self.new_executions.insert(*id)),
            Ask::Runner(key) => drop(self.runners.insert(key.clone())),
            Ask::Trigger(tenant, key) => drop(self.triggers.insert((*tenant, key.clone()))),
            Ask::JobKey(tenant, key) => drop(self.job_keys.insert((*tenant, key.clone()))),
            Ask::Ready { .. } => {} // all of them together, by `ready_asks`
            Ask::Spec(id) => drop(self.specs.insert(*id)),
            Ask::Sweep(id) => {
                self.sweeps.insert(*id);
                self.runs.insert(*id);
            }
            Ask::Release(id) => {
                self.releases.insert(*id);
                self.jobs.insert(*id);
            }
            Ask::Delivery(id) => drop(self.deliveries.insert(*id)),
            Ask::Claim(id) => {
                self.deliveries.insert(*id);
                self.claims.insert(*id);
            }
            Ask::Token(id) => drop(self.tokens.insert(*id)),
            Ask::Log(id) => drop(self.logs.insert(*id)),
            Ask::Upload(id) => drop(self.uploads.insert(*id)),
            Ask::Content(tenant, digest) => drop(self.contents.insert((*tenant, *digest))),
            Ask::Usage(tenant) => drop(self.usages.insert(*tenant)),
            Ask::VersionName(name) => drop(self.version_names.insert(name.clone())),
            Ask::Version(id) => drop(self.versions.insert(*id)),
            Ask::Blob(id) => drop(self.blobs.insert(*id)),
            Ask::Bundle(id) => drop(self.bundles.insert(*id)),
            Ask::Cache(name) => drop(self.caches.insert(name.clone())),
            Ask::Collector => self.collector = true,
            Ask::Collection(id) => drop(self.collections.insert(*id)),
        }
    }
}
