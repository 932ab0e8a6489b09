//! Lease ids: capabilities. Whoever holds one may speak for the attempt, so it is never printed and stored only as a hash.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The secret itself, as it travels between orchestrator and runner. It has no `Display`, and its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseId(String);

impl LeaseId {
    /// 256 bits from the one place that makes randomness.
    pub fn minted(random: [u8; 32]) -> LeaseId {
        LeaseId(format!("lease_{}", hex(&random)))
    }

    /// What may be stored and looked up.
    pub fn hash(&self) -> LeaseHash {
        LeaseHash(Sha256::digest(self.0.as_bytes()).into())
    }

    /// For a header or another transport that needs the text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for LeaseId {
    fn from(text: String) -> LeaseId {
        LeaseId(text)
    }
}

impl fmt::Debug for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaseId(hidden)")
    }
}

/// SHA-256 of a lease id: enough to recognise it, useless to speak with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseHash([u8; 32]);

impl LeaseHash {
    pub fn from_bytes(bytes: [u8; 32]) -> LeaseHash {
        LeaseHash(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for LeaseHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseHash({}…)", hex(&self.0[..4]))
    }
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
