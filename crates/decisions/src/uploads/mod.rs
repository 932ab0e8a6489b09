//! Uploads: a session from its first word to a blob, or to nothing. What comes is verified before anybody sees it.

mod commit;
mod content;
mod end;
mod parts;
mod put;
mod start;

use wire::UploadId;

pub use commit::{CommitUpload, require_ready_to_commit, verified};
pub use content::ContentReceived;
pub use end::{AbortUpload, UploadDue, UploadReaped, abandon};
pub use parts::{CompleteParts, StartParts};
pub use put::PutBlob;
pub use start::{StartUpload, brought_along};

use crate::records::Upload;
use crate::{Draft, Refusal};
use machines::Machine;
use wire::TenantId;

/// The tenant's upload, if it still goes on. One that ran out has ended, whether or not a tick has noticed.
fn open_upload(draft: &Draft<'_>, tenant: TenantId, id: UploadId) -> Result<Upload, Refusal> {
    let upload = known_upload(draft, tenant, id)?;
    if !upload.is_open() {
        return Err(Refusal::UploadEnded { state: upload.state.get().as_str() });
    }
    if upload.expires_at <= draft.now {
        return Err(Refusal::UploadEnded { state: "expired" });
    }
    Ok(upload)
}

fn known_upload(draft: &Draft<'_>, tenant: TenantId, id: UploadId) -> Result<Upload, Refusal> {
    let upload: Option<&Upload> = draft.get(&id);
    upload.filter(|upload| upload.tenant == tenant).cloned().ok_or(Refusal::UploadNotFound)
}
