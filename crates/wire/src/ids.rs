//! Typed ids: a prefix that says what it names, and a UUIDv7 in 26 letters that sort by time of birth.
//!
//! An id is minted from a moment and random bits given by the caller, or derived from the id of what caused it and a
//! name, so that doing the same thing twice names the same thing.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::time::Time;

/// Crockford's alphabet: no letter that reads like another.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LETTERS: usize = 26;

/// Each letter's value; 255 where there is none.
const VALUES: [u8; 256] = {
    let mut values = [255; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        values[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// An id's text without an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdText {
    bytes: [u8; 32],
    length: usize,
}

impl IdText {
    fn new(prefix: &str, bits: u128) -> IdText {
        let mut bytes = [b'_'; 32];
        bytes[..prefix.len()].copy_from_slice(prefix.as_bytes());
        bytes[prefix.len() + 1..][..LETTERS].copy_from_slice(&letters(bits));
        IdText { bytes, length: prefix.len() + 1 + LETTERS }
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("the alphabet is ASCII")
    }
}

/// The text is not an id of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not {kind} id: expected `{prefix}_` and 26 letters")]
pub struct BadId {
    pub kind: &'static str,
    pub prefix: &'static str,
}

macro_rules! typed_id {
    ($(#[doc = $about:literal])+ $name:ident, $prefix:literal, $kind:literal) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            /// A new id, born at `now`; `random` comes from the one place that makes randomness.
            pub fn minted(now: Time, random: [u8; 8]) -> $name {
                $name(uuid_v7(now, random))
            }

            /// The id of the thing that `cause` gives rise to under `name`: the same pair, the same id.
            pub fn derived(now: Time, cause: &str, name: &str) -> $name {
                $name(uuid_v7(now, derived_bits($prefix, cause, name)))
            }

            /// Sorts before every id that was minted.
            pub const FIRST: $name = $name(0);

            pub fn from_u128(bits: u128) -> $name {
                $name(bits)
            }

            pub fn as_u128(self) -> u128 {
                self.0
            }

            /// When it was minted, to the millisecond.
            pub fn born(self) -> Time {
                let millis = i64::try_from(self.0 >> 80).expect("48 bits fit");
                Time::from_micros(millis.saturating_mul(1_000))
            }

            pub fn text(self) -> IdText {
                IdText::new($prefix, self.0)
            }

            /// The 26 letters without the prefix.
            pub fn letters(self) -> String {
                self.text().as_str()[$prefix.len() + 1..].to_owned()
            }
        }

        impl From<$name> for IdText {
            fn from(id: $name) -> IdText {
                id.text()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.text().as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<$name, BadId> {
                text.strip_prefix(concat!($prefix, "_"))
                    .and_then(bits)
                    .map($name)
                    .ok_or(BadId { kind: $kind, prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

typed_id!(
    /// A tenant.
    TenantId, "ten", "a tenant"
);
typed_id!(
    /// A run.
    RunId, "run", "a run"
);
typed_id!(
    /// A job, of a run or standing alone.
    JobId, "job", "a job"
);
typed_id!(
    /// An execution, and with it the lease it happened under. Unlike the lease's own id it is no secret.
    ExecId, "exec", "an execution"
);
typed_id!(
    /// An outbox message.
    MessageId, "msg", "a message"
);
typed_id!(
    /// An access token. It is in the token's own text, finds the record, and is no secret.
    TokenId, "tok", "a token"
);

typed_id!(
    /// A session that brings one blob into the store.
    UploadId, "upl", "an upload"
);
typed_id!(
    /// Stored bytes. Sending the same bytes again after they were collected makes another one: it is a generation.
    BlobId, "blob", "a blob"
);
typed_id!(
    /// A version of a package.
    VersionId, "ver", "a version"
);
typed_id!(
    /// Files that a job left for later ones.
    CacheId, "cache", "a cache"
);
typed_id!(
    /// A run of the collector.
    CollectionId, "gc", "a collection"
);

/// The twelve bits after the millisecond say which part of it, as RFC 9562 allows (6.2, method 3): what is made one
/// after the other sorts so, however fast the machine.
fn uuid_v7(now: Time, random: [u8; 8]) -> u128 {
    let micros = u64::try_from(now.as_micros()).unwrap_or(0);
    let part = (micros % 1_000) * 4_096 / 1_000;
    let mut after = [0; 10];
    after[..2].copy_from_slice(&(part as u16).to_be_bytes());
    after[2..].copy_from_slice(&random);
    uuid::Builder::from_unix_timestamp_millis(micros / 1_000, &after).into_uuid().as_u128()
}

fn derived_bits(prefix: &str, cause: &str, name: &str) -> [u8; 8] {
    let mut hash = Sha256::new();
    for part in [prefix, cause, name] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    std::array::from_fn(|index| digest[index])
}

fn letters(bits: u128) -> [u8; LETTERS] {
    // Twelve letters are 60 bits, which fit a register.
    let (high, middle, low) = ((bits >> 120) as u64, (bits >> 60) as u64, bits as u64);
    std::array::from_fn(|index| {
        let place = LETTERS - 1 - index;
        let part = [low, middle, high][place / 12];
        ALPHABET[((part >> (5 * (place % 12))) & 31) as usize]
    })
}

fn bits(text: &str) -> Option<u128> {
    if text.len() != LETTERS || text.as_bytes()[0] > b'7' {
        return None; // 26 letters hold 130 bits; the first may only use three of its five
    }
    text.bytes().try_fold(0u128, |bits, letter| {
        let value = VALUES[letter as usize];
        (value < 32).then_some((bits << 5) | u128::from(value))
    })
}

/// The name a runner gives itself: stable for its lifetime, unique, and no secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RunnerId(String);

impl RunnerId {
    pub const LENGTH_MAX: usize = 128;

    /// Between 1 and 128 printable characters without spaces.
    pub fn parse(text: &str) -> Option<RunnerId> {
        let fits =
            (1..=Self::LENGTH_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| RunnerId(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RunnerId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RunnerId, D::Error> {
        let text = String::deserialize(deserializer)?;
        RunnerId::parse(&text).ok_or_else(|| {
            serde::de::Error::custom("a runner id has 1 to 128 printable ASCII characters without spaces")
        })
    }
}
