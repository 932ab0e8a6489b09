//! Signed addresses of parts: whoever holds one may send that part until it runs out, and nothing else.
//!
//! With a bucket the address is the bucket's own. With files it is ours, signed with a key that all servers on one
//! database share.

use std::time::Duration;

use decisions::Refusal;
use decisions::records::Upload;
use hmac::{Hmac, KeyInit, Mac};
use machines::{Machine, upload};
use sha2::Sha256;
use store::Store;
use store::blobs::Staging;
use wire::api::PartView;
use wire::{Time, UploadId};

use crate::artifacts::stream::Incoming;
use crate::artifacts::uploads::key;
use crate::artifacts::{Artifacts, Trouble};
use crate::engine::Engine;

/// How long an address can be used; a look at the upload gives new ones.
const ADDRESS_TTL: Duration = Duration::from_secs(3600);

/// The name of the key in the store.
pub const KEY: &str = "parts";

pub struct Signer(Hmac<Sha256>);

impl Signer {
    pub fn new(key: [u8; 32]) -> Signer {
        Signer(Hmac::new_from_slice(&key).expect("a key may have any length"))
    }

    fn mac(&self, upload: UploadId, number: u32, length: u64, expires: i64) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(format!("PUT part\n{upload}\n{number}\n{length}\n{expires}").as_bytes());
        mac
    }

    pub fn signature(&self, upload: UploadId, number: u32, length: u64, expires: i64) -> String {
        let bytes = self.mac(upload, number, length, expires).finalize().into_bytes();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub fn is_signed(&self, upload: UploadId, number: u32, length: u64, expires: i64, text: &str) -> bool {
        let Some(signature) = from_hex(text) else { return false };
        self.mac(upload, number, length, expires).verify_slice(&signature).is_ok()
    }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    // A signature is written as a digest is.
    format!("sha256:{text}").parse::<wire::Digest>().ok().map(|digest| *digest.as_bytes())
}

/// Where to send which part of an upload that goes in parts, as long as they may be sent. `origin` is how the caller
/// reaches us.
pub async fn addresses(
    artifacts: &Artifacts,
    upload: &Upload,
    origin: &str,
    now: Time,
) -> Result<Vec<PartView>, Trouble> {
    if upload.state.get() != upload::State::PartsUploading || upload.expires_at <= now {
        return Ok(Vec::new());
    }
    let until = upload.expires_at.min(now.plus(ADDRESS_TTL));
    let expires = until.as_micros() / 1_000_000;
    let mut parts = Vec::with_capacity(upload.parts.len());
    for (number, length) in (1..).zip(&upload.parts) {
        let theirs = match &upload.multipart {
            Some(multipart) => {
                artifacts.blobs.part_url(&key(upload), multipart, number, until.since(now)).await?
            }
            None => None,
        };
        let ours = || {
            let signature = artifacts.signer.signature(upload.id, number, *length, expires);
            format!("{origin}/v1/parts/{}/{number}?expires={expires}&signature={signature}", upload.id)
        };
        let (url, expires_at) = (theirs.unwrap_or_else(ours), Time::from_seconds(expires));
        parts.push(PartView { number, length: *length, url, expires_at });
    }
    Ok(parts)
}

/// What a signed address says.
pub struct Signed<'s> {
    pub upload: UploadId,
    pub number: u32,
    pub expires: i64,
    pub signature: &'s str,
}

/// The upload and the part's length, if the address is one that we gave out and has not run out. An upload that never
/// was looks like a signature that is not ours.
pub async fn opened<S: Store>(
    artifacts: &Artifacts,
    engine: &Engine<S>,
    signed: &Signed<'_>,
) -> Result<Option<(Upload, u64)>, Trouble> {
    let Some(upload) = engine.store().upload(signed.upload).await? else { return Ok(None) };
    let index = (signed.number as usize).checked_sub(1);
    let Some(length) = index.and_then(|index| upload.parts.get(index)).copied() else { return Ok(None) };
    let Signed { number, expires, signature, .. } = *signed;
    let fresh = Time::from_seconds(expires) > engine.clock().now();
    let ours = fresh && artifacts.signer.is_signed(upload.id, number, length, expires, signature);
    Ok(ours.then_some((upload, length)))
}

/// The part's `ETag`.
pub async fn write(
    artifacts: &Artifacts,
    upload: &Upload,
    number: u32,
    length: u64,
    bytes: Incoming,
) -> Result<String, Trouble> {
    match upload.state.get() {
        upload::State::PartsUploading => {}
        upload::State::Initiated | upload::State::PendingCommit => return Err(Refusal::UploadInParts.into()),
        state @ (upload::State::Committed | upload::State::Aborted) => {
            return Err(Refusal::UploadEnded { state: state.as_str() }.into());
        }
    }
    Ok(artifacts.blobs.write_part(&Staging::new(upload.id), number, length, bytes).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_opens_one_part_until_one_moment() {
        let signer = Signer::new([7; 32]);
        let upload = UploadId::from_u128(5);
        let signature = signer.signature(upload, 1, 10, 100);
        assert!(signer.is_signed(upload, 1, 10, 100, &signature));
        let other = UploadId::from_u128(6);
        for (upload, number, length, expires) in
            [(other, 1, 10, 100), (upload, 2, 10, 100), (upload, 1, 11, 100), (upload, 1, 10, 101)]
        {
            assert!(!signer.is_signed(upload, number, length, expires, &signature));
        }
        assert!(!Signer::new([8; 32]).is_signed(upload, 1, 10, 100, &signature));
        for text in ["", "00", &signature.to_uppercase(), &format!("{signature}0")] {
            assert!(!signer.is_signed(upload, 1, 10, 100, text));
        }
    }
}
