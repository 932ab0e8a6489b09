//! The one place that makes randomness: ids, lease secrets, tokens, jitter. All of it comes from the operating system.

use wire::{
    BlobId, CollectionId, ExecId, JobId, LeaseId, RunId, TenantId, Time, TokenId, TokenSecret, UploadId,
    VersionId,
};

#[derive(Debug, Clone, Copy, Default)]
pub struct Mint;

impl Mint {
    pub fn tenant(self, now: Time) -> TenantId {
        TenantId::minted(now, random())
    }

    pub fn run(self, now: Time) -> RunId {
        RunId::minted(now, random())
    }

    pub fn job(self, now: Time) -> JobId {
        JobId::minted(now, random())
    }

    pub fn execution(self, now: Time) -> ExecId {
        ExecId::minted(now, random())
    }

    /// 256 bits: whoever holds it may speak for the attempt.
    pub fn lease(self, execution: ExecId) -> LeaseId {
        LeaseId::minted(execution, random())
    }

    pub fn upload(self, now: Time) -> UploadId {
        UploadId::minted(now, random())
    }

    pub fn blob(self, now: Time) -> BlobId {
        BlobId::minted(now, random())
    }

    pub fn version(self, now: Time) -> VersionId {
        VersionId::minted(now, random())
    }

    /// 256 bits to sign with.
    pub fn key(self) -> [u8; 32] {
        random()
    }

    pub fn token(self, now: Time) -> TokenId {
        TokenId::minted(now, random())
    }

    /// 256 bits: whoever holds it may do what the token allows.
    pub fn token_secret(self, id: TokenId) -> TokenSecret {
        TokenSecret::minted(id, random())
    }

    pub fn collection(self, now: Time) -> CollectionId {
        CollectionId::minted(now, random())
    }

    /// Who works on a collection. It fits a database's signed number.
    pub fn holder(self) -> u64 {
        u64::from_be_bytes(random()) >> 1
    }

    /// Between 0 and 1.
    pub fn jitter(self) -> f64 {
        f64::from(u32::from_be_bytes(random())) / f64::from(u32::MAX)
    }
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}
