//! Queue: the jobs of one tenant that ask for the same capabilities. Its id is made from both, so a lease seeks
//! straight to work it can take.

use sha2::{Digest, Sha256};
use wire::TenantId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub i64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    pub id: QueueId,
    pub tenant: TenantId,
    /// Sorted, without repeats.
    pub requires: Vec<String>,
}

impl Queue {
    pub fn for_requirements(tenant: TenantId, requires: &[String]) -> Queue {
        let mut requires = requires.to_vec();
        requires.sort();
        requires.dedup();
        let mut hash = Sha256::new();
        hash.update(tenant.as_u128().to_be_bytes());
        for requirement in &requires {
            hash.update((requirement.len() as u64).to_be_bytes());
            hash.update(requirement.as_bytes());
        }
        let digest = hash.finalize();
        let id = i64::from_be_bytes(std::array::from_fn(|index| digest[index]));
        Queue { id: QueueId(id), tenant, requires }
    }

    /// A runner may take this queue's jobs if it has everything they ask for.
    pub fn fits(&self, has: impl Fn(&String) -> bool) -> bool {
        self.requires.iter().all(has)
    }
}
