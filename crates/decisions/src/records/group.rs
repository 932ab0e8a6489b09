//! Group: where the runs of one concurrency group meet. Each of them writes this row when it joins, so that of two that
//! are planned at the same moment, on whichever servers, one sees the other.

use sha2::{Digest, Sha256};
use wire::{RunId, TenantId};

use crate::records::Trust;

/// Made from what names the group, so that a key is short whatever a repository is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub [u8; 32]);

impl GroupId {
    /// A group is one of a repository and of a trust: two that both call theirs `main` do not disturb each other, and
    /// what a stranger proposes supersedes nothing of ours.
    pub fn of(tenant: TenantId, repository: Option<&str>, trust: Trust, name: &str) -> GroupId {
        let mut hash = Sha256::new();
        hash.update(tenant.as_u128().to_be_bytes());
        for part in [repository.unwrap_or_default(), trust.as_str(), name] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        GroupId(hash.finalize().into())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub id: GroupId,
    pub tenant: TenantId,
    /// Runs that have joined so far.
    pub joined: u64,
    /// The newest run that supersedes the older ones, over or not: an older one that is planned later gives way to it.
    pub newest: Option<RunId>,
}
