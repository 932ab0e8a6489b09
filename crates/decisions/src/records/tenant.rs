//! Tenant: who everything belongs to.

use std::time::Duration;

use machines::tenant;
use serde_json::Value;
use sha2::{Digest, Sha256};
use wire::{TenantId, Time};

use crate::draft::Stated;

/// A configuration that wants nothing provisioned.
pub const CONFIG_EMPTY: &str = "{}";

/// A bound of a quota. `5.0` is 5, as everywhere in our messages.
pub fn quota_bound(value: &Value) -> Option<u64> {
    const MOST: u64 = 1 << 60;
    let whole = |number: f64| (number.fract() == 0.0 && number >= 0.0).then_some(number as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(whole)).filter(|bound| *bound <= MOST)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    pub name: String,
    pub state: Stated<tenant::State>,
    /// Why it is where it is, in words; empty when there is nothing to say.
    pub status_message: String,
    /// What its owner asked for, as canonical JSON: sorted keys, no spaces.
    pub desired_config: String,
    /// Rises with every change that its owner can see.
    pub version: i64,
    pub created_at: Time,
    pub updated_at: Time,
}

impl Tenant {
    /// The most bytes it may have in the store.
    pub fn quota_bytes(&self) -> Option<u64> {
        quota_bound(self.config()?.get("quota")?.get("storage_bytes")?)
    }

    /// How long the artifacts of its jobs are kept.
    pub fn retention(&self) -> Option<Duration> {
        let seconds = self.config()?.get("retention_seconds")?.as_f64()?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    fn config(&self) -> Option<Value> {
        serde_json::from_str(&self.desired_config).ok()
    }

    /// SHA-256 of the configuration, in hexadecimal: the same configuration, the same hash.
    pub fn config_hash(&self) -> String {
        use std::fmt::Write;
        let digest = Sha256::digest(self.desired_config.as_bytes());
        digest.iter().fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}"); // a String takes everything
            text
        })
    }
}
