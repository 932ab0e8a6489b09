//! Lease ids: capabilities. Whoever holds one may speak for the attempt, so it is never printed and stored only as a hash.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::ExecId;

/// The secret itself, as it travels between orchestrator and runner. It has no `Display`, and its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseId(String);

impl LeaseId {
    /// The execution it belongs to, which is no secret and finds the record, and 256 bits that are, from the one place
    /// that makes randomness.
    pub fn minted(execution: ExecId, random: [u8; 32]) -> LeaseId {
        let execution = execution.text();
        let letters = &execution.as_str()[ExecId::PREFIX.len() + 1..];
        LeaseId(["lease_", letters, "_", &hex(&random)].concat())
    }

    /// What a lease is looked up and recognised by. A text that we did not mint names an execution that never was.
    pub fn key(&self) -> LeaseKey {
        let letters =
            self.0.strip_prefix("lease_").and_then(|rest| rest.split_once('_')).map(|(letters, _)| letters);
        let execution = letters.and_then(|letters| format!("{}_{letters}", ExecId::PREFIX).parse().ok());
        LeaseKey { execution: execution.unwrap_or(ExecId::FIRST), hash: self.hash() }
    }

    /// What may be stored.
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

/// Comes with a lease and is as secret as its id.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CancelToken(String);

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CancelToken(hidden)")
    }
}

/// What a subscriber's deliveries are signed with. Kept as it is, because signing needs it; never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(String);

impl WebhookSecret {
    /// For the store, and for whoever signs.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for WebhookSecret {
    fn from(text: String) -> WebhookSecret {
        WebhookSecret(text)
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(hidden)")
    }
}

/// Which execution a lease id claims to speak for, and the proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseKey {
    pub execution: ExecId,
    pub hash: LeaseHash,
}

/// SHA-256 of a secret: enough to recognise it, useless to speak with. Compared in constant time, so that how long a no
/// takes says nothing.
macro_rules! secret_hash {
    ($(#[doc = $about:literal])+ $name:ident) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy)]
        pub struct $name([u8; 32]);

        impl $name {
            pub fn from_bytes(bytes: [u8; 32]) -> $name {
                $name(bytes)
            }

            pub fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &$name) -> bool {
                subtle::ConstantTimeEq::ct_eq(&self.0[..], &other.0[..]).into()
            }
        }

        impl Eq for $name {}

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({}…)", stringify!($name), $crate::secret::hex(&self.0[..4]))
            }
        }
    };
}
pub(crate) use secret_hash;

secret_hash!(
    /// SHA-256 of a lease id.
    LeaseHash
);

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |four: u8| char::from(b"0123456789abcdef"[usize::from(four)]);
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 0xf));
        text
    })
}
