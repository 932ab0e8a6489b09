//! Start: open a session, or end it at once when the tenant has these bytes already.

use std::borrow::Cow;

use machines::upload;
use wire::{BlobId, Digest, ExecId, TenantId, UploadId};

use crate::blobs::{asks_for, possessed, promise, promise_until, revive, usage};
use crate::draft::Stated;
use crate::records::{Measured, Tenant, Upload};
use crate::tenants::require_ready;
use crate::uploads::commit::tell_committed;
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct StartUpload {
    /// Minted at the edge, both.
    pub id: UploadId,
    pub blob: BlobId,
    pub tenant: TenantId,
    pub digest: Digest,
    pub length: u64,
    pub execution: Option<ExecId>,
    /// The bytes have come already, without a name that could be left behind.
    pub measured: Option<Measured>,
}

impl Decide for StartUpload {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Tenant(self.tenant), Ask::Upload(self.id)]);
        asks_for(asks, self.tenant, self.digest);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        self.started(draft).map(|upload| Answer::UploadIs(Box::new(upload)))
    }
}

/// Nothing is left to wait for but the bytes' own place.
pub fn brought_along(draft: &mut Draft<'_>, upload: &mut Upload) {
    draft.advance(upload, upload::Event::StartPartsUpload, "the bytes came with it");
    draft.advance(upload, upload::Event::CompleteParts, "the bytes came with it");
}

impl StartUpload {
    /// The upload, open or ended at once.
    pub fn started(&self, draft: &mut Draft<'_>) -> Result<Upload, Refusal> {
        require_ready(draft, self.tenant)?;
        if let Some(known) = draft.get::<Upload>(&self.id).filter(|known| known.tenant == self.tenant) {
            return Ok(known.clone()); // said twice
        }
        if self.length > draft.policy.upload_bytes_max {
            let problem = format!("at most {} bytes", draft.policy.upload_bytes_max);
            return Err(Refusal::InvalidInput { field: "length", problem });
        }
        let mut upload = self.begun(draft, "POST uploads");
        if let Some(mut blob) = possessed(draft, self.tenant, self.digest) {
            if blob.length != self.length {
                let problem = format!("these bytes are {} long", blob.length);
                return Err(Refusal::InvalidInput { field: "length", problem });
            }
            revive(draft, &mut blob, "uploaded again");
            match self.execution {
                Some(_) => promise_until(draft, &mut blob, upload.expires_at),
                None => promise(draft, &mut blob),
            }
            draft.advance(&mut upload, upload::Event::FastPathDedupe, "the tenant has these bytes");
            upload.got = Some(blob.id);
            upload.measured = None; // whatever came with it was not needed
            draft.put(blob);
            tell_committed(draft, &upload);
        } else {
            self.check_quota(draft)?;
            if self.measured.is_some() {
                brought_along(draft, &mut upload);
            }
        }
        draft.put(upload.clone());
        Ok(upload)
    }

    pub fn begun(&self, draft: &mut Draft<'_>, cause: impl Into<Cow<'static, str>>) -> Upload {
        let upload = Upload {
            id: self.id,
            tenant: self.tenant,
            digest: self.digest,
            length: self.length,
            blob: self.blob,
            state: Stated::initial(),
            parts: Vec::new(),
            etags: Vec::new(),
            multipart: None,
            measured: self.measured,
            got: None,
            execution: self.execution,
            expires_at: draft.now.plus(draft.policy.upload_ttl),
            litter: false,
            created_at: draft.now,
            updated_at: draft.now,
        };
        draft.born::<upload::State>(&upload, cause);
        upload
    }

    fn check_quota(&self, draft: &Draft<'_>) -> Result<(), Refusal> {
        let tenant: &Tenant = draft.get(&self.tenant).expect("it is ready");
        let Some(quota) = tenant.quota_bytes() else { return Ok(()) };
        let used = usage(draft, self.tenant).bytes;
        if used.saturating_add(self.length) > quota {
            return Err(Refusal::QuotaExceeded { used, quota });
        }
        Ok(())
    }
}
