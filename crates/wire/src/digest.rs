//! What bytes are known by: their SHA-256, written `sha256:` and 64 small hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::secret::hex;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// The text is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: expected `sha256:` and 64 hexadecimal digits in small letters")]
pub struct BadDigest;

impl Digest {
    pub const PREFIX: &'static str = "sha256:";

    pub fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 digits alone, for names of files.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Digest::PREFIX, self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Digest {
    type Err = BadDigest;

    fn from_str(text: &str) -> Result<Digest, BadDigest> {
        let digits =
            text.strip_prefix(Digest::PREFIX).filter(|digits| digits.len() == 64).ok_or(BadDigest)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            *byte = (value(pair[0])? << 4) | value(pair[1])?;
        }
        Ok(Digest(bytes))
    }
}

fn value(digit: u8) -> Result<u8, BadDigest> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(BadDigest),
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_and_nothing_else_is_one() {
        let digest = Digest::from_bytes(std::array::from_fn(|index| index as u8 * 7));
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(digest.to_string().len(), 71);
        let text = digest.to_string();
        for bad in
            ["", "sha256:", &text[1..], &text[..70], &text.to_uppercase(), &format!("{text}0"), "sha512:00"]
        {
            assert_eq!(bad.parse::<Digest>(), Err(BadDigest), "{bad}");
        }
    }
}
