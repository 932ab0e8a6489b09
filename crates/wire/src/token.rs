//! Access tokens: whoever holds one may do what it allows, so it is shown once, never printed and stored only as a hash.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::TokenId;
use crate::secret::{hex, secret_hash};

/// The secret itself, as its owner sends it. It has no `Display`, and its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenSecret(String);

impl TokenSecret {
    /// The token's id, which is no secret and finds the record, and 256 bits that are, from the one place that makes
    /// randomness.
    pub fn minted(id: TokenId, random: [u8; 32]) -> TokenSecret {
        let id = id.text();
        let letters = &id.as_str()[TokenId::PREFIX.len() + 1..];
        TokenSecret(format!("dci_{letters}_{}", hex(&random)))
    }

    /// What a token is looked up and recognised by. A text that we did not mint names a token that never was.
    pub fn key(&self) -> TokenKey {
        let letters =
            self.0.strip_prefix("dci_").and_then(|rest| rest.split_once('_')).map(|(letters, _)| letters);
        let id = letters.and_then(|letters| format!("{}_{letters}", TokenId::PREFIX).parse().ok());
        TokenKey { id: id.unwrap_or(TokenId::FIRST), hash: self.hash() }
    }

    /// What may be stored.
    pub fn hash(&self) -> TokenHash {
        TokenHash::from_bytes(Sha256::digest(self.0.as_bytes()).into())
    }

    /// For the one answer that shows it, and for a header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for TokenSecret {
    fn from(text: String) -> TokenSecret {
        TokenSecret(text)
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret(hidden)")
    }
}

/// Which token a text claims to be, and the proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenKey {
    pub id: TokenId,
    pub hash: TokenHash,
}

secret_hash!(
    /// SHA-256 of an access token.
    TokenHash
);
